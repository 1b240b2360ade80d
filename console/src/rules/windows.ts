/** Which part of a long string is shown: windows that begin and end at a chunk. Pure. */
import type { ChunkRange, Range } from "./segments";

/** With a chunk of 8,000 at both ends it is less than the 100,000 that the API gives at once. */
export const WINDOW = 80_000;

/** The window that holds a place, in code points of a string of `total`. Windows are multiples of
 * WINDOW, moved to the beginning of the chunk that lies there; with its overlap, the next begins
 * before this one ends. */
export function windowOf(place: number, total: number, chunks: readonly ChunkRange[]): Range {
  const number = Math.min(Math.floor(Math.max(0, place) / WINDOW), Math.max(0, Math.ceil(total / WINDOW) - 1));
  const window = (at: number): Range => ({ start: edge(at * WINDOW, chunks, "start"), end: Math.min(total, edge((at + 1) * WINDOW, chunks, "end")) });
  const found = window(number);
  return place < found.start && number > 0 ? window(number - 1) : found;
}

function edge(at: number, chunks: readonly ChunkRange[], side: "start" | "end"): number {
  const across = chunks.find((chunk) => chunk.start <= at && at < chunk.end);
  return across && at > 0 ? across[side] : at;
}

/** All windows of a string. */
export function windowsOf(total: number, chunks: readonly ChunkRange[]): Range[] {
  return Array.from({ length: Math.max(1, Math.ceil(total / WINDOW)) }, (_, at) =>
    windowOf(Math.min(total, at * WINDOW + WINDOW / 2), total, chunks),
  );
}
