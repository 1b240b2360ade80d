/** How an index is: a word, a sign, and counts. Never a percentage. */
import type { VNode } from "preact";
import { num } from "../i18n/language";
import { statusTexts } from "../i18n/status";

const KINDS: Record<string, readonly [kind: string, sign: string]> = {
  ready: ["good", "●"], indexed: ["good", "●"], indexing: ["", "◐"], rebuilding: ["", "◐"], claimed: ["", "◐"], queued: ["", "○"],
  degraded: ["warn", "▲"], evicted: ["warn", "○"], skipped: ["warn", "–"], stalled: ["bad", "▲"], error: ["bad", "✕"], quarantined: ["bad", "✕"],
};
export const moves = (status: string | null | undefined): boolean => status === "indexing" || status === "rebuilding";

export function Status({ value }: { value: string | null | undefined }): VNode {
  if (!value) return <span class="dim">–</span>;
  const [kind, sign] = KINDS[value] ?? ["", "○"];
  return <span class={`badge ${kind}`}><span aria-hidden="true">{sign}</span>{wordOf(value)}</span>;
}

export const wordOf = (value: string): string => (statusTexts() as unknown as Record<string, string>)[value] ?? value;

/** "38 indexed · 1 given up", in one order. */
export function Counts({ of }: { of: Readonly<Record<string, number>> }): VNode {
  const states = ["indexed", "claimed", "queued", "quarantined", "skipped"].filter((state) => of[state]);
  return <span class="num">{states.map((state) => `${num(of[state]!)} ${wordOf(state)}`).join(" · ") || "–"}</span>;
}

export function Progress({ done, all }: { done: number; all: number }): VNode {
  return <span class="progress" aria-hidden="true"><span class="fill" style={{ width: `${all ? (done / all) * 100 : 0}%` }} /></span>;
}
