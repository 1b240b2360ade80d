/** Documents: the tables; of one, its outline, its strings in windows, editing, versions, uploads. */
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { announce } from "../announce";
import { get, type Id, post, type Schema } from "../api";
import { documentTexts as t } from "../i18n/documents";
import { ago, bytes, num } from "../i18n/language";
import { titles } from "../i18n/pages";
import { t as common } from "../i18n/common";
import { ensureLists, refreshLists, tools } from "../lists";
import type { Page } from "../page";
import { Copy } from "../parts/copy";
import { Editor } from "../parts/editor";
import { Empty, Shown, Stale } from "../parts/states";
import { TextPane } from "../parts/textpane";
import { Tree } from "../parts/tree";
import { FileButton, UploadState } from "../parts/upload";
import { Versions } from "../parts/versions";
import { useResource } from "../resource";
import { go, href, numberOf, route, textOf } from "../router";
import { ancestors, isPointer, lastKey } from "../rules/pointer";
import { newContent, newTable, sending } from "../uploads";

type TableList = Schema<"TablesAnswer">;

function Documents(): VNode {
  const table = route.value.path[1];
  useEffect(() => void ensureLists().catch(() => undefined), []);
  return table === undefined ? <Tables /> : <Document key={table} table={table} />;
}

function Tables(): VNode {
  const wanted = useSignal("");
  const list = useResource(`tables ${wanted.value} ${sending.value?.state}`, (signal) =>
    get<TableList>(`/api/v1/tables?limit=50${wanted.value ? `&q=${encodeURIComponent(wanted.value)}` : ""}`, { signal }),
  );
  const dropped = (event: DragEvent): void => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) void made(file);
  };
  const made = async (file: File): Promise<void> => {
    await newTable(file, file.name.replace(/\.(json|jsonl|ndjson)$/i, ""));
    await refreshLists();
  };
  return (
    <div class="stack wide" onDragOver={(event) => event.preventDefault()} onDrop={dropped}>
      <div class="row">
        <h1 class="grow" tabIndex={-1}>{titles().documents}</h1>
        <input type="search" aria-label={t().filter} placeholder={t().filter} onInput={(event) => (wanted.value = event.currentTarget.value.trim())} />
        <FileButton label={t().upload} onFile={(file) => void made(file)} />
      </div>
      <UploadState />
      <Shown of={list}>
        {(answer) =>
          answer.tables.length === 0 ? <Empty text={wanted.value ? t().noneFound : t().none} /> : <TableRows answer={answer} />
        }
      </Shown>
    </div>
  );
}

function TableRows({ answer }: { answer: TableList }): VNode {
  return (
    <div class="panel flush table">
      <table>
        <thead><tr><th>{t().table}</th><th>{t().status}</th><th class="right">{t().tools}</th><th class="right">{t().revision}</th><th class="right">{t().size}</th><th>{t().changed}</th></tr></thead>
        <tbody>
          {answer.tables.map((table) => (
            <tr key={String(table.id)}>
              <td><a href={href(`/documents/${table.id}`)}><bdi>{table.name ?? table.id}</bdi></a>{table.description ? <div class="small dim" dir="auto">{table.description}</div> : null}</td>
              <td>{table.status ? <span class={`badge ${table.status === "ready" ? "good" : "warn"}`}>{table.status}</span> : <span class="dim">–</span>}</td>
              <td class="num right">{num(table.tools_count)}</td>
              <td class="num right">{num(table.revision)}</td>
              <td class="num right">{bytes(table.stored_bytes)}</td>
              <td class="dim">{table.updated_at ? ago(table.updated_at) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer.cursor === null ? null : <p class="small dim">{common().cut(answer.tables.length)}</p>}
    </div>
  );
}

function Document({ table }: { table: Id }): VNode {
  const seen = useSignal<number | null>(null);
  const versionsOpen = useSignal(false);
  const generation = useSignal(0);
  const known = (tools.value ?? []).filter((tool) => String(tool.table_id) === String(table));
  const tool = textOf("tool") || String(known[0]?.id ?? "");
  const about = useResource(`table ${table} ${generation.value}`, (signal) => get<Schema<"TableAnswer">>(`/api/v1/tables/${table}`, { signal }));
  const pointer = textOf("p");
  const select = (next: string): void => go(`/documents/${table}`, { p: next, tool: textOf("tool") });
  const again = (): void => void (generation.value += 1);
  const live = about.data.value?.revision ?? null;
  return (
    <div class="stack">
      <Shown of={about} lines={1}>
        {(row) => (
          <div class="row">
            <h1 tabIndex={-1}><bdi>{row.name ?? table}</bdi></h1>
            <span class="dim small num">{t().revision} {num(row.revision)} · {row.updated_at ? ago(row.updated_at) : ""}</span>
            <span class="grow" />
            <FileButton label={t().uploadNew} onFile={(file) => void newContent(table, file, row.revision).then(again)} />
            <button onClick={() => (versionsOpen.value = true)}>{t().versions}</button>
          </div>
        )}
      </Shown>
      <UploadState />
      {live !== null && seen.value !== null && live > seen.value ? <Stale text={common().changedBelow(seen.value, live)} reload={again} /> : null}
      <div class="split narrow">
        <section class="panel sticky" aria-label={t().outline}>
          <Tree key={generation.value} table={table} selected={pointer} tool={tool} onSelect={select} revision={seen} />
        </section>
        <section class="panel" aria-label={t().value}>
          <Crumbs table={table} pointer={pointer} />
          <Value key={`${pointer} ${generation.value}`} table={table} pointer={pointer} tool={tool || null} onSaved={again} />
        </section>
      </div>
      {versionsOpen.value && live !== null ? (
        <Versions table={table} revision={live} onClose={() => (versionsOpen.value = false)}
          onRestored={(revision) => { versionsOpen.value = false; announce(t().restored(revision)); again(); }} />
      ) : null}
    </div>
  );
}

function Crumbs({ table, pointer }: { table: Id; pointer: string }): VNode {
  return (
    <nav class="crumbs row small" aria-label={t().outline}>
      {ancestors(pointer).map((place, at) => (
        <span key={place} class="row"><a href={href(`/documents/${table}`, { p: place })}>{at ? <bdi>{lastKey(place) || "“”"}</bdi> : t().root}</a>{place === pointer ? null : <span class="dim" aria-hidden="true">/</span>}</span>
      ))}
      <Copy text={pointer} label={t().copyPointer} quiet />
    </nav>
  );
}

const MOST_EDITED = 400_000;

/** What is at a pointer: a string as text in windows, everything else as the JSON that it is. */
function Value({ table, pointer, tool, onSaved }: { table: Id; pointer: string; tool: Id | null; onSaved: () => void }): VNode {
  const editing = useSignal(false);
  const outline = useResource(isPointer(pointer) ? `${table} ${pointer}` : null, (signal) => {
    const body = { json_pointer: pointer, limit: 1 };
    return post<Schema<"OutlineAnswer">>(`/api/v1/tables/${table}/outline`, body, { signal });
  });
  const [start, end] = [numberOf("a", -1), numberOf("b", -1)];
  const place = start >= 0 && end >= start ? { start, end } : null;
  return (
    <Shown of={outline} lines={6}>
      {(at) => {
        const isText = at.type === "string";
        const small = (at.length ?? 0) <= MOST_EDITED;
        const edit = small ? <button class="small" onClick={() => (editing.value = true)}>{t().edit}</button> : <span class="small dim">{t().tooLong}</span>;
        if (editing.value) return <Editor table={table} pointer={pointer} isText={isText} onClose={() => (editing.value = false)} onSaved={onSaved} />;
        return isText ? (
          <TextPane table={table} pointer={pointer} tool={at.index ? tool : null} place={place} matches={[]} hits={[]}
            actions={(chosen, text) => (
              <>
                {edit}
                <button class="small" onClick={() => { const range = chosen(); go("/replace", { find: range ? text(range).slice(0, 1000) : "", table: String(table) }); }}>{t().replaceFrom}</button>
              </>
            )} />
        ) : (
          <div class="stack">
            <p class="dim">{at.type === "object" ? t().members(at.length ?? 0) : at.type === "array" ? t().elements(at.length ?? 0) : at.type}</p>
            {at.type === "object" || at.type === "array" ? <p class="small dim">{t().children}</p> : null}
            <div class="row">{edit}</div>
          </div>
        );
      }}
    </Shown>
  );
}

export const page: Page = { id: "documents", order: 40, scopes: ["manage"], title: () => titles().documents, View: Documents };
