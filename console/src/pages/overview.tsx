/** What is there: tables, their Search Tools, how each index is; or the three steps to the first answer. */
import type { VNode } from "preact";
import { type Id, type Schema } from "../api";
import { useEffect } from "../hooks";
import { t as common } from "../i18n/common";
import { documentTexts } from "../i18n/documents";
import { indexTexts } from "../i18n/indexes";
import { ago, bytes, num } from "../i18n/language";
import { makeToolTexts } from "../i18n/maketool";
import { overviewTexts as t } from "../i18n/overview";
import { titles } from "../i18n/pages";
import { searchTexts } from "../i18n/search";
import { type Lists, refreshLists, type ToolSummary } from "../lists";
import { usePace } from "../pacing";
import type { Page } from "../page";
import { MakeTool } from "../parts/maketool";
import { ProjectIndexRow } from "../parts/projectindex";
import { Empty, Shown } from "../parts/states";
import { Counts, moves, Progress, standing, Status } from "../parts/status";
import { FileButton, UploadState } from "../parts/upload";
import { type ProjectIndex, projectIndex, switched } from "../projectindex";
import { useResource } from "../resource";
import { type JsonError, jsonError } from "../rules/json";
import { go, href, textOf } from "../router";
import { may } from "../session";
import { signal, useSignal } from "../signals";
import { newTable, sending } from "../uploads";

type Table = Schema<"ListedTableAnswer">;
interface Everything extends Lists {
  /** Null while it is off. */
  readonly project: ProjectIndex | null;
}
/** Stays while other pages are looked at. */
const kept = signal("");
/** From the first step until the first question. */
const beginning = signal(false);

async function everything(signal: AbortSignal): Promise<Everything> {
  const [lists, project] = await Promise.all([refreshLists(signal), projectIndex(signal)]);
  return { ...lists, project };
}

function Overview(): VNode {
  const found = useResource(`overview ${sending.value?.state}`, everything);
  const making = useSignal<Id | "any" | null>(null);
  const filter = textOf("f");
  useEffect(() => {
    switched(true);
    if (filter) kept.value = filter;
    else if (kept.value) go("/overview", { f: kept.value }, true);
  }, []);
  const data = found.data.value;
  usePace(found.reload, moves(data?.project?.status) || (data?.tools.some((tool) => moves(tool.status)) ?? false));
  const choose = (text: string): void => {
    kept.value = text;
    go("/overview", { f: text }, true);
  };
  return (
    <div class="stack wide">
      <div class="row">
        <h1 class="grow" tabIndex={-1}>{titles().overview}</h1>
        <input type="search" value={filter} aria-label={t().filter} placeholder={t().filter} onInput={(event) => choose(event.currentTarget.value)} />
        {may("manage") ? <><button onClick={() => (making.value = "any")} disabled={!data?.tables.length}>{makeToolTexts().title}…</button><FileButton label={t().file} onFile={(file) => void newTable(file)} /></> : null}
      </div>
      <UploadState />
      <Shown of={found} lines={6}>
        {(data) => (
          <div class="stack wide">
            <Steps data={data} onTool={(table) => (making.value = table)} />
            <Tables data={data} filter={filter} onTool={(table) => (making.value = table)} />
            <ProjectIndexRow index={data.project} reload={found.reload} />
          </div>
        )}
      </Shown>
      {making.value !== null ? (
        <MakeTool table={making.value === "any" ? undefined : making.value} onClose={() => { making.value = null; found.reload(); }} onMade={() => { making.value = null; found.reload(); }} />
      ) : null}
    </div>
  );
}

/** Gone as soon as there is a tool, and a question was asked. */
function Steps({ data, onTool }: { data: Everything; onTool: (table: Id) => void }): VNode | null {
  const [tool] = data.tools.filter((one) => standing(one) !== "nothing");
  const step = !data.tables.length ? 1 : !tool ? 2 : 3;
  useEffect(() => {
    if (step < 3) beginning.value = true;
  }, [step]);
  if (!may("manage") || (step === 3 && !beginning.value)) return null;
  return (
    <ol class="plain steps panel flush">
      <li aria-current={step === 1 ? "step" : undefined}>
        <h2>1 · {t().step1} {step > 1 ? <span class="good">✓</span> : null}</h2>
        <p class="dim">{t().step1Text}</p>
        {step === 1 ? <Paste /> : null}
      </li>
      <li aria-current={step === 2 ? "step" : undefined}>
        <h2>2 · {t().step2} {step > 2 ? <span class="good">✓</span> : null}</h2>
        <p class="dim">{t().step2Text}</p>
        {step === 2 ? <button class="primary" onClick={() => onTool(data.tables[0]!.id)}>{makeToolTexts().title}…</button> : null}
      </li>
      <li aria-current={step === 3 ? "step" : undefined}>
        <h2>3 · {t().step3}</h2>
        <p class="dim">{t().step3Text}</p>
        {step === 3 && tool ? <button class="primary" onClick={() => { beginning.value = false; go("/search", { tool: tool.id }); }}>{searchTexts().ask}</button> : null}
      </li>
    </ol>
  );
}

function Paste(): VNode {
  const wrong = useSignal<JsonError | null>(null);
  const send = (form: HTMLFormElement): void => {
    const field = (name: string): string => (form.elements.namedItem(name) as HTMLInputElement).value;
    wrong.value = jsonError(field("json"));
    if (wrong.value) return;
    // The text goes as it is: a number keeps all its digits.
    void newTable(new File([field("json")], `${field("name")}.json`));
  };
  return (
    <form class="stack" onSubmit={(event) => { event.preventDefault(); send(event.currentTarget); }}>
      <label class="stack">{t().tableName}<input name="name" required maxLength={200} defaultValue="library" /></label>
      <label class="stack">{t().paste}<textarea class="mono" name="json" rows={5} required dir="auto" placeholder={'{"articles": [{"title": "…", "content": "…"}]}'} /></label>
      {wrong.value ? <p class="bad-ink" role="alert">{common().jsonAt(wrong.value.line, wrong.value.column, wrong.value.text)}</p> : null}
      <div class="row"><button class="primary">{t().create}</button><span class="dim small">{t().orCli} <code>context-search tables import FILE</code></span></div>
    </form>
  );
}

function Tables({ data, filter, onTool }: { data: Everything; filter: string; onTool: (table: Id) => void }): VNode | null {
  const wanted = filter.toLowerCase();
  const has = (text: string | null): boolean => (text ?? "").toLowerCase().includes(wanted);
  const of = (table: Id): ToolSummary[] => data.tools.filter((tool) => String(tool.table_id) === String(table));
  const known = data.tables.length ? data.tables : [...new Set(data.tools.map((tool) => tool.table_id))].map((id) => ({ id, name: null }) as Table);
  const rows = known.map((table) => ({ table, tools: of(table.id).filter((tool) => has(table.name) || has(tool.name)) })).filter(({ table, tools }) => has(table.name) || tools.length);
  if (!known.length) return null;
  if (!rows.length) return <Empty text={t().noneFound} />;
  return (
    <div class="panel flush table">
      <table class="overview">
        <thead><tr><th>{t().name}</th><th>{documentTexts().status}</th><th class="right">{indexTexts().chunks}</th><th class="right">{documentTexts().size}</th><th class="right">{t().changed}</th></tr></thead>
        {rows.map(({ table, tools }) => (
          <tbody key={String(table.id)}>
            <tr>
              <th scope="rowgroup">{may("manage") ? <a href={href(`/documents/${table.id}`)}><bdi>{table.name ?? table.id}</bdi></a> : <bdi>{table.name ?? `table ${table.id}`}</bdi>}</th>
              <td>{tools.length === 0 ? may("manage") && !table.tools_count ? <button class="small" onClick={() => onTool(table.id)}>{makeToolTexts().title}…</button> : <span class="dim">{t().noTool}</span> : null}</td>
              <td />
              <td class="num right">{table.stored_bytes === undefined ? "" : bytes(table.stored_bytes)}</td>
              <td class="num right dim">{table.updated_at ? ago(table.updated_at) : ""}</td>
            </tr>
            {tools.map((tool) => <ToolRow key={String(tool.id)} tool={tool} />)}
          </tbody>
        ))}
      </table>
      {data.cut ? <p class="dim small">{common().cut(rows.length)}</p> : null}
    </div>
  );
}

function ToolRow({ tool }: { tool: ToolSummary }): VNode {
  const { indexed_chunks_count: chunks, nodes, indexed_at: at } = tool.search_index;
  return (
    <tr>
      <td class="tool"><a href={href("/search", { tool: tool.id })}><bdi>{tool.name}</bdi></a> <code class="dim"><bdi>{tool.json_pointer || "/"}</bdi></code></td>
      <td><a class="plainlink" href={href(`/indexes/${tool.id}`)}><Status value={standing(tool)} /></a> <Progress of={nodes} status={tool.status} /> {moves(tool.status) ? <span class="small num"><Counts of={nodes} /></span> : null}</td>
      <td class="num right">{num(chunks)}</td>
      <td />
      <td class="num right dim">{at ? ago(at) : ""}</td>
    </tr>
  );
}

export const page: Page = { id: "overview", order: 10, scopes: ["search", "manage"], uploads: true, title: () => titles().overview, View: Overview };
