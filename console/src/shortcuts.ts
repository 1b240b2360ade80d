/** Keys of the page. Single letters work outside of fields and can be switched off. */
import { useEffect } from "./hooks";
import { signal } from "./signals";

interface Shortcut {
  readonly keys: string;
  readonly label: () => string;
  readonly run: () => void;
}

const KEPT = "context-search.letters";
const registered = signal<readonly Shortcut[]>([]);
export const shortcuts = registered;
export const lettersOn = signal(localStorage.getItem(KEPT) !== "off");

export function setLetters(on: boolean): void {
  localStorage.setItem(KEPT, on ? "on" : "off");
  lettersOn.value = on;
}

/** While the view is there, `keys` runs `run`: "j", "/", "Ctrl K", "Ctrl Shift F". `run` is made anew
 * with every rendering, and has to read signals, not what was rendered. */
export function useShortcut(keys: string, label: () => string, run: () => void): void {
  useEffect(() => {
    const mine: Shortcut = { keys, label, run };
    registered.value = [...registered.value, mine];
    return () => {
      registered.value = registered.value.filter((other) => other !== mine);
    };
  }, [keys]);
}

function spelled(event: KeyboardEvent): string {
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const controlled = event.ctrlKey || event.metaKey;
  if (!controlled) return event.key;
  return `Ctrl ${event.shiftKey ? "Shift " : ""}${key}`;
}

function inField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") !== null;
}

addEventListener("keydown", (event) => {
  if (event.altKey || event.isComposing) return;
  const keys = spelled(event);
  const single = !keys.startsWith("Ctrl");
  if (single && (!lettersOn.value || inField(event.target) || document.querySelector("dialog[open]"))) return;
  // The view that came last knows best.
  const found = registered.value.findLast((one) => one.keys === keys);
  if (!found) return;
  event.preventDefault();
  found.run();
});
