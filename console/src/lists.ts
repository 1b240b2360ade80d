/** The tables and tools of the project, read once and shared by pages; `refresh` reads them again. */
import { all, type Id, type Schema } from "./api";
import { may, session } from "./session";
import { signal } from "./signals";

export type ToolSummary = Schema<"ListedToolAnswer">;
export type TableSummary = Schema<"ListedTableAnswer">;

export const tables = signal<readonly TableSummary[] | null>(null);
export const tools = signal<readonly ToolSummary[] | null>(null);
/** Whether there are more than are here. */
export const cut = signal(false);
let of: string | null = null;

/** Reads both lists unless they are there for this session. */
export async function ensureLists(): Promise<void> {
  const key = session.value?.key ?? null;
  if (key !== null && key !== of) await refreshLists();
}

export interface Lists {
  readonly tables: readonly TableSummary[];
  readonly tools: readonly ToolSummary[];
  readonly cut: boolean;
}

export async function refreshLists(signal?: AbortSignal): Promise<Lists> {
  const options = signal ? { signal } : {};
  const key = session.value?.key ?? null;
  const [toolPages, tablePages] = await Promise.all([
    all<ToolSummary>("/api/v1/tools?limit=100", "tools", options),
    may("manage") ? all<TableSummary>("/api/v1/tables?limit=50", "tables", options) : { items: [], cut: false },
  ]);
  cut.value = toolPages.cut || tablePages.cut;
  tools.value = toolPages.items;
  tables.value = tablePages.items;
  // Only now: who leaves the page that reads them has stopped it.
  of = key;
  return { tables: tables.value, tools: tools.value, cut: cut.value };
}

/** With what tells it from another of the same name: its id, and its scope where that differs. */
export function toolName({ id, name, json_pointer: scope }: ToolSummary): string {
  const same = tools.value?.filter((one) => one.name === name) ?? [];
  if (same.length < 2) return name;
  return `${name} · ${id}${same.some((one) => one.json_pointer !== scope) ? ` · ${scope || "/"}` : ""}`;
}

export const tableName = (id: Id): string => tables.value?.find((table) => String(table.id) === String(id))?.name ?? `table ${id}`;
