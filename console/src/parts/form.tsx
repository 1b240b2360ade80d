/** A dialog with a form: what is refused is shown in it, and it stays. */
import type { ComponentChildren, VNode } from "preact";
import type { Acting } from "../acting";
import { t } from "../i18n/common";
import { Dialog } from "./dialog";
import { ProblemBox } from "./states";

interface FormDialogProps {
  readonly title: string;
  readonly act: string;
  readonly acting: Acting;
  readonly onSend: (fields: FormData) => unknown;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function FormDialog({ title, act, acting, onSend, onClose, children }: FormDialogProps): VNode {
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={(event) => { event.preventDefault(); onSend(new FormData(event.currentTarget)); }}>
        {children}
        <ProblemBox problem={acting.problem.value} />
        <div class="row end">
          <button type="button" onClick={onClose}>{t().cancel}</button>
          <button class="primary" disabled={acting.busy.value}>{act}</button>
        </div>
      </form>
    </Dialog>
  );
}

interface TableProps {
  readonly heads: readonly string[];
  readonly right?: readonly number[];
  /** Whether it stands in a panel already. */
  readonly flat?: boolean;
  readonly children: ComponentChildren;
}

/** A list of things: `right` names the columns of numbers, an empty head is one of buttons. */
export function Table({ heads, right = [], flat, children }: TableProps): VNode {
  return (
    <div class={flat ? "table" : "panel flush table"}>
      <table>
        <thead><tr>{heads.map((head, at) => head ? <th key={at} class={right.includes(at) ? "right" : ""}>{head}</th> : <td key={at} />)}</tr></thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
