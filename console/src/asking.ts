/** Two ways to rank, A and B: what each finds for a question, and for all questions of a set. */
import { type Id, post, Problem, request, type Schema } from "./api";
import { type Hit, hitsOf } from "./rules/hits";
import { type Judged, type Judgment, placeOf, spanOf } from "./rules/judging";
import { session } from "./session";
import { batch, signal } from "./signals";

export interface Way {
  readonly tool: Id;
  /** Another ranking than the tool's own; null asks the tool as it is. */
  readonly config: Record<string, unknown> | null;
}
export interface Found {
  readonly hits: readonly Hit[];
  readonly degraded: readonly string[];
}
/** Where the hits of both stand; null: degraded or refused, so not measured. */
export type Answered = { readonly base: readonly Judgment[]; readonly candidate: readonly Judgment[] } | null;

async function found(way: Way, query: string, topK: number, signal: AbortSignal): Promise<Found> {
  const body = { query, top_k: topK, ...(way.config ? { config: way.config } : {}) };
  const answer = await post<Schema<"ExplainedAnswer">>(`/api/v1/tools/${way.tool}/search/explain`, body, { signal });
  return { hits: hitsOf(answer.results, answer.explain.candidates), degraded: answer.retrieval.degraded };
}

/** What both find; where they are one, it is asked once. */
export function foundByBoth(a: Way, b: Way, query: string, topK: number, abort: AbortSignal): Promise<[Found, Found]> {
  const first = found(a, query, topK, abort);
  return Promise.all([first, JSON.stringify(a) === JSON.stringify(b) ? first : found(b, query, topK, abort)]);
}

/** How many passages of an answer are measured. */
const DEPTH = 20;
const AT_ONCE = 4;
const PAUSE_MS = 2000;
/** By the question as it was judged, so judged otherwise it has none; what is there already is not asked again. */
export const answered = signal<ReadonlyMap<Judged, Answered>>(new Map());
export const running = signal(false);
export const waiting = signal(false);
let abort = new AbortController();

export function stopRun(): void {
  abort.abort();
  running.value = false;
  waiting.value = false;
}

/** Asks four at a time, waits where the API says that it is too much, and goes on where it was stopped. */
export async function run(a: Way, b: Way, questions: readonly Judged[]): Promise<void> {
  abort = new AbortController();
  const mine = abort;
  const left = questions.filter((one) => one.relevant.length && !answered.value.has(one));
  running.value = true;
  const worker = async (): Promise<void> => {
    for (let one = left.shift(); one && !mine.signal.aborted; one = left.shift()) {
      const result = await patient(() => both(a, b, one!, mine.signal), mine.signal);
      if (!mine.signal.aborted) answered.value = new Map(answered.value).set(one, result);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  } finally {
    if (mine === abort) batch(stopRun);
  }
}

async function both(a: Way, b: Way, judged: Judged, abort: AbortSignal): Promise<Answered> {
  const [one, other] = await foundByBoth(a, b, judged.query, DEPTH, abort);
  if (one.degraded.length || other.degraded.length) return null;
  return { base: one.hits.map(placeOf), candidate: other.hits.map(placeOf) };
}

export interface Measured {
  readonly measures: Schema<"MeasuresAnswer">["measures"];
  readonly byQuestion: ReadonlyMap<Judged, Schema<"MeasuredQuestionAnswer">>;
}

/** The judged ranges of questions, and where their hits stand. */
export const measurable = (questions: readonly Judged[]): string =>
  JSON.stringify({ questions: questions.map((one) => ({ relevant: one.relevant.map((range) => placeOf(spanOf(range))), ...answered.value.get(one) })) });

/** What is sent: the server only compares pointers, so a number stands for each, and the request stays small. */
function numbered(text: string): string {
  const numbers = new Map<string, string>();
  const short = (pointer: string): string => numbers.get(pointer) ?? numbers.set(pointer, `${numbers.size}`).get(pointer)!;
  return JSON.stringify(JSON.parse(text, (name, value) => (name === "json_pointer" ? short(value) : value)));
}

export async function measured(questions: readonly Judged[], text: string, signal: AbortSignal): Promise<Measured> {
  const { data } = await request<Schema<"MeasuresAnswer">>("POST", `/api/v1/projects/${session.value?.projectId}/measures`, { text: numbered(text), signal });
  return { measures: data.measures, byQuestion: new Map(questions.map((one, at) => [one, data.questions[at]!])) };
}

/** What passes (429, 503) is asked again, five times in all. */
async function patient(ask: () => Promise<Answered>, abort: AbortSignal): Promise<Answered> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (!error.fields.retryable || tries === 5) return null;
      waiting.value = true;
      await new Promise((resolve) => setTimeout(resolve, error.fields.retryAfterMs ?? PAUSE_MS));
      waiting.value = false;
      abort.throwIfAborted();
    }
  }
}
