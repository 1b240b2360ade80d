/** Who replaced what and when, and taking it back. */
import type { VNode } from "preact";
import { get, type Schema } from "../api";
import { indexTexts } from "../i18n/indexes";
import { ago, num } from "../i18n/language";
import { actorName, replaceTexts as t, wordOf } from "../i18n/replace";
import { useResource } from "../resource";
import { session } from "../session";
import { useSignal } from "../signals";
import { Empty, Shown } from "./states";

type Summary = Schema<"PlanSummaryAnswer">;
const executed = (plan: Summary): boolean => plan.state === "done" || plan.state === "partial";
/** Each is read for its words, which the list has not. */
const MOST = 20;

export function History({ changes, onUndo }: { changes: number; onUndo: (plan: number) => void }): VNode {
  const path = `/api/v1/projects/${session.value?.projectId}/replace`;
  const open = useSignal(false);
  const list = useResource(open.value || changes ? `${path} ${changes}` : null, (signal) => get<Schema<"PlansAnswer">>(path, { signal }));
  return (
    <details class="panel" open={changes > 0} onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>{t().history}</summary>
      <Shown of={list} lines={2}>
        {(answer) => {
          const plans = answer.plans.filter((plan) => executed(plan) || plan.state === "failed" || plan.state === "executing").slice(0, MOST);
          if (!plans.length) return <Empty text={t().noHistory} />;
          return (
            <div class="table">
              <table>
                <thead><tr><th>{t().words}</th><th>{indexTexts().state}</th><th class="right">{t().places}</th><th>{t().who}</th><th>{t().when}</th><th /></tr></thead>
                <tbody>{plans.map((plan) => <Row key={plan.plan_id} plan={plan} path={path} onUndo={onUndo} />)}</tbody>
              </table>
            </div>
          );
        }}
      </Shown>
    </details>
  );
}

function Row({ plan, path, onUndo }: { plan: Summary; path: string; onUndo: (plan: number) => void }): VNode {
  const whole = (id: number): Promise<Schema<"PlanAnswer">> => get(`${path}/${id}`);
  const read = useResource(`${plan.plan_id} ${plan.state}`, async () => {
    const { tables, request } = await whole(plan.plan_id);
    const words = request ?? (plan.undoes && (await whole(plan.undoes)).request);
    return { words, count: tables.reduce((sum, table) => sum + table.replaced_count, 0) };
  }).data.value;
  return (
    <tr>
      <td>{read?.words ? <><bdi>{read.words.find}</bdi> → <bdi>{read.words.replace_with}</bdi></> : "–"}</td>
      <td><span class={`badge ${plan.state === "done" ? "good" : "warn"}`}>{plan.undoes ? t().undo : wordOf(plan.state)}</span> <span class="dim small">{plan.undone_by ? t().undoneBy : ""}</span></td>
      <td class="num right">{read ? num(read.count) : ""}</td>
      <td class="dim">{actorName(plan.executed_by ?? plan.previewed_by)}</td>
      <td class="dim">{ago(plan.executed_at ?? plan.created_at)}</td>
      <td class="right">
        {executed(plan) && !plan.undone_by && plan.undo_until && new Date(plan.undo_until) > new Date() ? <button class="small" onClick={() => onUndo(plan.plan_id)}>{t().undo}</button> : null}
      </td>
    </tr>
  );
}
