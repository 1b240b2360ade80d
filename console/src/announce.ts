/** A short word for eyes and screen readers, gone after a while. */
import { signal } from "./signals";

export const said = signal("");
let timer = 0;

export function announce(text: string): void {
  said.value = "";
  clearTimeout(timer);
  // Another text in the same region is read out again only when it was empty before.
  requestAnimationFrame(() => (said.value = text));
  timer = setTimeout(() => (said.value = ""), 4000);
}
