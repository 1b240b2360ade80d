/** Judged questions as JSON Lines (docs/quality.md), and what two answers have of each other. Pure. */
export interface Span {
  readonly pointer: string;
  readonly start: number;
  readonly end: number;
}
export type Grade = 0 | 1 | 2 | 3;
export interface Judgment {
  readonly json_pointer: string;
  readonly char_start: number;
  readonly char_end: number;
  readonly grade?: number;
}
/** Members that the page does not know stay as they are. */
export interface Judged {
  readonly query: string;
  /** Graded 2 and 3, or without a grade. */
  readonly relevant: readonly Judgment[];
  /** Graded 0 and 1. */
  readonly others?: readonly Judgment[];
}

/** The questions of a file. Throws an Error that names the line. */
export function parsed(lines: string): Judged[] {
  return lines.split("\n").flatMap((line, at) => {
    if (!line.trim()) return [];
    try {
      const row = JSON.parse(line) as Judged;
      const good = (one: Judgment): boolean => typeof one.json_pointer === "string" && one.char_start >= 0 && one.char_end > one.char_start;
      if (typeof row.query === "string" && Array.isArray(row.relevant) && row.relevant.every(good)) return [row];
    } catch {
      // The same as any other line that is none.
    }
    throw new Error(String(at + 1));
  });
}

export const written = (questions: readonly Judged[]): string => questions.map((one) => `${JSON.stringify(one)}\n`).join("");

/** The set with a range graded: another grade of the same range is replaced, a question is added. */
export function graded(questions: readonly Judged[], query: string, span: Span, grade: Grade): Judged[] {
  const judgment: Judgment = { ...placeOf(span), grade };
  const old = questions.find((one) => one.query === query) ?? { query, relevant: [] };
  const rest = without(old, span);
  const next: Judged = grade >= 2 ? { ...rest, relevant: [...rest.relevant, judgment] } : { ...rest, others: [...(rest.others ?? []), judgment] };
  return questions.includes(old) ? questions.map((one) => (one === old ? next : one)) : [...questions, next];
}

const isAt = ({ pointer, start, end }: Span) => (one: Judgment): boolean => one.json_pointer === pointer && one.char_start === start && one.char_end === end;

export function without(question: Judged, span: Span): Judged {
  const isThis = isAt(span);
  const other = (one: Judgment): boolean => !isThis(one);
  const others = question.others?.filter(other);
  return { ...question, relevant: question.relevant.filter(other), ...(others ? { others } : {}) };
}

export const spanOf = (one: Judgment): Span => ({ pointer: one.json_pointer, start: one.char_start, end: one.char_end });

/** The same on its way to the server. */
export const placeOf = ({ pointer, start, end }: Span): Judgment => ({ json_pointer: pointer, char_start: start, char_end: end });

export const judgmentsOf = (question: Judged | undefined): Judgment[] => [...(question?.relevant ?? []), ...(question?.others ?? [])];

function bestOf(question: Judged | undefined, is: (one: Judgment) => boolean): number | null {
  const found = judgmentsOf(question).filter(is).map((one) => one.grade ?? 2);
  return found.length ? Math.max(...found) : null;
}

/** The grade that exactly these words have got. */
export const gradeAt = (question: Judged | undefined, words: Span): number | null => bestOf(question, isAt(words));

/** The grade that a passage has got: the best of the ranges that it touches. */
export const gradeOf = (question: Judged | undefined, passage: Span): number | null =>
  bestOf(question, (one) => common(spanOf(one), passage) !== null);

/** What both have, or null. */
function common(one: Span, other: Span): readonly [start: number, end: number] | null {
  const [start, end] = [Math.max(one.start, other.start), Math.min(one.end, other.end)];
  return one.pointer === other.pointer && start < end ? [start, end] : null;
}

const keyOf = (span: Span): string => `${span.start} ${span.end} ${span.pointer}`;

/** The ranks, from 1, of one answer's passages in the other, which may be cut into other chunks; 0 where it has them not. */
export function ranksIn(passages: readonly Span[], other: readonly Span[]): number[] {
  const keys = other.map(keyOf);
  return passages.map((passage) => keys.indexOf(keyOf(passage)) + 1 || other.findIndex((one) => isSame(passage, one)) + 1);
}

/** Whether more than half of the shorter is in the other: chunks beside each other share half at most. */
function isSame(one: Span, other: Span): boolean {
  const [start, end] = common(one, other) ?? [0, 0];
  return 2 * (end - start) > Math.min(one.end - one.start, other.end - other.start);
}

/** What to judge: both answers' first ten, each once, in an order that tells nothing. */
export function pooled<T extends Span>(a: readonly T[], b: readonly T[], seed: string): T[] {
  const all = new Map([...a.slice(0, 10), ...b.slice(0, 10)].map((one) => [keyOf(one), one]));
  const next = random([...seed].reduce((sum, character) => (sum * 31 + character.codePointAt(0)!) | 0, 7));
  return [...all.values()].map((one) => [next(), one] as const).sort((one, other) => one[0] - other[0]).map(([, one]) => one);
}

/** Numbers 0..1 that a seed decides (mulberry32). */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
