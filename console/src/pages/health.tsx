/** Is it us, the provider or turbopuffer; what is stuck, and will it mend itself. */
import type { VNode } from "preact";
import { asked, get } from "../api";
import { healthTexts as t } from "../i18n/health";
import { indexTexts } from "../i18n/indexes";
import { ago, bytes, moment, num } from "../i18n/language";
import { titles } from "../i18n/pages";
import type { Page } from "../page";
import { Table } from "../parts/form";
import { Shown } from "../parts/states";
import { Counts } from "../parts/status";
import { usePolling, useResource } from "../resource";
import { href } from "../router";
import { type Health, readHealth } from "../verdict";

interface Read {
  readonly health: Health;
  readonly at: string;
  readonly apiMs: number;
}
const EVERY_MS = 5000;

async function read(signal: AbortSignal): Promise<Read> {
  const began = performance.now();
  await get("/healthz", { signal });
  const apiMs = Math.round(performance.now() - began);
  const health = await readHealth(signal);
  return { health, at: new Date().toISOString(), apiMs };
}

function HealthPage(): VNode {
  const found = useResource("health", read);
  usePolling(found.reload, EVERY_MS);
  return (
    <>
      <div class="row"><h1 class="grow" tabIndex={-1}>{titles().health}</h1><span class="dim small">{found.data.value ? t().read(ago(found.data.value.at)) : ""}</span></div>
      <Shown of={found} lines={6}>{(data) => <All data={data} />}</Shown>
    </>
  );
}

const Sign = ({ good }: { good: boolean }): VNode => <span class={good ? "good" : "bad-ink"} aria-hidden="true">{good ? "✓" : "✕"}</span>;

/** Said of the whole only when every part was read. */
function Verdict({ health: { verdict, parts } }: { health: Health }): VNode {
  return (
    <section class="stack">
      <p class={`bar ${{ ok: "good", failing: "bad", unknown: "warn" }[verdict]}`} role="status"><strong>{{ ok: `✓ ${t().ok}`, failing: `▲ ${t().failing}`, unknown: t().unknown }[verdict]}</strong></p>
      <Table heads={[t().part, t().state, t().since, t().checked]}>
        {parts.map((part) => (
          <tr key={part.name}>
            <th scope="row">{partName(part.name)}</th>
            <td><span class={`badge ${{ ok: "good", failing: "bad", unknown: "warn" }[part.state]}`}><span aria-hidden="true">{{ ok: "●", failing: "▲", unknown: "○" }[part.state]}</span>{{ ok: t().good, failing: t().bad, unknown: t().notKnown }[part.state]}</span> {part.code ? <code class="code">{part.code}</code> : null}</td>
            <td class="dim">{part.since ? ago(part.since) : "–"}</td>
            <td class="dim">{part.checked_at ? ago(part.checked_at) : "–"}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

const partName = (name: Health["parts"][number]["name"]): string =>
  ({ database: t().database, vector_store: t().vectorStore, embedder: t().embedder, queue: t().queue, indexes: titles().indexes, cleanup: t().cleanup })[name];

function All({ data: { health, apiMs } }: { data: Read }): VNode {
  const { cleanup, integrity, indexes } = health;
  const sum = (name: "missing" | "orphans"): number => integrity.reduce((total, one) => total + one[name], 0);
  return (
    <div class="stack wide">
      <Verdict health={health} />
      <div class="cards">
        <dl class="panel facts">
          <dt>{t().api}</dt><dd class="num">{t().answers(apiMs)}</dd>
          <dt>{t().cleanup}</dt>
          <dd class="num">{cleanup ? <>{t().ran(ago(cleanup.at), cleanup.seconds)}, {cleanup.rests_until ? t().rests(moment(cleanup.rests_until)) : cleanup.is_complete ? t().complete : t().incomplete} {cleanup.errors.map((code) => <> <code key={code} class="code bad-ink">{code}</code></>)}</> : t().neverRan}</dd>
          <dt>{t().queue}</dt><dd class="num">{t().oldest(Math.max(health.oldest_wait_seconds, health.outbox.oldest_seconds))} · {t().waiting(health.outbox.waiting)}</dd>
          {asked.length ? <><dt>{t().tab}</dt><dd class="num">{t().quantiles(quantile(0.5), quantile(0.95), asked.length)}</dd></> : null}
        </dl>
        <dl class="panel facts">
          <dt>{indexTexts().strings}</dt><dd><a href={href("/indexes")}><Counts of={health.nodes} /></a></dd>
          <dt>{titles().indexes}</dt><dd class="num">{t().counts(indexes.live, indexes.building, indexes.evicted, indexes.stalled)}</dd>
          <dt>{indexTexts().integrity}</dt><dd class="num">{integrity.length ? <Sign good={!sum("missing") && !sum("orphans")} /> : null} {t().integrityText(integrity.length, sum("missing"), sum("orphans"))}</dd>
          <dt>{indexTexts().chunks}</dt><dd class="num"><Limit used={health.usage.chunks} all={health.limits.chunks} shown={num} name={indexTexts().chunks} /></dd>
          <dt>{t().vectors}</dt><dd class="num"><Limit used={health.usage.vector_bytes} all={health.limits.vector_bytes} shown={bytes} name={t().vectors} /></dd>
          <dt>{t().tables}</dt><dd class="num"><Limit used={health.usage.tables} all={health.limits.tables} shown={num} name={t().tables} /></dd>
          <dt>{t().documents}</dt><dd class="num"><Limit used={health.usage.document_bytes} all={health.limits.document_bytes} shown={bytes} name={t().documents} /></dd>
          <dt>{t().tools}</dt><dd class="num"><Limit used={health.usage.tools} all={health.limits.tools} shown={num} name={t().tools} /></dd>
          <dt>{t().keys}</dt><dd class="num"><Limit used={health.usage.keys} all={health.limits.keys} shown={num} name={t().keys} /></dd>
          <dt>{t().mcps}</dt><dd class="num"><Limit used={health.usage.mcps} all={health.limits.mcps} shown={num} name={t().mcps} /></dd>
          <dt>{t().spent}</dt><dd class="num">{t().spentText(spent(health, "embedding_tokens"), spent(health, "reranks"))}</dd>
        </dl>
      </div>
      <section class="stack">
        <h2>{t().errors}</h2>
        {health.errors.length ? (
          <Table heads={[t().code, indexTexts().strings, t().latest, t().todo]} right={[1]}>
              {health.errors.map((error) => (
                <tr key={error.code}><td><code class="code">{error.code}</code></td><td class="num right">{num(error.count)}</td><td class="dim">{error.latest_at ? ago(error.latest_at) : "–"}</td><td>{remedy(error.code)}</td></tr>
              ))}
          </Table>
        ) : <p class="dim">{t().noErrors}</p>}
      </section>
    </div>
  );
}

function Limit({ used, all, shown, name }: { used: number; all: number; shown: (value: number) => string; name: string }): VNode {
  return <span class="row"><meter min={0} max={all} high={all * 0.9} value={used} aria-label={name} /> {t().of(shown(used), shown(all))}</span>;
}

/** What was spent today, and of how much where there is a limit. */
function spent({ at, spent: days, daily_limits: most }: Health, name: "embedding_tokens" | "reranks"): string {
  const used = num(days.find(({ day }) => day === at.slice(0, 10))?.[name] ?? 0);
  return most[name] === null ? used : t().of(used, num(most[name]));
}

/** The time that so many of all questions of this tab took at most. */
function quantile(share: number): number {
  return Math.round([...asked].sort((a, b) => a - b)[Math.ceil(asked.length * share) - 1]!);
}

/** What the runbook says, in a word; the page of docs/operations.md stands behind it. */
function remedy(code: string): string {
  if (/^(NODE_|PROJECT_FULL|DOCUMENT_)/.test(code)) return t().fix_split;
  if (code === "EMBEDDING_LIMIT_REACHED") return t().fix_tomorrow;
  if (code === "EMBEDDING_REJECTED") return t().fix_text;
  if (/_(UNAVAILABLE|TIMEOUT)$/.test(code)) return t().fix_itself;
  return `${t().fix_operator}: docs/operations.md#nodes-that-gave-up`;
}

export const page: Page = { id: "health", order: 90, scopes: ["search", "manage"], title: () => titles().health, View: HealthPage };
