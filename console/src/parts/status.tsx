/** How an index is: a word, a sign, and counts. Never a percentage. */
import type { VNode } from "preact";
import { num } from "../i18n/language";
import { statusTexts } from "../i18n/status";

/** How it is: an index that is settled, and holds nothing, is not ready for anything. */
export function standing(index: { readonly status: string; readonly search_index?: { readonly nodes: Counted }; readonly nodes?: Counted }): string {
  const nodes = index.search_index?.nodes ?? index.nodes;
  return index.status === "ready" && !nodes?.["indexed"] ? "nothing" : index.status;
}
type Counted = Readonly<Record<string, number>>;

const KINDS: Record<string, readonly [kind: string, sign: string]> = {
  ready: ["good", "●"], indexed: ["good", "●"], indexing: ["", "◐"], rebuilding: ["", "◐"], claimed: ["", "◐"], queued: ["", "○"],
  degraded: ["warn", "▲"], nothing: ["warn", "▲"], evicted: ["warn", "○"], skipped: ["warn", "–"], stalled: ["bad", "▲"], error: ["bad", "✕"], quarantined: ["bad", "✕"],
};
export const moves = (status: string | null | undefined): boolean => status === "indexing" || status === "rebuilding";

export function Status({ value }: { value: string | null | undefined }): VNode {
  if (!value) return <span class="dim">–</span>;
  const [kind, sign] = KINDS[value] ?? ["", "○"];
  return <span class={`badge ${kind}`}><span aria-hidden="true">{sign}</span>{wordOf(value)}</span>;
}

export const wordOf = (value: string): string => (statusTexts() as unknown as Record<string, string>)[value] ?? value;

/** Why a string is not indexed, and what to do about it where nobody else can. */
export function Reason({ error }: { error: { readonly code: string; readonly message: string } }): VNode {
  return <><code class="code">{error.code}</code> <bdi class="small">{error.message}</bdi>{error.code.startsWith("NODE_TOO_") ? <strong> · {statusTexts().split}</strong> : null}</>;
}

/** "38 indexed · 1 given up", in one order. */
export function Counts({ of }: { of: Readonly<Record<string, number>> }): VNode {
  const states = ["indexed", "claimed", "queued", "quarantined", "skipped"].filter((state) => of[state]);
  return <span class="num">{states.map((state) => `${num(of[state]!)} ${wordOf(state)}`).join(" · ") || "–"}</span>;
}

/** A bar of strings, while some wait: how many chunks there will be, nobody knows before. */
export function Progress({ of, status, long }: { of: Readonly<Record<string, number>>; status: string; long?: boolean }): VNode | null {
  const all = Object.values(of).reduce((sum, count) => sum + count, 0);
  const done = of["indexed"] ?? 0;
  if (status !== "indexing" || done >= all) return null;
  return <span class={long ? "progress long" : "progress"} aria-hidden="true"><span class="fill" style={{ width: `${(done / all) * 100}%` }} /></span>;
}
