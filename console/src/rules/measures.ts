/** The measures of evaluation/metrics.py, to the last bit; a check runs both on the same vectors. Pure. */
export interface Span {
  readonly pointer: string;
  readonly start: number;
  readonly end: number;
}
type Part = readonly [start: number, end: number];
export const MEASURES = ["ndcg@10", "recall@1", "recall@5", "recall@20", "mrr@10", "coverage@5"] as const;
export type Scores = Readonly<Record<(typeof MEASURES)[number], number>>;
/** How many passages of an answer are looked at. */
export const DEPTH = 20;

/** Measures of one answer, each 0..1; `found` best first, `gold` not empty. */
export function score(gold: readonly Span[], found: readonly Span[]): Scores {
  const seen = found.slice(0, DEPTH);
  const ranks = gold.map((span) => foundAt(span, seen)).filter((rank) => rank > 0).sort((a, b) => a - b);
  const recall = (depth: number): number => ranks.filter((rank) => rank <= depth).length / gold.length;
  const gain = (rank: number): number => 1 / Math.log2(rank + 1);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const top = ranks.filter((rank) => rank <= 10);
  const ideal = sum(Array.from({ length: Math.min(10, gold.length) }, (_, at) => gain(at + 1)));
  return {
    "ndcg@10": Math.min(1, sum(top.map(gain)) / ideal),
    "recall@1": recall(1),
    "recall@5": recall(5),
    "recall@20": recall(20),
    "mrr@10": top.length ? 1 / top[0]! : 0,
    "coverage@5": coverage(gold, found.slice(0, 5)),
  };
}

/** The rank where the union of the passages holds half of the span; 0 for none. */
function foundAt(gold: Span, found: readonly Span[]): number {
  const parts: Part[] = [];
  for (const [at, span] of found.entries()) {
    const part = common(gold, span);
    if (!part) continue;
    parts.push(part);
    if (2 * lengthOf(parts) >= gold.end - gold.start) return at + 1;
  }
  return 0;
}

function coverage(gold: readonly Span[], found: readonly Span[]): number {
  let [judged, covered] = [0, 0];
  for (const pointer of new Set(gold.map((span) => span.pointer))) {
    const here = gold.filter((span) => span.pointer === pointer);
    judged += lengthOf(here.map(({ start, end }) => [start, end]));
    covered += lengthOf(here.flatMap((span) => found.map((other) => common(span, other)).filter((part) => part !== null)));
  }
  return covered / judged;
}

/** What both have, or null. */
export function common(one: Span, other: Span): Part | null {
  const [start, end] = [Math.max(one.start, other.start), Math.min(one.end, other.end)];
  return one.pointer === other.pointer && start < end ? [start, end] : null;
}

function lengthOf(parts: readonly Part[]): number {
  let [length, reached] = [0, -1];
  for (const [start, end] of [...parts].sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
    if (end > reached) {
      length += end - Math.max(start, reached);
      reached = end;
    }
  }
  return length;
}

/** The mean, and its 95 % bootstrap interval (percentile method, 2,000 draws of a fixed seed). */
export function interval(values: readonly number[], draws = 2000): readonly [mean: number, low: number, high: number] {
  const count = values.length;
  const mean = (of: readonly number[]): number => of.reduce((total, value) => total + value, 0) / count;
  const next = random(7);
  const means = Array.from({ length: draws }, () => mean(Array.from({ length: count }, () => values[Math.floor(next() * count)]!))).sort((a, b) => a - b);
  const percentile = (share: number): number => {
    const place = (draws - 1) * share;
    const [low, high] = [means[Math.floor(place)]!, means[Math.ceil(place)]!];
    return low + (high - low) * (place % 1);
  };
  return [mean(values), percentile(0.025), percentile(0.975)];
}

/** What an interval of differences allows to say; one that holds both signs says nothing. */
export const verdictOf = (low: number, high: number): "worse" | "better" | "same" | "unknown" => (high < 0 ? "worse" : low > 0 ? "better" : low || high ? "unknown" : "same");

/** Numbers 0..1 that a seed decides (mulberry32). */
export function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
