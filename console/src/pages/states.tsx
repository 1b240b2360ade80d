/** The gallery: every state that a view can be in, without a server. `#/states` */
import type { VNode } from "preact";
import { Problem, type ProblemFields } from "../api";
import { codes } from "../i18n/common";
import { titles } from "../i18n/pages";
import type { Page } from "../page";
import { Degraded, Empty, Loading, ProblemBox, Stale } from "../parts/states";
import { t } from "../i18n/common";

const PROBLEMS: readonly ProblemFields[] = Object.entries({
  OFFLINE: 0, UNAUTHENTICATED: 401, PERMISSION_DENIED: 403, NOT_FOUND: 404, CONFLICT: 409, DOCUMENT_TOO_LARGE: 413,
  INVALID_INPUT: 422, SEARCH_BACKPRESSURE: 429, SEARCH_UNAVAILABLE: 503,
}).map(([code, status]) => ({
  status, code, detail: "…", requestId: "9f0c2b4e", retryable: status > 422, retryAfterMs: 3000,
  errors: status === 422 ? [{ field: "body.top_k", message: "…" }] : [],
}));
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
