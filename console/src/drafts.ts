/** Writing that is not saved: it is dropped only after a question, and is there again in an editor
 * that was taken away without one, by an upload or the end of the session. */
import { t } from "./i18n/common";

export interface Read {
  readonly text: string;
  readonly revision: number;
}
export interface Draft {
  readonly of: string;
  readonly was: Read;
  readonly text: string;
}
let kept: Draft | null = null;

export function keep(draft: Draft | null): void {
  kept = draft && draft.text !== draft.was.text ? draft : null;
}
export const draftOf = (of: string): Draft | null => (kept?.of === of ? kept : null);

/** Asks once before what is not saved is dropped; false when it shall stay. */
export function mayDrop(): boolean {
  if (kept && !confirm(t().unsaved)) return false;
  kept = null;
  return true;
}

/** A reload, or a tab that is closed, asks first while something is not saved. */
export const guard = (unsaved: () => unknown): void =>
  addEventListener("beforeunload", (event) => {
    if (unsaved()) event.preventDefault();
  });
guard(() => kept);
