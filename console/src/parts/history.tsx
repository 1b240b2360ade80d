/** Who replaced what and when, and taking it back. */
import type { VNode } from "preact";
import { get, type Schema } from "../api";
import { indexTexts } from "../i18n/indexes";
import { ago, num } from "../i18n/language";
import { actorName, replaceTexts as t, wordOf } from "../i18n/replace";
import { useResource } from "../resource";
import { session } from "../session";
import { useSignal } from "../signals";
import { Table } from "./form";
import { Empty, Shown } from "./states";

type Summary = Schema<"PlanSummaryAnswer">;
const executed = (plan: Summary): boolean => /done|partial/.test(plan.state);

export function History({ changes, onUndo }: { changes: number; onUndo: (plan: number) => void }): VNode {
  const path = `/api/v1/projects/${session.value?.projectId}/replace`;
  const open = useSignal(false);
  const list = useResource(open.value || changes ? `${path} ${changes}` : null, (signal) => get<Schema<"PlansAnswer">>(path, { signal }));
  return (
    <details class="panel" open={changes > 0} onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>{t().history}</summary>
      <Shown of={list} lines={2}>
        {(answer) => {
          const plans = answer.plans.filter((plan) => /done|partial|failed|executing/.test(plan.state));
          if (!plans.length) return <Empty text={t().noHistory} />;
          return (
            <Table flat heads={[t().words, indexTexts().state, t().places, t().who, t().when, ""]} right={[2]}>
              {plans.map((plan) => <Row key={plan.plan_id} plan={plan} words={plan.request ?? plans.find((other) => other.plan_id === plan.undoes)?.request} onUndo={onUndo} />)}
            </Table>
          );
        }}
      </Shown>
    </details>
  );
}

/** An undo has the words of what it has taken back. */
function Row({ plan, words, onUndo }: { plan: Summary; words: Summary["request"] | undefined; onUndo: (plan: number) => void }): VNode {
  return (
    <tr>
      <td>{words ? <><bdi>{words.find}</bdi> → <bdi>{words.replace_with}</bdi></> : "–"}</td>
      <td><span class={`badge ${plan.state === "done" ? "good" : "warn"}`}>{plan.undoes ? t().undo : wordOf(plan.state)}</span> <span class="dim small">{plan.undone_by ? t().undoneBy : ""}</span></td>
      <td class="num right">{num(plan.replaced_count)}</td>
      <td class="dim">{actorName(plan.executed_by ?? plan.previewed_by)}</td>
      <td class="dim">{ago(plan.executed_at ?? plan.created_at)}</td>
      <td class="right">
        {executed(plan) && !plan.undone_by && plan.undo_until && new Date(plan.undo_until) > new Date() ? <button class="small" onClick={() => onUndo(plan.plan_id)}>{t().undo}</button> : null}
      </td>
    </tr>
  );
}
