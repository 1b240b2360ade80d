/** Addresses live after `#`: they are never sent and never logged. No key is ever in one. */
import { mayDrop } from "./drafts";
import { computed, signal } from "./signals";

export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}
export type Query = Record<string, string | number | boolean | null | undefined>;

function parsed(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { path: path.split("/").filter(Boolean).map(safelyDecoded), query: new URLSearchParams(query) };
}

function safelyDecoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  if (location.hash === hash.value) return;
  if (mayDrop()) hash.value = location.hash;
  else history.pushState(null, "", hash.value);
});

export const route = computed(() => parsed(hash.value));
export const pageId = computed(() => route.value.path[0] ?? "");

/** The address of a place: `href("/tables/1", { p: "/a" })` is `#/tables/1?p=%2Fa`. */
export function href(path: string, query: Query = {}): string {
  const parts = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(parts.map(([name, value]) => [name, String(value)])).toString();
  return `#${path}${text && `?${text}`}`;
}

/** Goes to a place; `replace` leaves no step for the back button. */
export function go(path: string, query: Query = {}, replace = false): void {
  const next = href(path, query);
  if (next === location.hash || !mayDrop()) return;
  history[replace ? "replaceState" : "pushState"](null, "", next);
  hash.value = location.hash;
}

/** A number of the query, or the value that stands for it. */
export function numberOf(name: string, otherwise: number): number {
  const value = Number(route.value.query.get(name) ?? Number.NaN);
  return Number.isFinite(value) ? value : otherwise;
}

export const textOf = (name: string): string => route.value.query.get(name) ?? "";
