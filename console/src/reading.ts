/** Reading strings of documents in windows, and where a tool has cut them. */
import { type Id, post, type Schema } from "./api";
import { CodePoints } from "./rules/offsets";
import type { ChunkRange } from "./rules/segments";

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
