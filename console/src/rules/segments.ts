/** How a text is cut into pieces of one look each: chunks, their overlaps, matches, the hit. Pure. */
import { CodePoints } from "./offsets";

export interface Range {
  readonly start: number;
  readonly end: number;
}
export interface ChunkRange extends Range {
  readonly index: number;
}
export interface Marked {
  readonly chunks: readonly ChunkRange[];
  readonly matches: readonly Range[];
  readonly hit: Range | null;
}
export interface Segment extends Range {
  readonly text: string;
  /** Numbers of the chunks that begin here. */
  readonly begins: readonly number[];
  /** Numbers of the chunks that it lies in: two in an overlap. */
  readonly inside: readonly number[];
  readonly match: boolean;
  readonly hit: boolean;
}

/** Cuts a window that begins at code point `offset` of its string. The texts put together are the
 * window, exactly. */
export function segments(window: CodePoints, offset: number, marked: Marked): Segment[] {
  const end = offset + window.length;
  const edges = new Set([offset, end]);
  const within = (range: Range): boolean => range.end > offset && range.start < end;
  const chunks = marked.chunks.filter(within);
  const matches = marked.matches.filter(within);
  for (const range of [...chunks, ...matches, ...(marked.hit ? [marked.hit] : [])]) {
    if (range.start > offset && range.start < end) edges.add(range.start);
    if (range.end > offset && range.end < end) edges.add(range.end);
  }
  const sorted = [...edges].sort((a, b) => a - b);
  const covers = (ranges: readonly Range[], at: number): boolean => ranges.some((range) => range.start <= at && at < range.end);
  return sorted.slice(0, -1).map((start, at) => {
    const stop = sorted[at + 1]!;
    const inside = chunks.filter((chunk) => chunk.start <= start && start < chunk.end);
    return {
      start,
      end: stop,
      text: window.slice(start - offset, stop - offset),
      begins: inside.filter((chunk) => chunk.start === start).map((chunk) => chunk.index),
      inside: inside.map((chunk) => chunk.index),
      match: covers(matches, start),
      hit: marked.hit !== null && marked.hit.start <= start && start < marked.hit.end,
    };
  });
}

/** Places of a text in a window, in code points of the string. Capitals count only if asked. */
export function occurrences(window: CodePoints, offset: number, wanted: string, most = 1000): Range[] {
  const found: Range[] = [];
  if (!wanted) return found;
  const [where, what] = [window.text.toLowerCase(), wanted.toLowerCase()];
  // A lower-case form of another length would move every place behind it.
  const [text, word] = where.length === window.text.length && what.length === wanted.length ? [where, what] : [window.text, wanted];
  for (let at = text.indexOf(word); at >= 0 && found.length < most; at = text.indexOf(word, at + word.length)) {
    found.push({ start: offset + window.fromUnits(at), end: offset + window.fromUnits(at + word.length) });
  }
  return found;
}

/** Characters that cannot be seen, or turn the direction of writing. */
export const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** The name of a character as the page shows it: U+202E. */
export const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
