/** The gallery: every state that a view can be in, without a server. `#/states` */
import type { VNode } from "preact";
import { Problem, type ProblemFields } from "../api";
import { codes } from "../i18n/common";
import { titles } from "../i18n/pages";
import type { Page } from "../page";
import { Degraded, Empty, Loading, ProblemBox, Stale } from "../parts/states";
import { t } from "../i18n/common";

const PROBLEMS: readonly ProblemFields[] = [
  { status: 0, code: "OFFLINE", detail: "", retryable: true },
  { status: 401, code: "UNAUTHENTICATED", detail: "no such key", retryable: false, requestId: "9f0c2b4e" },
  { status: 403, code: "PERMISSION_DENIED", detail: "the key has not the scope manage", retryable: false, requestId: "9f0c2b4e" },
  { status: 404, code: "NOT_FOUND", detail: "there is no such table", retryable: false, requestId: "9f0c2b4e" },
  { status: 409, code: "CONFLICT", detail: "the table has revision 8, not 7", retryable: false, requestId: "9f0c2b4e" },
  { status: 413, code: "DOCUMENT_TOO_LARGE", detail: "over 6,000,000 bytes", retryable: false, requestId: "9f0c2b4e" },
  { status: 422, code: "INVALID_INPUT", detail: "body.top_k: Input should be at most 20", retryable: false, errors: [{ field: "body.top_k", message: "Input should be at most 20" }], requestId: "9f0c2b4e" },
  { status: 429, code: "SEARCH_BACKPRESSURE", detail: "64 searches go on", retryable: true, retryAfterMs: 3000, requestId: "9f0c2b4e" },
  { status: 503, code: "SEARCH_UNAVAILABLE", detail: "no part could answer", retryable: true, requestId: "9f0c2b4e" },
];
const HINTS = ["no_match", "low_scores_hidden", "index_incomplete", "scope_missing", "no_long_strings", "nothing_indexed"];

function States(): VNode {
  const sentences: Record<string, string> = codes();
  return (
    <>
      <h1 tabIndex={-1}>{titles().states}</h1>
      <div class="gallery">
        <section><h2>loading</h2><Loading stop={() => undefined} /></section>
        <section><h2>stale</h2><Stale text={t().changedBelow(6, 7)} reload={() => undefined} /></section>
        {HINTS.map((hint) => <section key={hint}><h2>empty: {hint}</h2><Empty text={sentences[hint]!} code={hint} /></section>)}
        <section class="all">
          <h2>degraded</h2>
          <Degraded codes={Object.keys(sentences).filter((code) => !HINTS.includes(code))} />
        </section>
        {PROBLEMS.map((fields) => (
          <section key={fields.code}><h2>problem: {fields.status}</h2><ProblemBox problem={new Problem(fields)} retry={() => undefined} /></section>
        ))}
      </div>
    </>
  );
}

export const page: Page = { id: "states", title: () => titles().states, View: States };
