/** The judged set that is open: kept in the project, and in this tab until it is saved. */
import { get, type Id, request } from "./api";
import { type Judged, parsed, written } from "./rules/judging";
import { session } from "./session";
import { signal } from "./signals";

export interface Listed {
  readonly name: string;
  readonly version: Id;
  readonly questions: number;
}
export const questions = signal<readonly Judged[]>([]);
export const setName = signal("");
export const unsaved = signal(false);
/** `"0"`: there is none yet. */
let version: Id = 0;

const path = (name = ""): string => `/api/v1/projects/${session.value?.projectId}/judged-sets${name && `/${encodeURIComponent(name)}`}`;

export const listSets = async (abort: AbortSignal): Promise<Listed[]> => (await get<{ judged_sets: Listed[] }>(path(), { signal: abort })).judged_sets;

export async function openSet(name: string): Promise<void> {
  const { data, etag } = await request<{ lines: string }>("GET", path(name));
  shown(parsed(data.lines), name);
  version = etag?.replaceAll('"', "") ?? 0;
}

/** Changes the questions; saving sends them. */
export function change(next: readonly Judged[]): void {
  questions.value = next;
  unsaved.value = true;
}

export function shown(next: readonly Judged[], name: string): void {
  questions.value = next;
  setName.value = name;
  unsaved.value = false;
  version = 0;
}

export async function saveSet(name: string): Promise<void> {
  const known = name === setName.value ? version : 0;
  const { etag } = await request("PUT", path(name), { body: { lines: written(questions.value) }, ifMatch: known });
  setName.value = name;
  unsaved.value = false;
  version = etag?.replaceAll('"', "") ?? 0;
}
