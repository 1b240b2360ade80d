/** The strings of an index by state, why one is not indexed, and who mends it. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { announce } from "../announce";
import { all, type Id, post } from "../api";
import { useEffect } from "../hooks";
import { t as common } from "../i18n/common";
import { indexTexts as t } from "../i18n/indexes";
import { due, num } from "../i18n/language";
import { tableName } from "../lists";
import { useResource } from "../resource";
import { may } from "../session";
import { useSignal } from "../signals";
import { Empty, ProblemBox, Shown } from "./states";
import { Reason, Status, wordOf } from "./status";

interface Node {
  readonly table_id: Id;
  readonly json_pointer: string;
  readonly char_count: number;
  readonly state: string;
  readonly attempts: number;
  readonly last_error: { readonly code: string; readonly message: string } | null;
  readonly next_attempt_at: string | null;
  readonly mended_by: string | null;
}
interface NodesProps {
  /** Of the index. */
  readonly path: string;
  /** Whether its strings are of many tables. */
  readonly many: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly reload: () => void;
}

export function Nodes({ path, many, counts, reload }: NodesProps): VNode {
  const chosen = useSignal<string | null>(null);
  const limit = useSignal(50);
  const acting = useActing();
  const bad = counts["quarantined"] ?? 0;
  // What is wrong comes first; where all is well, everything.
  const state = chosen.value ?? (bad ? "quarantined" : "");
  const found = useResource(`${path} ${state} ${limit.value}`, (signal) => all<Node>(`${path}/nodes?limit=${limit.value}${state ? `&state=${state}` : ""}`, "nodes", { signal, most: limit.value }));
  const moved = JSON.stringify(counts);
  useEffect(() => {
    if (found.data.value) found.reload();
  }, [moved]);
  const again = async (node?: Node): Promise<void> => {
    const body = node && { json_pointer: node.json_pointer, ...(many ? { table_id: node.table_id } : {}) };
    const answer = await acting.run(() => post<{ nodes: number }>(`${path}/retry`, body, { idempotent: true }));
    if (!answer) return;
    announce(t().retried(answer.nodes));
    reload();
    found.reload();
  };
  return (
    <section class="panel flush">
      <header>
        <h2 class="grow">{t().strings}</h2>
        <select aria-label={t().state} value={state} onChange={(event) => (chosen.value = event.currentTarget.value)}>
          <option value="">{t().all}</option>
          {["quarantined", "skipped", "queued", "claimed", "indexed"].map((one) => <option key={one} value={one}>{`${wordOf(one)} (${num(counts[one] ?? 0)})`}</option>)}
        </select>
        {bad && may("manage") ? <button onClick={() => void again()} disabled={acting.busy.value}>{t().retryAll(bad)}</button> : null}
      </header>
      <ProblemBox problem={acting.problem.value} />
      <Shown of={found}>
        {({ items, cut, last }) => items.length || cut ? (
          <div class="table" tabIndex={0} role="region" aria-label={t().strings}>
            <table>
              <thead><tr><th>{t().string}</th><th class="right">{t().size}</th><th>{t().state}</th><th class="right">{t().tries}</th><th>{t().reason}</th><th>{t().next}</th><th>{t().mends}</th><td /></tr></thead>
              <tbody>
                {items.map((node) => (
                  <tr key={`${node.table_id} ${node.json_pointer}`}>
                    <td>{many ? <bdi>{tableName(node.table_id)} </bdi> : null}<code><bdi>{node.json_pointer || "/"}</bdi></code></td>
                    <td class="num right">{num(node.char_count)}</td>
                    <td><Status value={node.state} /></td>
                    <td class="num right">{node.attempts ? t().of(node.attempts, last["most_attempts"] as number) : "–"}</td>
                    <td>{node.last_error ? <Reason error={node.last_error} /> : <span class="dim">–</span>}</td>
                    <td class="dim">{node.next_attempt_at ? due(node.next_attempt_at) : "–"}</td>
                    <td class="dim">{node.mended_by ? wordOf(node.mended_by) : "–"}</td>
                    <td>{node.state === "quarantined" && may("manage") ? <button class="small" onClick={() => void again(node)} disabled={acting.busy.value}>{common().again}</button> : null}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {!cut ? null : <p class="row center small dim">{common().cut(items.length)} {limit.value < 200 ? <button onClick={() => (limit.value = 200)}>{common().more}</button> : null}</p>}
          </div>
        ) : <Empty text={t().noNodes} />}
      </Shown>
    </section>
  );
}
