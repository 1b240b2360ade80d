/** A replacement step by step: preview, what is left out, executing all or one place, undo. */
import { batch, computed, signal } from "@preact/signals";
import { get, post, Problem, type Schema } from "./api";
import { textOf } from "./router";
import { session } from "./session";

export type Plan = Schema<"PlanAnswer">;
export type Place = Schema<"MatchAnswer">;
export type Executed = Schema<"ExecutedAnswer">;
export type Undone = Schema<"UndoneAnswer">;

export const plan = signal<Plan | null>(null);
export const places = signal<readonly Place[]>([]);
export const cursor = signal<string | null>(null);
const marked = signal<ReadonlySet<number>>(new Set());
/** Whether only what is marked is replaced, or all but that; so both cover what is not loaded. */
export const only = signal(false);
export const outcome = signal<Executed | null>(null);
export const undone = signal<Undone | null>(null);
export const problem = signal<Problem | null>(null);
export const busy = signal(false);
export const confirming = signal<"execute" | "undo" | null>(null);
export const dry = signal<Undone | null>(null);
export const current = signal(0);
/** Raised when the history has changed. */
export const changes = signal(0);

/** How many places are replaced, of all that there are. */
export const chosen = computed(() => (only.value ? marked.value.size : (plan.value?.matches_count ?? 0) - marked.value.size));
export const leftOut = computed(() => (plan.value?.matches_count ?? 0) - chosen.value);
export const isLeft = (match: number): boolean => marked.value.has(match) !== only.value;
/** The last place that was replaced alone. */
export const single = signal<(Executed & { readonly place: Place }) | null>(null);
const base = (): string => `/api/v1/projects/${session.value?.projectId}/replace`;

export function start(): void {
  batch(() => {
    plan.value = null;
    places.value = [];
    cursor.value = null;
    marked.value = new Set();
    only.value = false;
    outcome.value = null;
    undone.value = null;
    problem.value = null;
    single.value = null;
    current.value = 0;
  });
}

/** Runs one step; what is refused is shown. */
async function step(run: () => Promise<void>): Promise<void> {
  busy.value = true;
  problem.value = null;
  try {
    await run();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    problem.value = error;
  } finally {
    busy.value = false;
  }
}

export const settled = (state: string): boolean => state !== "previewing" && state !== "executing";
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600));

/** Looks for what the address says. */
export async function preview(): Promise<void> {
  if (!textOf("find")) return;
  start();
  await step(look);
}

async function look(): Promise<void> {
  const table = textOf("table");
  const body = {
    find: textOf("find"),
    replace_with: textOf("by"),
    case_sensitive: textOf("case") !== "0",
    whole_word: textOf("word") === "1",
    regex: textOf("regex") === "1",
    samples: 100,
    json_pointer: textOf("under"),
    ...(table ? { tables: [Number(table)] } : {}),
  };
  let made = await post<Plan>(`${base()}/preview`, body);
  while (!settled(made.state)) {
    plan.value = made;
    await pause();
    made = await get<Plan>(`${base()}/${made.plan_id}`);
  }
  const first = made.matches.length ? made : await get<Schema<"MatchesAnswer">>(`${base()}/${made.plan_id}/matches?limit=100`);
  batch(() => { plan.value = made; places.value = first.matches; cursor.value = first.cursor; });
}

export async function more(): Promise<void> {
  await step(moreOf);
}

async function moreOf(): Promise<void> {
  const page = await get<Schema<"MatchesAnswer">>(`${base()}/${plan.value!.plan_id}/matches?cursor=${cursor.value}&limit=100`);
  batch(() => { places.value = [...places.value, ...page.matches]; cursor.value = page.cursor; });
}

async function executed(choice: Record<string, unknown>): Promise<Executed> {
  const now = plan.value!;
  const body = { plan_id: now.plan_id, digest: now.digest, ...choice };
  let done = await post<Executed>(`${base()}/execute`, body);
  while (!settled(done.state)) {
    await pause();
    const state = await get<Plan>(`${base()}/${now.plan_id}`);
    if (settled(state.state)) done = await post<Executed>(`${base()}/execute`, body);
  }
  changes.value += 1;
  return done;
}

export async function execute(): Promise<void> {
  const numbers = [...marked.value].sort((a, b) => a - b);
  await step(async () => {
    outcome.value = await executed(only.value ? { only: numbers } : numbers.length ? { except: numbers } : {});
  });
}

/** Replaces the current place alone, and looks again: what was left out stays left out. */
export async function replaceOne(): Promise<void> {
  const place = places.value[current.value];
  if (!place || busy.value || outcome.value) return;
  await step(async () => {
    single.value = { ...(await executed({ only: [place.match] })), place };
    undone.value = null;
    await lookAgain(place, lengthOf(place, "becomes") - lengthOf(place, "found"));
    while (within(places.value[current.value], place) && current.value < places.value.length - 1) current.value += 1;
  });
}

const lengthOf = (place: Place, part: "found" | "becomes"): number => place[`${part}_chars`] ?? [...place[part]].length;
const beside = (one: Place | undefined, other: Place): boolean => one?.table_id === other.table_id && one.json_pointer === other.json_pointer;
/** Whether a place lies in what another has become: it is not replaced again unasked. */
const within = (one: Place | undefined, other: Place): boolean =>
  beside(one, other) && one!.char_start >= other.char_start && one!.char_start < other.char_start + lengthOf(other, "becomes");

/** A plan is done once. The next has the places that are left; those behind a place whose length has
 * changed have moved by so many characters. */
async function lookAgain(changed: Place, moved: number): Promise<void> {
  const named = (place: Place, by = 0): string => `${place.table_id} ${place.json_pointer} ${place.char_start + by}`;
  const shift = (place: Place): number => (beside(place, changed) && place.char_start > changed.char_start ? moved : 0);
  const kept = new Set(places.value.filter((place) => marked.value.has(place.match) && place !== changed).map((place) => named(place, shift(place))));
  const [at, seen] = [current.value, places.value.length];
  await look();
  while (cursor.value !== null && places.value.length < seen + 1) await moreOf();
  marked.value = new Set(places.value.filter((place) => kept.has(named(place))).map((place) => place.match));
  current.value = Math.max(0, Math.min(at, places.value.length - 1));
}

/** Takes a plan back; where places were edited since, asks first whether the others shall come. */
export async function undo(planId: number, onConflict: "abort" | "skip" = "abort"): Promise<void> {
  await step(async () => {
    const path = `${base()}/${planId}/undo`;
    try {
      undone.value = await post<Undone>(path, { on_conflict: onConflict }, { idempotent: true });
      changes.value += 1;
      if (single.value?.plan_id === planId) {
        const { place } = single.value;
        await lookAgain(place, lengthOf(place, "found") - lengthOf(place, "becomes"));
      }
    } catch (error) {
      if (!(error instanceof Problem) || error.fields.code !== "REPLACE_STALE") throw error;
      dry.value = await post<Undone>(`${path}?dry_run=true`, { on_conflict: "skip" });
      confirming.value = "undo";
    }
  });
}

export function toggle(match: number): void {
  const next = new Set(marked.value);
  if (!next.delete(match)) next.add(match);
  marked.value = next;
}

/** All places or none of them, also those that are not loaded. */
export function chooseAll(all: boolean): void {
  only.value = !all;
  marked.value = new Set();
}

export const nextPlace = (): void => void (current.value = Math.min(places.value.length - 1, current.value + 1));
