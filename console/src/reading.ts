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
