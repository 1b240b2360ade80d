/** The judged set that is open: kept in the project, and in this tab until it is saved. */
import { get, type Id, request } from "./api";
import { stopRun } from "./asking";
import { guard } from "./drafts";
import { t } from "./i18n/common";
import { type Judged, parsed, written } from "./rules/judging";
import { session } from "./session";
import { effect, signal } from "./signals";

export interface Listed {
  readonly name: string;
  readonly version: Id;
  readonly questions: number;
}
export const questions = signal<readonly Judged[]>([]);
export const setName = signal("");
/** The name that it is going to be saved under. */
export const nextName = signal("");
export const unsaved = signal(false);
/** The question that was asked last, in Search or Evaluate: what is judged in Documents is judged for it. */
export const lastQuestion = signal("");
/** Of the set as it was read or saved; `0`: it is not in the project yet. */
export const version = signal<Id>(0);

const path = (name = ""): string => `/api/v1/projects/${session.value?.projectId}/judged-sets${name && `/${encodeURIComponent(name)}`}`;

export const listSets = async (abort: AbortSignal): Promise<Listed[]> => (await get<{ judged_sets: Listed[] }>(path(), { signal: abort })).judged_sets;

export async function openSet(name: string): Promise<void> {
  const { data, etag } = await request<{ lines: string }>("GET", path(name));
  shown(parsed(data.lines), name);
  version.value = versionOf(etag);
}

const versionOf = (etag: string | null): Id => etag?.replaceAll('"', "") ?? 0;

/** Asks before judgments that are not saved are dropped; false when they shall stay. */
export const mayDropSet = (): boolean => !unsaved.value || confirm(t().unsaved);

guard(() => unsaved.value);

/** Changes the questions; saving sends them. */
export function change(next: readonly Judged[]): void {
  questions.value = next;
  unsaved.value = true;
}

export function shown(next: readonly Judged[], name: string): void {
  stopRun();
  questions.value = next;
  setName.value = nextName.value = name;
  unsaved.value = false;
  version.value = 0;
}

export async function saveSet(): Promise<void> {
  const name = nextName.value;
  const sent = questions.value;
  const known = name === setName.value ? version.value : 0;
  const { etag } = await request("PUT", path(name), { body: { lines: written(sent) }, ifMatch: known });
  setName.value = name;
  // What was judged meanwhile is not saved.
  unsaved.value = questions.value !== sent;
  version.value = versionOf(etag);
}

/** A set is one of its project: who signs in to another one begins anew. */
let project: Id | undefined;
effect(() => {
  const now = session.value?.projectId;
  if (now === undefined || now === project) return;
  project = now;
  shown([], "");
});
