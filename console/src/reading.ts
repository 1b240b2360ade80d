/** Reading strings of documents in windows, and where a tool has cut them. */
import { type Id, post, type Schema } from "./api";
import { CodePoints } from "./rules/offsets";
import { type ChunkRange, occurrences, type Range } from "./rules/segments";

export interface TextWindow {
  readonly text: CodePoints;
  readonly start: number;
  readonly total: number;
  readonly revision: number;
}

/** A window of a string; code points, as everywhere. */
export async function readText(table: Id, pointer: string, start: number, end: number, signal: AbortSignal): Promise<TextWindow> {
  const body = { json_pointer: pointer, start, end };
  const answer = await post<Schema<"TextAnswer">>(`/api/v1/tables/${table}/text`, body, { signal });
  return { text: new CodePoints(answer.text), start: answer.start, total: answer.total, revision: answer.revision };
}

const MOST_READ = 100_000;

/** Where a text is in a string that has changed: every window is read, the nearest to where it was
 * first. Null when it is nowhere. */
export async function findText(table: Id, pointer: string, wanted: string, near: number, total: number, signal: AbortSignal): Promise<number | null> {
  const length = [...wanted].length;
  const step = MOST_READ - length;
  const starts = Array.from({ length: Math.ceil(total / step) }, (_, at) => at * step);
  const distance = (start: number): number => Math.abs(start + step / 2 - near);
  for (const start of starts.sort((a, b) => distance(a) - distance(b))) {
    const { text } = await readText(table, pointer, start, Math.min(total, start + MOST_READ), signal);
    const at = text.text.indexOf(wanted);
    if (at >= 0) return start + text.fromUnits(at);
  }
  return null;
}

/** All places of a text in the whole string, in order, window by window; the first so many. Windows
 * overlap, so a place on an edge is found once: in the window where it begins. */
export async function findAll(table: Id, pointer: string, wanted: string, total: number, signal: AbortSignal): Promise<{ places: Range[]; cut: boolean }> {
  const places: Range[] = [];
  const step = MOST_READ - [...wanted].length;
  for (let start = 0; start < total; start += step) {
    const { text } = await readText(table, pointer, start, Math.min(total, start + MOST_READ), signal);
    const from = places.at(-1)?.end ?? 0;
    places.push(...occurrences(text, start, wanted, MOST_PLACES).filter((place) => place.start >= from && place.start < start + step));
    if (places.length >= MOST_PLACES) return { places: places.slice(0, MOST_PLACES), cut: true };
  }
  return { places, cut: false };
}

const MOST_PLACES = 10_000;
const MOST_CHUNKS = 5000;

/** The chunks of a string in the index of a tool, in order; the first 5,000. */
export async function readChunks(tool: Id, pointer: string, signal: AbortSignal): Promise<ChunkRange[]> {
  const found: ChunkRange[] = [];
  let cursor: string | null = null;
  do {
    const body = { json_pointer: pointer, ...(cursor === null ? {} : { cursor }) };
    const answer: Schema<"ChunksAnswer"> = await post(`/api/v1/tools/${tool}/chunks`, body, { signal });
    found.push(...answer.chunks.map(({ index, start, end }) => ({ index, start, end })));
    cursor = answer.cursor;
  } while (cursor !== null && found.length < MOST_CHUNKS);
  return found;
}
