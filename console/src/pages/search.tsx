/** The workbench: ask a tool or the project, see hits, why, and their places in the documents. */
import type { VNode } from "preact";
import { newActing } from "../acting";
import { asCurl, type Id, post, Problem, type Schema } from "../api";
import { intoView, useEffect, useRef } from "../hooks";
import { codeText, t as common } from "../i18n/common";
import { num } from "../i18n/language";
import { titles } from "../i18n/pages";
import { searchTexts as t, strategies } from "../i18n/search";
import { statusTexts } from "../i18n/status";
import { textTexts } from "../i18n/text";
import { lastQuestion } from "../judgedsets";
import { ensureLists, tableName, toolName, tools } from "../lists";
import type { Page } from "../page";
import { Copy, copyText } from "../parts/copy";
import { HitCard } from "../parts/hit";
import { Passages } from "../parts/passages";
import { ProjectIndexOff } from "../parts/projectindex";
import { Degraded, Empty, Loading, ProblemBox } from "../parts/states";
import { TextPane } from "../parts/textpane";
import { go, href, numberOf, textOf } from "../router";
import { type Explained, type Hit, hitsOf } from "../rules/hits";
import { may, session } from "../session";
import { useShortcut } from "../shortcuts";
import { batch, computed, signal } from "../signals";

type Tab = "hits" | "retrieve";
type ProjectPage = Schema<"ProjectSearchAnswer">;
type Retrieved = Schema<"RetrieveAnswer">;
interface Asked {
  readonly path: string;
  readonly body: Record<string, unknown>;
}

const PROJECT = "project";
const answer = signal<Explained | null>(null);
const later = signal<readonly ProjectPage[]>([]);
const passages = signal<Retrieved | null>(null);
const { problem, run } = newActing();
const asking = signal(false);
const least = signal(0);
const picked = signal(0);
const opened = signal<ReadonlySet<number>>(new Set());
let running: AbortController | null = null;
/** What the hits that are shown were asked for. */
let answered = "";

const target = computed(() => textOf("tool") || (tools.value?.length ? String(tools.value[0]!.id) : PROJECT));
const isProject = computed(() => target.value === PROJECT);
const tab = computed<Tab>(() => (textOf("tab") === "retrieve" ? "retrieve" : "hits"));
const all = computed<Hit[]>(() => {
  const first = answer.value;
  if (!first) return [];
  const results = [...first.results, ...later.value.flatMap((page) => page.results)];
  return hitsOf(results, first.explain.candidates);
});
const hits = computed(() => all.value.filter((hit) => hit.relevance >= least.value));
const current = computed<Hit | null>(() => hits.value[picked.value] ?? null);

/** What the address asks for: the same request for the page, and for curl. */
function asked(): Asked {
  const query = textOf("q");
  const strategy = textOf("strategy");
  const base = isProject.value ? `/api/v1/projects/${session.value?.projectId}` : `/api/v1/tools/${target.value}`;
  if (tab.value === "retrieve") return { path: `${base}/retrieve`, body: { query, maxTokens: numberOf("max", 1500) } };
  if (isProject.value) {
    const low = textOf("low") === "1" ? { include_low_score: true } : {};
    return { path: `${base}/search/explain`, body: { query, ...(strategy ? { strategy } : {}), ...low } };
  }
  return { path: `${base}/search/explain`, body: { query, top_k: numberOf("top", 10), ...(strategy ? { config: { strategy } } : {}) } };
}

async function ask(): Promise<void> {
  if (!textOf("q").trim()) return;
  lastQuestion.value = textOf("q");
  running?.abort();
  const mine = new AbortController();
  running = mine;
  asking.value = true;
  const { path, body } = asked();
  const wanted = tab.value;
  // What another question, or another tool, was answered is no answer of this one.
  if (answered !== path + textOf("q")) answer.value = passages.value = null;
  answered = path + textOf("q");
  problem.value = null;
  try {
    const found = await post<Explained & Retrieved>(path, body, { signal: mine.signal });
    if (running !== mine) return;
    batch(() => {
      problem.value = null;
      if (wanted === "retrieve") passages.value = found;
      else answer.value = found;
      later.value = [];
      picked.value = 0;
      opened.value = new Set();
    });
  } catch (error) {
    if (running !== mine) return;
    if (!(error instanceof Problem)) throw error;
    batch(() => { answer.value = passages.value = null; problem.value = error; });
  } finally {
    if (running === mine) stop();
  }
}

function stop(): void {
  running?.abort();
  running = null;
  asking.value = false;
}

async function more(): Promise<void> {
  const last = later.value.at(-1) ?? (answer.value as ProjectPage | null);
  if (!last?.cursor) return;
  const { body } = asked();
  await run(async () => {
    const page = await post<ProjectPage>(`/api/v1/projects/${session.value?.projectId}/search`, { ...body, cursor: last.cursor });
    later.value = [...later.value, page];
  });
}

/** The address with some of its parts changed. */
function change(parts: Record<string, string | number | null>, replace = false): void {
  const now = Object.fromEntries(["tool", "q", "top", "strategy", "low", "tab", "max"].map((name) => [name, textOf(name)]));
  go("/search", { ...now, ...parts }, replace);
}

function Search(): VNode {
  const field = useRef<HTMLInputElement>(null);
  const listed = useRef<HTMLOListElement>(null);
  const key = [target.value, textOf("q"), textOf("top"), textOf("strategy"), textOf("low"), textOf("tab"), textOf("max")].join("\n");
  useEffect(() => {
    ensureLists().catch((error: unknown) => {
      if (error instanceof Problem) problem.value = error;
    });
    return stop;
  }, []);
  useEffect(() => {
    if (tools.value === null && !textOf("tool")) return;
    if (textOf("q")) void ask();
    else batch(() => { answer.value = null; passages.value = null; problem.value = null; });
  }, [key, tools.value === null]);
  const step = (by: number): void => {
    picked.value = Math.max(0, Math.min(hits.value.length - 1, picked.value + by));
    intoView(listed.current?.querySelector(`[data-rank="${picked.value + 1}"]`));
  };
  useShortcut("/", () => t().field, () => field.current?.focus());
  useShortcut("j", () => t().next, () => step(1));
  useShortcut("k", () => t().previous, () => step(-1));
  useShortcut("e", () => t().why, () => toggleWhy(picked.value));
  useShortcut("o", () => t().open, () => current.value && go(...placeOf(current.value)));
  useShortcut("Ctrl Shift F", () => t().projectSearch, () => { change({ tool: PROJECT }); field.current?.focus(); });
  const send = (event: Event): void => {
    event.preventDefault();
    const query = field.current?.value ?? "";
    if (query === textOf("q")) void ask();
    else change({ q: query });
  };
  return (
    <>
      <h1 class="sr" tabIndex={-1}>{titles().search}</h1>
      <form class="ask" onSubmit={send} role="search">
        <div class="line">
          <input ref={field} class="big" name="question" key={textOf("q")} defaultValue={textOf("q")} aria-label={t().question} placeholder={t().placeholder} maxLength={2000} dir="auto" />
          {asking.value ? <button key="stop" type="button" onClick={stop}>{common().stop}</button> : <button key="ask" class="primary">{t().ask} <kbd aria-hidden="true">⏎</kbd></button>}
        </div>
        <Options />
      </form>
      {problem.value?.fields.code === "PROJECT_INDEX_OFF" ? <ProjectIndexOff onReady={() => void ask()} /> : <ProblemBox problem={problem.value} retry={() => void ask()} />}
      {tab.value === "retrieve" ? (
        passages.value && textOf("q") ? <Passages answer={passages.value} /> : asking.value ? <Loading stop={stop} /> : <Empty text={t().empty} />
      ) : (
        <Hits listed={listed} />
      )}
    </>
  );
}

function Options(): VNode {
  const known = tools.value ?? [];
  return (
    <div class="row">
      <label class="row"><span class="dim small">{t().target}</span>
        <select value={target.value} onChange={(event) => change({ tool: event.currentTarget.value })}>
          {known.map((tool) => <option key={String(tool.id)} value={String(tool.id)}>{toolName(tool)}</option>)}
          <option value={PROJECT}>{t().project}</option>
        </select>
      </label>
      <span class="tabs" role="group" aria-label={titles().search}>
        {(["hits", "retrieve"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={tab.value === name} onClick={() => change({ tab: name === "hits" ? null : name })}>{name === "hits" ? t().hits : t().retrieve}</button>
        ))}
      </span>
      {tab.value === "hits" ? <HitOptions /> : (
        <label class="row"><span class="dim small">{t().max}</span>
          <select value={String(numberOf("max", 1500))} onChange={(event) => change({ max: event.currentTarget.value })}>
            {[500, 1500, 3000, 8000].map((count) => <option key={count} value={String(count)}>{num(count)}</option>)}
          </select>
        </label>
      )}
      <span class="grow" />
      {textOf("q") ? <button type="button" class="quiet" onClick={() => void copyText(asCurl("POST", asked().path, asked().body))}>{t().curl}</button> : null}
    </div>
  );
}

function HitOptions(): VNode {
  return (
    <>
      {isProject.value || may("manage") ? (
        <label class="row"><span class="dim small">{t().strategy}</span>
          <select value={textOf("strategy")} onChange={(event) => change({ strategy: event.currentTarget.value })}>
            {isProject.value ? null : <option value="">{t().asTool}</option>}
            {Object.entries(strategies()).map(([value, name]) => <option key={value} value={isProject.value && value === "hybrid" ? "" : value}>{name}</option>)}
          </select>
        </label>
      ) : null}
      {isProject.value ? (
        <label class="check"><input type="checkbox" checked={textOf("low") === "1"} onChange={(event) => change({ low: event.currentTarget.checked ? 1 : null })} />{t().low}</label>
      ) : (
        <label class="row"><span class="dim small">{t().top}</span>
          <select value={String(numberOf("top", 10))} onChange={(event) => change({ top: event.currentTarget.value })}>
            {[5, 10, 20].map((count) => <option key={count}>{count}</option>)}
          </select>
        </label>
      )}
      <label class="range"><span class="dim small">{t().threshold}</span>
        <input type="range" min="0" max="1" step="0.05" value={String(least.value)} onInput={(event) => { least.value = Number(event.currentTarget.value); picked.value = 0; }} />
        <span class="num small">{num(least.value, 2)}{all.value.length > hits.value.length ? ` · ${t().cutBy(all.value.length - hits.value.length)}` : ""}</span>
      </label>
    </>
  );
}

function toggleWhy(at: number): void {
  const next = new Set(opened.value);
  if (!next.delete(at)) next.add(at);
  opened.value = next;
}

const firstMatch = ({ matches: [first] }: Hit): Record<string, number> => (first ? { m: first.start, n: first.end } : {});
const placeOf = (hit: Hit): [string, Record<string, string | number>] => [
  `/documents/${hit.table}`,
  { p: hit.pointer, a: hit.start, b: hit.end, ...firstMatch(hit), ...(isProject.value ? {} : { tool: target.value }) },
];

function Hits({ listed }: { listed: { current: HTMLOListElement | null } }): VNode {
  const first = answer.value;
  const pane = useRef<HTMLElement>(null);
  const pick = (at: number): void => {
    picked.value = at;
    // On a telephone the document stands below all hits.
    if (matchMedia("(max-width: 900px)").matches) pane.current?.scrollIntoView();
  };
  if (problem.value && !first) return <></>;
  if (!first) return asking.value ? <Loading stop={stop} lines={6} /> : <Nothing />;
  const hit = current.value;
  const project = "hasMore" in first ? first : null;
  const last = later.value.at(-1) ?? project;
  return (
    <div class={asking.value ? "stack fading" : "stack"} aria-busy={asking.value}>
      <Degraded codes={first.retrieval.degraded} again={() => void ask()} />
      <Head first={first} />
      {all.value.length === 0 ? (
        <Empty text={codeText(first.hint ?? "no_match")} code={first.hint ?? "no_match"}>
          {first.hint === "low_scores_hidden" && project ? <button onClick={() => change({ low: 1 })}>{t().showHidden(project.counts.hidden)}</button> : null}
        </Empty>
      ) : (
        <div class="split">
          <div class="stack">
            <ol ref={listed} class="panel flush plain hits">
              {hits.value.map((one, at) => (
                <HitCard key={String(one.chunkId)} hit={one} rank={at + 1} picked={at === picked.value} whyOpen={opened.value.has(at)}
                  onPick={() => pick(at)} onWhy={() => toggleWhy(at)} />
              ))}
            </ol>
            {last?.hasMore ? <button onClick={() => void more()}>{t().more}</button> : null}
            <Behind first={first} />
          </div>
          <section ref={pane} class="panel sticky" aria-label={textTexts().searching}>{hit ? <Place hit={hit} /> : <p class="dim">{t().pick}</p>}</section>
        </div>
      )}
    </div>
  );
}

function Head({ first }: { first: Explained }): VNode {
  const ms = first.explain.milliseconds["total"] ?? 0;
  const project = "hasMore" in first ? first : null;
  return (
    <p class="row small dim num" role="status">
      {project ? t().foundPage(all.value.length, project.counts.ranked, ms) : t().found(all.value.length, first.explain.counts["candidates"] ?? 0, ms)}
      {project?.counts.hidden ? <button class="quiet small" onClick={() => change({ low: 1 })}>{t().hidden(project.counts.hidden)}</button> : null}
      {project?.counts.gone ? <span>{t().goneCount(project.counts.gone)}</span> : null}
      {project?.truncated ? <span>{t().truncated}</span> : null}
      {first.index.not_searched ? <span>{statusTexts().notSearched(first.index.not_searched)}</span> : null}
      <span class="badge">{first.retrieval.mode_used} · {first.explain.fusion.kind}</span>
    </p>
  );
}

function Nothing(): VNode {
  if (tools.value?.length === 0) {
    return <Empty text={t().noTools}>{may("manage") ? <a class="button" href={href("/documents")}>{titles().documents}</a> : null}</Empty>;
  }
  return <Empty text={t().empty}><span><kbd>/</kbd> <kbd>j</kbd> <kbd>k</kbd> <kbd>e</kbd> <kbd>o</kbd></span></Empty>;
}

/** Whose chunks a document's string shows: the tool that was asked, or one of its table. */
function toolFor(hit: Hit): Id | null {
  if (!isProject.value) return target.value;
  const found = tools.value?.find((tool) => String(tool.table_id) === String(hit.table) && hit.pointer.startsWith(tool.json_pointer));
  return found?.id ?? null;
}

function Place({ hit }: { hit: Hit }): VNode {
  const beside = hits.value.filter((other) => other.pointer === hit.pointer && String(other.table) === String(hit.table));
  return (
    <>
      <header class="stack placehead">
        <div class="row">
          <h2 class="grow clip"><bdi>{hit.title || tableName(hit.table)}</bdi></h2>
          {may("manage") ? <a class="button small" href={href(...placeOf(hit))}>{t().open} <kbd>o</kbd></a> : null}
        </div>
        <p class="small dim row"><code><bdi>{hit.pointer || "/"}</bdi></code><span class="num">{textTexts().chunkOf(hit.index, hit.total)} · {textTexts().range(hit.start, hit.end)}</span></p>
      </header>
      <TextPane table={hit.table} pointer={hit.pointer} tool={toolFor(hit)} place={hit} matches={beside.flatMap((one) => one.matches)} hits={beside} />
    </>
  );
}

function Behind({ first }: { first: Explained }): VNode {
  const rest = first.explain.candidates.filter((candidate) => !candidate.shown);
  const { weights, weights_from: from } = first.explain.fusion;
  return (
    <div class="small">
      <p class="dim">{t().byScore}</p>
      <details>
        <summary>{t().candidates(rest.length)}</summary>
        <ol class="plain">
          {rest.slice(0, 100).map((candidate) => (
            <li key={String(candidate.chunk_id)} class="row num"><span class="rank dim">{candidate.rank}</span><code class="grow clip"><bdi>{candidate.json_pointer}</bdi></code><span class="dim">{textTexts().chunk(num(candidate.chunk_index + 1))}</span><span>{num(candidate.relevance, 2)}</span></li>
          ))}
        </ol>
      </details>
      <details>
        <summary>{t().time}</summary>
        <dl class="facts num">
          {Object.entries(first.explain.milliseconds).map(([name, ms]) => <><dt class="dim">{name}</dt><dd>{num(ms, 1)} ms</dd></>)}
          <dt class="dim">{t().weights}</dt><dd>{Object.entries(weights).map(([name, weight]) => `${name} ${num(weight, 2)}`).join(" · ")} ({from})</dd>
        </dl>
      </details>
      <details>
        <summary>{t().json}</summary>
        <Copy text={() => JSON.stringify(first, null, 2)} />
        <pre tabIndex={0}>{JSON.stringify(first, null, 1).slice(0, 20_000)}</pre>
      </details>
    </div>
  );
}

export const page: Page = { id: "search", order: 20, scopes: ["search"], title: () => titles().search, View: Search };
