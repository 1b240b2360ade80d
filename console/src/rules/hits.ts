/** Hits of a tool and of a project in one form. Pure. */
import type { Id, Schema } from "../api";
import type { Range } from "./segments";

export type Candidate = Schema<"CandidateAnswer">;
export type Explained = Schema<"ExplainedAnswer"> | Schema<"ExplainedProjectAnswer">;
type Found = Explained["results"][number];

export interface Hit {
  readonly chunkId: Id;
  readonly table: Id;
  readonly pointer: string;
  readonly index: number;
  readonly total: number;
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly title: string;
  readonly relevance: number;
  readonly score: number;
  readonly stale: boolean;
  /** In code points of the string. */
  readonly matches: readonly Range[];
  readonly duplicates: number;
  readonly candidate: Candidate | null;
}

/** Spans of a project's hit are those of its snippet, which is a slice of the chunk. */
function spansOf(found: Found): Range[] {
  const spans = found.highlights ?? [];
  if (!("snippet" in found)) return spans;
  const units = found.chunk.chunk_text.indexOf(found.snippet);
  if (units < 0) return [];
  const before = [...found.chunk.chunk_text.slice(0, units)].length;
  return spans.map(({ start, end }) => ({ start: before + start, end: before + end }));
}

/** Hits of an answer; what explains one is found by its chunk. */
export function hitsOf(results: readonly Found[], candidates: readonly Candidate[]): Hit[] {
  const known = new Map(candidates.map((candidate) => [String(candidate.chunk_id), candidate]));
  return results.map((found) => {
    const chunk = found.chunk;
    return {
      chunkId: chunk.id,
      table: chunk.table_id,
      pointer: chunk.json_pointer,
      index: chunk.chunk_index,
      total: chunk.total_chunks,
      start: chunk.char_start,
      end: chunk.char_end,
      text: chunk.chunk_text,
      title: found.title,
      relevance: found.relevance,
      score: found.score,
      stale: found.stale ?? false,
      matches: spansOf(found).map(({ start, end }) => ({ start: chunk.char_start + start, end: chunk.char_start + end })),
      duplicates: "duplicates" in found ? (found.duplicates?.total ?? 0) : 0,
      candidate: known.get(String(chunk.id)) ?? null,
    };
  });
}

/** Some 200 characters of a hit around its first match, cut between code points. */
export function excerpt(hit: Hit, length = 220): { text: string; matches: Range[] } {
  const characters = [...hit.text];
  const first = (hit.matches[0]?.start ?? hit.start) - hit.start;
  const from = Math.max(0, Math.min(first - Math.floor(length / 4), characters.length - length));
  const matches = hit.matches
    .map(({ start, end }) => ({ start: start - hit.start - from, end: end - hit.start - from }))
    .filter(({ start, end }) => start >= 0 && end <= length);
  return { text: characters.slice(from, from + length).join(""), matches };
}
