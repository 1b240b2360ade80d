/** Documents: the tables; of one, its outline, its strings in windows, editing, versions, uploads. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { announce } from "../announce";
import { get, type Id, post, request, type Schema } from "../api";
import { draftOf } from "../drafts";
import { useEffect } from "../hooks";
import { documentTexts as t } from "../i18n/documents";
import { ago, bytes, num } from "../i18n/language";
import { titles } from "../i18n/pages";
import { t as common } from "../i18n/common";
import { ensureLists, refreshLists, tableName, tables, toolName, tools } from "../lists";
import type { Page } from "../page";
import { Copy } from "../parts/copy";
import { Confirm } from "../parts/dialog";
import { editing as editorOf, Editor } from "../parts/editor";
import { Table } from "../parts/form";
import { JudgePlace } from "../parts/judgeplace";
import { Empty, Loading, ProblemBox, Shown, Stale } from "../parts/states";
import { Reason, Status } from "../parts/status";
import { TextPane } from "../parts/textpane";
import { type Child, Tree } from "../parts/tree";
import { DropZone, FileButton, UploadState } from "../parts/upload";
import { Versions } from "../parts/versions";
import { useResource } from "../resource";
import { go, href, numberOf, route, textOf } from "../router";
import { ancestors, isPointer, lastKey } from "../rules/pointer";
import { useSignal } from "../signals";
import { newContent, newTable, sending } from "../uploads";

type TableList = Schema<"TablesAnswer">;

function Documents(): VNode {
  const table = route.value.path[1];
  useEffect(() => void ensureLists().catch(() => (tools.value ??= [])), []);
  return table === undefined ? <Tables /> : <Document key={table} table={table} />;
}

function Tables(): VNode {
  const wanted = useSignal("");
  const list = useResource(`tables ${wanted.value} ${sending.value?.state}`, (signal) =>
    get<TableList>(`/api/v1/tables?limit=50${wanted.value ? `&q=${encodeURIComponent(wanted.value)}` : ""}`, { signal }),
  );
  const made = async (file: File): Promise<void> => {
    await newTable(file);
    await refreshLists();
  };
  return (
    <div class="stack wide">
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
    <>
      <Table heads={[t().table, t().status, t().tools, t().revision, t().size, t().changed]} right={[2, 3, 4]}>
        {answer.tables.map((table) => (
          <tr key={String(table.id)}>
            <td><a href={href(`/documents/${table.id}`)}><bdi>{table.name ?? table.id}</bdi></a>{table.description ? <div class="small dim" dir="auto">{table.description}</div> : null}</td>
            <td><Status value={table.status} /></td>
            <td class="num right">{num(table.tools_count)}</td>
            <td class="num right">{num(table.revision)}</td>
            <td class="num right">{bytes(table.stored_bytes)}</td>
            <td class="dim">{table.updated_at ? ago(table.updated_at) : "–"}</td>
          </tr>
        ))}
      </Table>
      {answer.cursor === null ? null : <p class="small dim">{common().cut(answer.tables.length)}</p>}
    </>
  );
}

function Document({ table }: { table: Id }): VNode {
  /** Of the table as the outline shows it, and as its texts have been read since. */
  const seen = useSignal<number | null>(null);
  const read = useSignal(0);
  const versionsOpen = useSignal(false);
  const gone = useSignal(false);
  /** A file that would take the place of the document, until that is confirmed. */
  const offered = useSignal<File | null>(null);
  const stored = tables.value?.find((one) => String(one.id) === String(table))?.stored_bytes;
  const open = useSignal<ReadonlySet<string>>(new Set());
  const generation = useSignal(0);
  const found = useSignal<{ readonly of: string; readonly child: Child | null } | null>(null);
  const known = (tools.value ?? []).filter((tool) => String(tool.table_id) === String(table));
  const tool = textOf("tool") || String(known[0]?.id ?? "");
  const pointer = textOf("p");
  const select = (next: string): void => go(`/documents/${table}`, { p: next, tool: textOf("tool") });
  const again = (): void => void (generation.value += 1);
  const place = `${pointer} ${generation.value}`;
  const live = seen.value;
  const child = found.value?.of === place ? found.value.child : undefined;
  if (gone.value) return <><h1 tabIndex={-1}>{tableName(table)}</h1><Empty text={t().gone}><a class="button" href={href("/documents")}>{titles().documents}</a></Empty></>;
  return (
    <div class="stack">
      <div class="row">
        <h1 tabIndex={-1}><bdi>{tableName(table)}</bdi></h1>
        {live === null ? null : <span class="dim small num">{t().revision} {num(live)}</span>}
        <span class="grow" />
        {live === null ? null : <FileButton label={t().uploadNew} onFile={(file) => (offered.value = file)} />}
        <button onClick={() => (versionsOpen.value = true)}>{t().versions}</button>
        <Delete table={table} />
      </div>
      <UploadState />
      {live !== null && read.value > live ? <Stale text={common().changedBelow(live, read.value)} reload={again} /> : null}
      {tools.value === null && !tool ? <Loading /> : (
        <div class="split narrow">
          <section class="panel sticky" aria-label={t().outline}>
            <Tree key={generation.value} table={table} selected={pointer} tool={tool} onSelect={select} onGone={() => (gone.value = true)} revision={seen} open={open}
              onFound={(child) => { if (found.value?.of !== place) found.value = { of: place, child }; }} />
          </section>
          <section class="panel" aria-label={t().value}>
            <Crumbs table={table} pointer={pointer} />
            <Value key={place} table={table} pointer={pointer} tool={tool || null} child={child} onSaved={again} onRead={(revision) => (read.value = revision)} />
          </section>
        </div>
      )}
      {live === null ? null : <DropZone label={t().dropOver(tableName(table))} onFile={(file) => (offered.value = file)} />}
      {offered.value && live !== null ? (
        <Confirm title={t().uploadNew} act={t().replaceAll} onClose={() => (offered.value = null)}
          text={t().uploadOver(offered.value.name, bytes(offered.value.size), tableName(table), live, stored === undefined ? "" : bytes(stored))}
          onAct={() => void newContent(table, offered.value!, live).then(again)} />
      ) : null}
      {versionsOpen.value && live !== null ? (
        <Versions table={table} revision={live} onClose={() => (versionsOpen.value = false)}
          onRestored={(revision) => { versionsOpen.value = false; sending.value = null; announce(t().restored(revision)); again(); }} />
      ) : null}
    </div>
  );
}

/** Asks for the table's name, and says which Search Tools go with it, as they are now. */
function Delete({ table }: { table: Id }): VNode {
  const asking = useSignal(false);
  const acting = useActing();
  const of = (tools.value ?? []).filter((tool) => String(tool.table_id) === String(table)).map(toolName);
  const ask = (): void => void acting.run(refreshLists).then((read) => (asking.value = read !== null));
  const remove = (): void => void acting.run(async () => {
    await request("DELETE", `/api/v1/tables/${table}`);
    go("/documents");
    await refreshLists();
  }, t().deleted);
  return (
    <>
      <button class="danger" onClick={ask}>{common().delete}…</button>
      <ProblemBox problem={acting.problem.value} />
      {asking.value ? <Confirm title={t().delete} text={t().deleteText(of.join(", "))} act={common().delete} name={tableName(table)} onClose={() => (asking.value = false)} onAct={remove} /> : null}
    </>
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

interface ValueProps {
  readonly table: Id;
  readonly pointer: string;
  readonly tool: Id | null;
  readonly onSaved: () => void;
  readonly onRead: (revision: number) => void;
}

/** What is at a pointer, as the tree knows it; undefined while it reads. What it does not show is asked for. */
function Value({ child, ...props }: ValueProps & { child: Child | null | undefined }): VNode {
  const { table, pointer } = props;
  const outline = useResource(child === null && isPointer(pointer) ? `${table} ${pointer}` : null, (signal) => {
    const body = { json_pointer: pointer, limit: 1 };
    return post<Schema<"OutlineAnswer">>(`/api/v1/tables/${table}/outline`, body, { signal });
  });
  if (child === undefined) return <Loading lines={6} />;
  if (child) return <Found {...props} tool={child.string && props.tool} at={child} />;
  return <Shown of={outline} lines={6}>{(at) => <Found {...props} tool={at.index && props.tool} at={at} />}</Shown>;
}

/** Focus comes back to the button of an editor that was closed, once that is there again. */
let back = false;
const backHere = (button: HTMLElement | null): void => {
  if (!back || !button) return;
  button.focus();
  back = false;
};

/** A string as text in windows, everything else as the JSON that it is. */
function Found({ table, pointer, tool, onSaved, onRead, at }: ValueProps & { at: Pick<Child, "type" | "length"> & Partial<Pick<Child, "string">> }): VNode {
  const editing = useSignal(draftOf(editorOf(table, pointer)) !== null);
  const [start, end] = [numberOf("a", -1), numberOf("b", -1)];
  const place = start >= 0 && end >= start ? { start, end } : null;
  const isText = at.type === "string";
  const small = (at.length ?? 0) <= MOST_EDITED;
  const edit = small ? <button ref={backHere} class="small" onClick={() => (editing.value = true)}>{t().edit}</button> : <span class="small dim">{t().tooLong}</span>;
  if (editing.value) return <Editor table={table} pointer={pointer} isText={isText} onClose={() => { editing.value = false; back = true; }} onSaved={onSaved} />;
  return isText ? (
    <>
      {at.string?.last_error ? <p class="bar warn"><span><Status value={at.string.state} /> <Reason error={at.string.last_error} /></span></p> : null}
      <TextPane table={table} pointer={pointer} tool={tool} place={place} matches={[]} hits={[]} onRead={onRead}
        actions={(chosen, text) => (
          <>
            {edit}
            <button class="small" onClick={() => { const range = chosen(); go("/replace", { find: range ? text(range).slice(0, 1000) : "", table: String(table) }); }}>{t().replaceFrom}</button>
            <JudgePlace pointer={pointer} chosen={chosen} text={text} />
          </>
        )} />
    </>
  ) : (
    <div class="stack">
      <p class="dim">{at.type === "object" ? t().members(at.length ?? 0) : at.type === "array" ? t().elements(at.length ?? 0) : at.type}</p>
      <div class="row">{edit}</div>
    </div>
  );
}

export const page: Page = { id: "documents", order: 40, scopes: ["manage"], uploads: true, title: () => titles().documents, View: Documents };
