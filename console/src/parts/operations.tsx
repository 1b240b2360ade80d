/** Rebuild, roll back, empty, delete: each says first what it does to what. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { announce } from "../announce";
import { type Id, post, request, type Schema } from "../api";
import { indexTexts as t } from "../i18n/indexes";
import { refreshLists } from "../lists";
import { go } from "../router";
import { useSignal } from "../signals";
import { Confirm, Dialog } from "./dialog";
import { ProblemBox } from "./states";

type Estimate = Schema<"EstimateAnswer">;
type Asked = { readonly kind: "rollback" | "empty" | "delete" } | { readonly kind: "rebuild"; readonly estimate: Estimate };
interface OperationsProps {
  readonly tool: Id;
  readonly name: string;
  readonly chunks: number;
  readonly canRollBack: boolean;
  readonly changed: () => void;
}

export function Operations({ tool, name, chunks, canRollBack, changed }: OperationsProps): VNode {
  const asked = useSignal<Asked | null>(null);
  const acting = useActing();
  const path = `/api/v1/tools/${tool}/search-index`;
  const ask = (kind: "rollback" | "empty" | "delete") => () => (asked.value = { kind });
  const estimate = async (): Promise<void> => {
    // Not disabled meanwhile: the focus would be lost, and is where the dialog brings it back.
    if (acting.busy.value) return;
    const found = await acting.run(() => post<Estimate>(`${path}/rebuild?dry_run=true`, undefined));
    if (found) asked.value = { kind: "rebuild", estimate: found };
  };
  const built = (what: "rebuild" | "rollback", said: (generation: number) => string) => async (): Promise<void> => {
    const answer = await acting.run(() => post<Schema<"GenerationAnswer">>(`${path}/${what}`, undefined, { idempotent: true }));
    if (answer) announce(said(answer.generation));
    changed();
  };
  const empty = async (shared: boolean): Promise<void> => {
    const answer = await acting.run(() => post<Schema<"EmptiedIndexAnswer">>(`${path}/clear${shared ? "?shared=true" : ""}`, undefined, { idempotent: true }));
    if (answer) announce(t().emptied(answer.chunks));
    changed();
  };
  const remove = async (): Promise<void> => {
    const gone = await acting.run(() => request("DELETE", `/api/v1/tools/${tool}`));
    if (!gone) return;
    await refreshLists();
    go("/indexes");
  };
  const now = asked.value;
  const problem = acting.problem.value;
  const close = (): void => void (asked.value = null);
  return (
    <>
      <button onClick={() => void estimate()} aria-busy={acting.busy.value}>{t().rebuild}…</button>
      {canRollBack ? <button onClick={ask("rollback")}>{t().rollback}…</button> : null}
      <button class="danger" onClick={ask("empty")}>{t().empty}…</button>
      <button class="danger" onClick={ask("delete")}>{t().deleteTool}…</button>
      {now?.kind === "rebuild" ? <Confirm title={t().rebuild} text={estimated(now.estimate)} act={t().rebuild} name={name} onClose={close} onAct={() => void built("rebuild", t().building)()} /> : null}
      {now?.kind === "rollback" ? <Confirm title={t().rollback} text={t().rollbackText} act={t().rollback} onClose={close} onAct={() => void built("rollback", t().back)()} /> : null}
      {now?.kind === "empty" ? <Confirm title={t().empty} text={t().emptyText(chunks)} act={t().empty} name={name} onClose={close} onAct={() => void empty(false)} /> : null}
      {now?.kind === "delete" ? <Confirm title={t().deleteTool} text={t().deleteText} act={t().deleteTool} name={name} onClose={close} onAct={() => void remove()} /> : null}
      {problem ? (
        <Dialog title={name} onClose={() => (acting.problem.value = null)}>
          <ProblemBox problem={problem} />
          {problem.fields.code === "CONFLICT" && /shared=true/.test(problem.fields.detail) ? <div class="row end"><button class="danger" onClick={() => void empty(true)}>{t().shared}</button></div> : null}
        </Dialog>
      ) : null}
    </>
  );
}

const estimated = (of: Estimate): string =>
  `${t().estimate(of.nodes, of.chunks, of.tokens, of.vectors_kept)}, ${t().cost(of.cost === null ? t().noPrice : t().price(of.cost.toFixed(2)), of.seconds)}`;
