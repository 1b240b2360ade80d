/** A replacement step by step: preview, what is left out, executing all or one place, undo. */
import { newActing } from "./acting";
import { get, type Id, post, Problem, request, type Schema } from "./api";
import { guard } from "./drafts";
import { go, route, textOf } from "./router";
import { session } from "./session";
import { batch, computed, signal } from "./signals";

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
/** Each step runs so; what is refused is shown. */
export const { busy, problem, run: step } = newActing();
export const confirming = signal<"execute" | "undo" | null>(null);
export const dry = signal<Undone | null>(null);
export const current = signal(0);
/** Whether the fields say something else than what was looked for. */
export const edited = signal(false);
/** The project and the words of the plan, which stays while other pages are shown. */
let asked = "";
/** The path of the plan that waits, one of the project's 20. One that was sent may be done: it keeps its undo. */
let waits = "";
/** How many documents an execution or an undo has done, of how many. */
export const moving = signal<{ readonly done: number; readonly of: number } | null>(null);
/** Raised when the history has changed. */
export const changes = signal(0);

/** How many places are replaced, of all that there are. */
export const chosen = computed(() => (only.value ? marked.value.size : (plan.value?.matches_count ?? 0) - marked.value.size));
export const leftOut = computed(() => (plan.value?.matches_count ?? 0) - chosen.value);
guard(() => leftOut.value && !outcome.value);
export const isLeft = (match: number): boolean => marked.value.has(match) !== only.value;
/** The last place that was replaced alone. */
export const single = signal<(Executed & { readonly place: Place }) | null>(null);
const base = (): string => `/api/v1/projects/${session.value?.projectId}/replace`;

function start(): void {
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
    confirming.value = null;
  });
}

export const settled = (state: string): boolean => state !== "previewing" && state !== "executing";
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600));

/** Follows the address: to other words, or back to those of the plan with what was chosen. */
export async function follow(): Promise<void> {
  const [query, words] = [String(route.value.query), addressed()];
  if (!query && asked.startsWith(words)) go("/replace", Object.fromEntries(new URLSearchParams(asked.slice(words.length))), true);
  else if (words !== asked) await preview();
}
const addressed = (): string => `${session.value?.projectId}?${route.value.query}`;

/** Looks for what the address says; once more for the same words, what was left out stays so. */
export async function preview(): Promise<void> {
  const again = addressed() === asked && plan.value && !outcome.value;
  asked = addressed();
  edited.value = false;
  if (!again) start();
  if (textOf("find")) await step(again ? lookAgain : look);
}

/** One that cannot be cancelled ends within an hour. */
const cancel = (path: string): Promise<unknown> => request("DELETE", path).catch(() => null);

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
  const mine = asked;
  if (waits) await cancel(waits);
  let made = await post<Plan>(`${base()}/preview`, body);
  const path = `${base()}/${made.plan_id}`;
  while (mine === asked && !settled(made.state)) {
    plan.value = made;
    await pause();
    made = await get<Plan>(path);
  }
  const first = made.matches.length || mine !== asked ? made : await get<Schema<"MatchesAnswer">>(`${path}/matches?limit=100`);
  if (mine === asked) batch(() => { waits = path; plan.value = made; places.value = first.matches; cursor.value = first.cursor; });
  if (mine !== asked || !made.matches_count) await cancel(path);
}

export async function more(): Promise<void> {
  await step(moreOf);
}

async function moreOf(): Promise<void> {
  const page = await get<Schema<"MatchesAnswer">>(`${base()}/${plan.value!.plan_id}/matches?cursor=${cursor.value}&limit=100`);
  batch(() => { places.value = [...places.value, ...page.matches]; cursor.value = page.cursor; });
}

/** Follows a plan that is being executed to its end, and tells how many documents are done. */
async function followed(planId: Id): Promise<Plan> {
  try {
    for (;;) {
      const now = await get<Plan>(`${base()}/${planId}`);
      if (settled(now.state)) return now;
      moving.value = { done: now.tables.filter((one) => one.state !== "pending").length, of: now.tables_count };
      await pause();
    }
  } finally {
    moving.value = null;
  }
}

async function executed(choice: Record<string, unknown>): Promise<Executed> {
  const now = plan.value!;
  waits = "";
  const body = { plan_id: now.plan_id, digest: now.digest, ...choice };
  let done = await post<Executed>(`${base()}/execute`, body);
  while (!settled(done.state)) {
    await followed(now.plan_id);
    done = await post<Executed>(`${base()}/execute`, body);
  }
  changes.value += 1;
  return done;
}

export async function execute(): Promise<void> {
  const numbers = [...marked.value].sort((a, b) => a - b);
  await step(async () => {
    undone.value = null;
    outcome.value = await executed(only.value ? { only: numbers } : numbers.length ? { except: numbers } : {});
  });
}

/** Whether the key was pressed while a place was replaced: the next one follows then. */
let pressed = false;

/** Replaces the current place alone, and looks again: what was left out stays left out. */
export async function replaceOne(): Promise<void> {
  const place = places.value[current.value];
  pressed = busy.value;
  if (!place || busy.value || edited.value || outcome.value) return;
  await step(async () => {
    single.value = { ...(await executed({ only: [place.match] })), place };
    undone.value = null;
    await lookAgain(place, lengthOf(place, "becomes") - lengthOf(place, "found"));
    while (within(places.value[current.value], place) && current.value < places.value.length - 1) current.value += 1;
  });
  if (pressed && !problem.value) await replaceOne();
}

const lengthOf = (place: Place, part: "found" | "becomes"): number => place[`${part}_chars`] ?? [...place[part]].length;
const beside = (one: Place | undefined, other: Place): boolean => one?.table_id === other.table_id && one.json_pointer === other.json_pointer;
/** Whether a place lies in what another has become: it is not replaced again unasked. */
const within = (one: Place | undefined, other: Place): boolean =>
  beside(one, other) && one!.char_start >= other.char_start && one!.char_start < other.char_start + lengthOf(other, "becomes");

/** A plan is done once. The next has the places that are left; those behind a place whose length has
 * changed have moved by so many characters. Where a string was edited, a place is known by what
 * stands around it. */
async function lookAgain(changed?: Place, moved = 0, seen = places.value.length): Promise<void> {
  const named = (place: Place, by = 0): string => `${place.table_id} ${place.json_pointer} ${place.char_start + by}`;
  const around = (place: Place): string => `${place.table_id} ${place.json_pointer} ${place.before.slice(-3)}|${place.after.slice(0, 3)}`;
  const shift = (place: Place): number => (changed && beside(place, changed) && place.char_start > changed.char_start ? moved : 0);
  const kept = places.value.filter((place) => marked.value.has(place.match) && place !== changed).map((place) => [named(place, shift(place)), around(place)]);
  const at = current.value;
  await look();
  try {
    while (cursor.value !== null && places.value.length < seen) await moreOf();
  } finally {
    const there = new Set(places.value.map((place) => named(place)));
    const left = new Set(kept.map(([name, words]) => (there.has(name!) ? name : words)));
    marked.value = new Set(places.value.filter((place) => left.has(named(place)) || left.has(around(place))).map((place) => place.match));
    current.value = Math.max(0, Math.min(at, places.value.length - 1));
  }
}

/** Asks before a plan is taken back: how many places come, how many were edited since and stay. */
export async function askUndo(planId: number): Promise<void> {
  await step(async () => {
    dry.value = await post<Undone>(`${base()}/${planId}/undo?dry_run=true`, { on_conflict: "skip" });
    confirming.value = "undo";
  });
}

export async function undo(): Promise<void> {
  const planId = dry.value!.undoes;
  await step(async () => {
    const { reverted_count: all, kept_count: kept } = dry.value!;
    outcome.value = undone.value = null;
    let done = await post<Undone>(`${base()}/${planId}/undo`, { on_conflict: "skip" }, { idempotent: true });
    changes.value += 1;
    if (!settled(done.state)) {
      const { state, replaced_count: back, error } = await followed(done.plan_id!);
      done = { ...done, state, error, reverted_count: back, kept_count: all + kept - back };
      changes.value += 1;
    }
    if (done.error) throw new Problem({ status: 422, code: done.error.code, detail: done.error.message, retryable: false });
    undone.value = done;
    if (single.value?.plan_id === planId) {
      const { place } = single.value;
      await lookAgain(place, lengthOf(place, "found") - lengthOf(place, "becomes"), places.value.length + 1);
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
