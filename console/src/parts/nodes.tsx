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
import { href } from "../router";
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
  /** Whose chunks the document shows; none of the project's own index. */
  readonly tool: Id | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly reload: () => void;
}

/** The API gives so many at once. */
const PAGE = 200;
const FILTERED = 10_000;
/** What needs somebody, or waits, comes before what is done. */
const STATES = ["quarantined", "queued", "claimed", "skipped", "indexed"];

/** The strings of an index, state by state; one that changes its state meanwhile is there once. */
async function read(path: string, states: readonly string[], most: number, signal: AbortSignal): Promise<{ items: Node[]; cut: boolean; last: Readonly<Record<string, unknown>> }> {
  const found = new Map<string, Node>();
  let [cut, last]: [boolean, Readonly<Record<string, unknown>>] = [false, {}];
  for (const state of states) {
    const left = most - found.size;
    if (left <= 0) return { items: [...found.values()], cut: true, last };
    const pages = await all<Node>(`${path}/nodes?limit=${Math.min(PAGE, left)}&state=${state}`, "nodes", { signal, most: left });
    for (const node of pages.items) found.set(`${node.table_id} ${node.json_pointer}`, node);
    [cut, last] = [pages.cut, pages.last];
  }
  return { items: [...found.values()], cut, last };
}

export function Nodes({ path, many, tool, counts, reload }: NodesProps): VNode {
  const chosen = useSignal<string | null>(null);
  const limit = useSignal(50);
  const wanted = useSignal("");
  const acting = useActing();
  const bad = counts["quarantined"] ?? 0;
  // What is wrong comes first; where all is well, everything.
  const state = chosen.value ?? (bad ? "quarantined" : "");
  // A filter looks through all that can be read in reasonable time; what is cut is said.
  const most = wanted.value ? FILTERED : limit.value;
  const states = state ? [state] : STATES.filter((one) => counts[one]);
  const found = useResource(`${path} ${states.join(" ")} ${most}`, (signal) => read(path, states, most, signal));
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
          {STATES.map((one) => <option key={one} value={one}>{`${wordOf(one)} (${num(counts[one] ?? 0)})`}</option>)}
        </select>
        <input type="search" aria-label={t().find} placeholder={t().find} onChange={(event) => (wanted.value = event.currentTarget.value.trim().toLowerCase())} />
        {bad && may("manage") ? <button onClick={() => void again()} disabled={acting.busy.value}>{t().retryAll(bad)}</button> : null}
      </header>
      <ProblemBox problem={acting.problem.value} />
      <Shown of={found}>
        {({ items: read, cut, last }) => {
          const items = read.filter((node) => node.json_pointer.toLowerCase().includes(wanted.value));
          return items.length || cut ? (
          <div class="table" tabIndex={0} role="region" aria-label={t().strings}>
            <table>
              <thead><tr><th>{t().string}</th><th class="right">{t().size}</th><th>{t().state}</th><th class="right">{t().tries}</th><th>{t().reason}</th><th>{t().next}</th><th>{t().mends}</th><td /></tr></thead>
              <tbody>
                {items.map((node) => (
                  <tr key={`${node.table_id} ${node.json_pointer}`}>
                    <td>{many ? <bdi>{tableName(node.table_id)} </bdi> : null}<a href={href(`/documents/${node.table_id}`, { p: node.json_pointer, tool })}><code><bdi>{node.json_pointer || "/"}</bdi></code></a></td>
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
            {!cut ? null : <p class="row center small dim">{common().cut(items.length)} <button onClick={() => (limit.value = limit.value < PAGE ? PAGE : limit.value + PAGE)}>{common().more}</button></p>}
          </div>
          ) : <Empty text={wanted.value ? t().noneFound : t().noNodes} />;
        }}
      </Shown>
    </section>
  );
}
