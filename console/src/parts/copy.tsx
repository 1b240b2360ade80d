/** Copying, and a word that it has worked. */
import type { VNode } from "preact";
import { announce } from "../announce";
import { t } from "../i18n/common";

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(t().copied);
  } catch {
    announce(t().notCopied);
  }
}

/** A button that copies exactly `text`. */
export function Copy({ text, label, quiet = false }: { text: string | (() => string); label?: string; quiet?: boolean }): VNode {
  const run = (): void => void copyText(typeof text === "string" ? text : text());
  return (
    <button class={quiet ? "quiet" : ""} onClick={run}>
      {label ?? t().copy}
    </button>
  );
}
