/** Ctrl K: go to a page, a table, a tool or a pointer, or ask. */
import type { VNode } from "preact";
import { all, get, type Id } from "../api";
import { useEffect, useRef } from "../hooks";
import { t as common } from "../i18n/common";
import { paletteTexts as t } from "../i18n/palette";
import { searchTexts } from "../i18n/search";
import { cut, ensureLists, tableName, tables, type TableSummary, tools, type ToolSummary } from "../lists";
import type { Page } from "../page";
import { useResource } from "../resource";
import { go, href, type Query, route, textOf } from "../router";
import { may } from "../session";
import { isPointer } from "../rules/pointer";
import { useSignal } from "../signals";
import { Dialog } from "./dialog";

interface Choice {
  readonly name: string;
  readonly kind: string;
  readonly path: string;
  readonly query?: Query;
}

const toolChoice = (tool: ToolSummary): Choice => ({ name: tool.name, kind: t().tool, path: "/search", query: { tool: String(tool.id) } });

/** What the lists, which are cut at a thousand, do not have. */
interface Asked {
  readonly tables: readonly TableSummary[];
  readonly tools: readonly ToolSummary[];
}
const NONE: Asked = { tables: [], tools: [] };

/** Tables by a part of their name, and their tools. */
async function askFor(wanted: string, signal: AbortSignal): Promise<Asked> {
  // A request looks at 2,000 names, so its page may be short though there are more.
  const { items: tables } = await all<TableSummary>(`/api/v1/tables?limit=12&q=${encodeURIComponent(wanted)}`, "tables", { signal, most: 12 });
  const pages = await Promise.all(tables.slice(0, 4).map((table) => get<{ tools: ToolSummary[] }>(`/api/v1/tools?limit=12&table_id=${table.id}`, { signal })));
  return { tables, tools: pages.flatMap((page) => page.tools) };
}

const unique = (all: readonly Choice[]): Choice[] => [...new Map(all.map((choice) => [href(choice.path, choice.query), choice])).values()];

/** Whose places are meant: the open table's, or that of the tool that is asked, or the only one's. */
function tableHere(): Id | undefined {
  const [page, id] = route.value.path;
  if (!may("manage")) return undefined;
  if (page === "documents" && id) return id;
  return (tools.value?.find((tool) => String(tool.id) === textOf("tool")) ?? tools.value?.[0])?.table_id ?? tables.value?.[0]?.id;
}

function choices(typed: string, pages: readonly Page[], asked: Asked): Choice[] {
  const wanted = typed.trim().toLowerCase();
  const known: Choice[] = [
    ...pages.map((page) => ({ name: page.title(), kind: t().page, path: `/${page.id}` })),
    ...[...(tables.value ?? []), ...asked.tables].map((table) => ({ name: table.name ?? String(table.id), kind: t().table, path: `/documents/${table.id}` })),
    ...(tools.value ?? []).map(toolChoice),
  ];
  const named = known.filter((choice) => choice.name.toLowerCase().includes(wanted));
  const found = unique([...named.slice(0, 12), ...asked.tools.map(toolChoice)]);
  const table = tableHere();
  if (table && wanted.startsWith("/") && isPointer(typed.trim())) {
    found.unshift({ name: typed.trim(), kind: `${t().pointer} ${tableName(table)}`, path: `/documents/${table}`, query: { p: typed.trim() } });
  }
  if (wanted) found.push({ name: typed.trim(), kind: searchTexts().ask, path: "/search", query: { q: typed.trim() } });
  return found;
}

export function Palette({ pages, onClose }: { pages: readonly Page[]; onClose: () => void }): VNode {
  const typed = useSignal("");
  const at = useSignal(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    ensureLists().catch(() => undefined); // Pages can be reached without the lists.
  }, []);
  const wanted = typed.value.trim();
  const more = useResource((tables.value === null || cut.value) && may("manage") && wanted && !wanted.startsWith("/") ? wanted : null, (signal) => askFor(wanted, signal));
  const asked = more.data.value ?? NONE;
  const found = choices(typed.value, pages, asked);
  const take = (choice: Choice | undefined): void => {
    if (!choice) return;
    onClose();
    go(choice.path, choice.query);
  };
  const move = (event: KeyboardEvent): void => {
    const now = choices(typed.value, pages, more.data.value ?? NONE);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) at.value = (at.value + step + now.length) % Math.max(1, now.length);
    else if (event.key === "Enter") take(now[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={common().palette} onClose={onClose} bare>
      <input
        ref={field}
        class="big"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length ? `palette-${at.value}` : undefined}
        aria-label={common().palette}
        placeholder={common().palette}
        value={typed.value}
        onInput={(event) => { typed.value = event.currentTarget.value; at.value = 0; }}
        onKeyDown={move}
      />
      <div id="palette-list" class="choices" role="listbox" aria-label={common().palette}>
        {found.map((choice, index) => (
          <div key={index} id={`palette-${index}`} role="option" aria-selected={index === at.value} onClick={() => take(choice)}>
            <bdi class="grow clip">{choice.name}</bdi> <span class="dim small">{choice.kind}</span>
          </div>
        ))}
      </div>
      {found.length ? null : <p class="dim">{t().nothing}</p>}
    </Dialog>
  );
}
