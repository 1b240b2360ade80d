/** The tables and tools of the project, read once and shared by pages; `refresh` reads them again. */
import { signal } from "@preact/signals";
import { all, type Id, type Schema } from "./api";
import { may, session } from "./session";

export type ToolSummary = Schema<"ListedToolAnswer">;
export interface TableSummary {
  readonly id: Id;
  readonly name: string | null;
  readonly revision: number;
}

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

export async function refreshLists(): Promise<void> {
  of = session.value?.key ?? null;
  const [toolPages, tablePages] = await Promise.all([
    all<ToolSummary>("/api/v1/tools?limit=100", "tools"),
    may("manage") ? all<TableSummary>("/api/v1/tables?limit=50", "tables") : Promise.resolve({ items: [], cut: false }),
  ]);
  cut.value = toolPages.cut || tablePages.cut;
  tools.value = toolPages.items;
  tables.value = tablePages.items;
}

export const tableName = (id: Id): string => tables.value?.find((table) => String(table.id) === String(id))?.name ?? `table ${id}`;
