/** Passages for a prompt: what they are, what fitted into the budget, what was hidden. */
import type { VNode } from "preact";
import type { Id, Schema } from "../api";
import { codeText } from "../i18n/common";
import { num } from "../i18n/language";
import { partTexts, searchTexts as t } from "../i18n/search";
import { statusTexts } from "../i18n/status";
import { tableName } from "../lists";
import { href } from "../router";
import { Copy } from "./copy";
import { Relevance } from "./hit";
import { Degraded, Empty } from "./states";

type Retrieved = Schema<"RetrieveAnswer">;

export function Passages({ answer }: { answer: Retrieved }): VNode {
  const { accounting, results } = answer;
  const reasons = partTexts() as unknown as Record<string, string>;
  return (
    <div class="stack">
      <Degraded codes={answer.retrieval.degraded} />
      <div class="budget" role="img" aria-label={t().budget(accounting.used, accounting.limit, accounting.tokenizer)}>
        {results.map((passage, at) => (
          <span key={at} class="fill" style={{ width: `${(passage.tokens / accounting.limit) * 100}%` }} />
        ))}
      </div>
      <p class="small dim num">
        {t().budget(accounting.used, accounting.limit, accounting.tokenizer)}
        {accounting.below_min_score ? ` · ${t().below(accounting.below_min_score)}` : ""}
        {accounting.dropped.length ? ` · ${t().dropped(accounting.dropped.length)}` : ""}
        {answer.index.not_searched ? ` · ${statusTexts().notSearched(answer.index.not_searched)}` : ""}
      </p>
      {results.length ? null : <Empty text={codeText(answer.hint ?? "no_match")} code={answer.hint ?? "no_match"} />}
      <ol class="plain stack">
        {results.map((passage, at) => <PassageCard key={at} passage={passage} />)}
      </ol>
      {accounting.dropped.length ? (
        <ul class="small dim">
          {accounting.dropped.map((one) => <li key={String(one.id)}>{t().tokens(one.tokens)}: {reasons[one.reason]}</li>)}
        </ul>
      ) : null}
    </div>
  );
}

function PassageCard({ passage }: { passage: Retrieved["results"][number] }): VNode {
  const table: Id = passage.table_id;
  const query = { p: passage.json_pointer, a: passage.char_start, b: passage.char_end };
  return (
    <li class="panel stack">
      <div class="row">
        <a class="grow clip" href={href(`/documents/${table}`, query)}><bdi>{tableName(table)}</bdi> <code><bdi>{passage.json_pointer}</bdi></code></a>
        <span class="small dim num">{t().tokens(passage.tokens)}</span>
        <Relevance value={passage.relevance} />
        <Copy text={passage.text} />
      </div>
      <p class="prose" dir="auto">{placeholders(passage)}</p>
      <p class="small dim num">{t().hitsIn(passage.chunks.map((chunk) => num(chunk.chunk_index + 1)).join(", "))}</p>
    </li>
  );
}

/** Placeholders of what was hidden, told apart from text that only looks like one. */
function placeholders(passage: Retrieved["results"][number]): (string | VNode)[] {
  const characters = [...passage.text];
  const pieces: (string | VNode)[] = [];
  let at = 0;
  for (const hidden of passage.redactions) {
    pieces.push(characters.slice(at, hidden.text_start).join(""));
    pieces.push(<span key={hidden.text_start} class="badge warn" title={t().redacted}>{characters.slice(hidden.text_start, hidden.text_end).join("")}</span>);
    at = hidden.text_end;
  }
  pieces.push(characters.slice(at).join(""));
  return pieces;
}
