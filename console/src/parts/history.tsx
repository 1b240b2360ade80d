/** Who replaced what and when, and taking it back. */
import type { VNode } from "preact";
import { get, type Schema } from "../api";
import { ago, num } from "../i18n/language";
import { replaceTexts as t } from "../i18n/replace";
import { useResource } from "../resource";
import { session } from "../session";
import { Empty, Shown } from "./states";

const executed = (plan: Schema<"PlanSummaryAnswer">): boolean => plan.state === "done" || plan.state === "partial";

export function History({ changes, onUndo }: { changes: number; onUndo: (plan: number) => void }): VNode {
  const path = `/api/v1/projects/${session.value?.projectId}/replace`;
  const list = useResource(`${path} ${changes}`, (signal) => get<Schema<"PlansAnswer">>(path, { signal }));
  return (
    <details class="panel" open={changes > 0}>
      <summary>{t().history}</summary>
      <Shown of={list} lines={2}>
        {(answer) => {
          const plans = answer.plans.filter((plan) => executed(plan) || plan.state === "failed" || plan.state === "executing");
          if (!plans.length) return <Empty text={t().noHistory} />;
          return (
            <div class="table">
              <table>
                <thead><tr><th class="right">{t().plan}</th><th>{t().state}</th><th class="right">{t().places}</th><th>{t().who}</th><th>{t().when}</th><th /></tr></thead>
                <tbody>
                  {plans.map((plan) => (
                    <tr key={plan.plan_id}>
                      <td class="num right">{num(plan.plan_id)}</td>
                      <td><span class={`badge ${plan.state === "done" ? "good" : "warn"}`}>{plan.state}</span> <span class="dim small">{plan.undoes ? t().undoes(plan.undoes) : plan.undone_by ? t().undoneBy(plan.undone_by) : ""}</span></td>
                      <td class="num right">{num(plan.matches_count)}</td>
                      <td class="dim">{plan.executed_by ?? plan.previewed_by ?? ""}</td>
                      <td class="dim">{ago(plan.executed_at ?? plan.created_at)}</td>
                      <td class="right">
                        {executed(plan) && !plan.undone_by && plan.undo_until && new Date(plan.undo_until) > new Date() ? <button class="small" onClick={() => onUndo(plan.plan_id)}>{t().undo}</button> : null}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          );
        }}
      </Shown>
    </details>
  );
}
