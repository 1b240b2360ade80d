/** Search and replace in all documents: preview, leave out, execute, undo, history. */
import { batch, computed, signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get, post, Problem, type Schema } from "../api";
import { replaceTexts as t, warningTexts } from "../i18n/replace";
import { bytes, num } from "../i18n/language";
import { titles } from "../i18n/pages";
import { ensureLists, tables } from "../lists";
import type { Page } from "../page";
import { Confirm } from "../parts/dialog";
import { History } from "../parts/history";
import { Match } from "../parts/match";
import { Empty, Loading, ProblemBox } from "../parts/states";
import { go, textOf } from "../router";
import { session } from "../session";
import { useShortcut } from "../shortcuts";

type Plan = Schema<"PlanAnswer">;
type Place = Schema<"MatchAnswer">;
type Executed = Schema<"ExecutedAnswer">;
type Undone = Schema<"UndoneAnswer">;

const plan = signal<Plan | null>(null);
const places = signal<readonly Place[]>([]);
const cursor = signal<string | null>(null);
const excepted = signal<ReadonlySet<number>>(new Set());
const outcome = signal<Executed | null>(null);
const undone = signal<Undone | null>(null);
const problem = signal<Problem | null>(null);
const busy = signal(false);
const confirming = signal<"execute" | "undo" | null>(null);
const dry = signal<Undone | null>(null);
const current = signal(0);
/** Raised when the history has changed. */
const changes = signal(0);

const chosen = computed(() => (plan.value?.matches_count ?? 0) - excepted.value.size);
const base = (): string => `/api/v1/projects/${session.value?.projectId}/replace`;

function start(): void {
  batch(() => {
    plan.value = null;
    places.value = [];
    cursor.value = null;
    excepted.value = new Set();
    outcome.value = null;
    undone.value = null;
    problem.value = null;
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

const settled = (state: string): boolean => state !== "previewing" && state !== "executing";
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600));

async function preview(): Promise<void> {
  const [find, table] = [textOf("find"), textOf("table")];
  if (!find) return;
  start();
  await step(async () => {
    const body = {
      find,
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
  });
}

async function more(): Promise<void> {
  await step(async () => {
    const page = await get<Schema<"MatchesAnswer">>(`${base()}/${plan.value!.plan_id}/matches?cursor=${cursor.value}&limit=100`);
    batch(() => { places.value = [...places.value, ...page.matches]; cursor.value = page.cursor; });
  });
}

async function execute(): Promise<void> {
  const now = plan.value!;
  await step(async () => {
    const body = { plan_id: now.plan_id, digest: now.digest, ...(excepted.value.size ? { except: [...excepted.value].sort((a, b) => a - b) } : {}) };
    let done = await post<Executed>(`${base()}/execute`, body);
    while (!settled(done.state)) {
      await pause();
      const state = await get<Plan>(`${base()}/${now.plan_id}`);
      if (settled(state.state)) done = await post<Executed>(`${base()}/execute`, body);
    }
    outcome.value = done;
    changes.value += 1;
  });
}

/** Takes a plan back; where places were edited since, asks first whether the others shall come. */
async function undo(planId: number, onConflict: "abort" | "skip" = "abort"): Promise<void> {
  await step(async () => {
    const path = `${base()}/${planId}/undo`;
    try {
      undone.value = await post<Undone>(path, { on_conflict: onConflict }, { idempotent: true });
      changes.value += 1;
    } catch (error) {
      if (!(error instanceof Problem) || error.fields.code !== "REPLACE_STALE") throw error;
      dry.value = await post<Undone>(`${path}?dry_run=true`, { on_conflict: "skip" });
      confirming.value = "undo";
    }
  });
}

function toggle(match: number): void {
  const next = new Set(excepted.value);
  if (!next.delete(match)) next.add(match);
  excepted.value = next;
}

function Replace(): VNode {
  useEffect(() => {
    ensureLists().catch(() => undefined);
    if (textOf("find") && textOf("by")) void preview();
    return start;
  }, []);
  useShortcut("n", () => t().next, () => (current.value = Math.min(places.value.length - 1, current.value + 1)));
  useShortcut("s", () => t().skip, () => {
    const place = places.value[current.value];
    if (place && !outcome.value) toggle(place.match);
    current.value = Math.min(places.value.length - 1, current.value + 1);
  });
  const waiting = busy.value && !settled(plan.value?.state ?? "previewing");
  return (
    <>
      <h1 tabIndex={-1}>{titles().replace}</h1>
      <Asking />
      {problem.value ? <Refused /> : null}
      {waiting ? <p class="row"><Loading lines={1} /><span class="dim small" role="status">{plan.value ? t().previewing(bytes(plan.value.scanned.bytes)) : ""}</span></p> : null}
      {outcome.value ? <Outcome /> : null}
      {plan.value && settled(plan.value.state) ? <Planned /> : plan.value || busy.value ? null : <p class="dim">{t().intro}</p>}
      <History changes={changes.value} onUndo={(id) => void undo(id)} />
      {confirming.value === "execute" && plan.value ? (
        <Confirm title={t().executeTitle} text={`${t().executeText(chosen.value, plan.value.tables_count)} ${plan.value.atomic ? t().atomic : t().notAtomic}`}
          act={t().execute(chosen.value)} onClose={() => (confirming.value = null)} onAct={() => void execute()} />
      ) : null}
      {confirming.value === "undo" && dry.value ? (
        <Confirm title={t().undoTitle} text={t().undoText(dry.value.reverted_count, dry.value.kept_count)} act={t().undo}
          onClose={() => (confirming.value = null)} onAct={() => void undo(dry.value!.undoes, "skip")} />
      ) : null}
    </>
  );
}

function Asking(): VNode {
  const form = useRef<HTMLFormElement>(null);
  const send = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(form.current!);
    const text = (name: string): string => String(given.get(name) ?? "");
    go("/replace", {
      find: text("find"), by: text("by"), table: text("table"), under: text("under"),
      case: given.has("case") ? null : 0, word: given.has("word") ? 1 : null, regex: given.has("regex") ? 1 : null,
    });
    void preview();
  };
  return (
    <form ref={form} class="panel stack" onSubmit={send}>
      <div class="row fields">
        <label class="grow stack"><span class="dim small">{t().find}</span><input class="mono" name="find" required maxLength={1000} defaultValue={textOf("find")} dir="auto" /></label>
        <label class="grow stack"><span class="dim small">{t().by}</span><input class="mono" name="by" maxLength={10_000} defaultValue={textOf("by")} dir="auto" /></label>
        <button class="primary" disabled={busy.value}>{t().preview}</button>
      </div>
      <div class="row">
        <label class="check"><input type="checkbox" name="case" defaultChecked={textOf("case") !== "0"} /><span><b aria-hidden="true">Aa</b> {t().case}</span></label>
        <label class="check"><input type="checkbox" name="word" defaultChecked={textOf("word") === "1"} />{t().word}</label>
        <label class="check"><input type="checkbox" name="regex" defaultChecked={textOf("regex") === "1"} />{t().regex}</label>
        <label class="row"><span class="dim small">{t().in}</span>
          <select name="table" key={`${tables.value?.length} ${textOf("table")}`} defaultValue={textOf("table")}>
            <option value="">{t().project}</option>
            {(tables.value ?? []).map((table) => <option key={String(table.id)} value={String(table.id)} selected={String(table.id) === textOf("table")}>{table.name ?? table.id}</option>)}
          </select>
        </label>
        <label class="row"><span class="dim small">{t().under}</span><input class="mono" name="under" placeholder="/" defaultValue={textOf("under")} /></label>
      </div>
    </form>
  );
}

function Refused(): VNode {
  const { fields } = problem.value!;
  if (fields.code !== "REPLACE_STALE") return <ProblemBox problem={problem.value!} retry={() => void preview()} />;
  return (
    <div class="bar warn" role="alert">
      <div class="grow stack">
        <p><strong>{t().staleTitle}</strong> <code class="code">{fields.code}</code></p>
        <ul>
          {(fields.changed ?? []).map((one, at) => (
            <li key={at}><bdi>{nameOf(one["table_id"] as number)}</bdi> <code><bdi>{String(one["json_pointer"])}</bdi></code> <code class="code">{String(one["reason"])}</code></li>
          ))}
        </ul>
      </div>
      <button onClick={() => void preview()}>{t().again}</button>
    </div>
  );
}

const nameOf = (table: number): string => plan.value?.tables.find((one) => one.table_id === table)?.name ?? String(table);

function Outcome(): VNode {
  const done = outcome.value!;
  return (
    <div class={done.state === "done" ? "bar good" : "bar warn"} role="status">
      <div class="grow stack">
        <p>✓ {undone.value ? t().undone(undone.value.reverted_count, undone.value.kept_count) : t().done(done.replaced_count)}</p>
        {done.skipped.length ? (
          <>
            <p>{t().partial}</p>
            <ul>{done.skipped.map((one) => <li key={one.table_id}><bdi>{nameOf(one.table_id)}</bdi> <code class="code">{one.reason}</code></li>)}</ul>
          </>
        ) : null}
      </div>
      {undone.value ? null : <button disabled={busy.value} onClick={() => void undo(done.plan_id)}>{t().undo}</button>}
    </div>
  );
}

/** Places of one string stand together. */
function grouped(all: readonly Place[]): Map<string, Place[]> {
  const groups = new Map<string, Place[]>();
  for (const place of all) {
    const name = `${place.table_id} ${place.json_pointer}`;
    groups.set(name, [...(groups.get(name) ?? []), place]);
  }
  return groups;
}

function Planned(): VNode {
  const now = plan.value!;
  const words = warningTexts() as unknown as Record<string, string>;
  const stays = Object.values(now.left_out).reduce((sum, count) => sum + count, 0);
  const groups = grouped(places.value);
  if (now.error) return <ProblemBox problem={new Problem({ status: 422, code: now.error.code, detail: now.error.message, retryable: false })} retry={() => void preview()} />;
  if (!now.matches_count) return <Empty text={t().none} />;
  const all = excepted.value.size === 0;
  return (
    <section class="panel flush" aria-label={t().preview}>
      <header>
        <label class="check"><input type="checkbox" checked={all} disabled={outcome.value !== null}
          onChange={() => (excepted.value = all ? new Set(places.value.map((place) => place.match)) : new Set())} />{t().deselect}</label>
        <strong class="num">{t().counts(now.tables_count, now.matches_count)}</strong>
        {excepted.value.size ? <span class="badge">{t().left(excepted.value.size)}</span> : null}
        {stays ? <span class="badge" title={t().stayWhy}>{t().stay(stays)}</span> : null}
        <span class="grow" />
        {outcome.value ? null : <button class="primary" disabled={busy.value || chosen.value < 1} onClick={() => (confirming.value = "execute")}>{t().execute(chosen.value)}</button>}
      </header>
      {now.warnings.length ? <ul class="bar warn plain">{now.warnings.map((warning) => <li key={warning}><code class="code">{warning}</code> {words[warning]}</li>)}</ul> : null}
      {[...groups.values()].map((group) => (
        <div key={group[0]!.match} class="group">
          <h2 class="row"><bdi>{nameOf(group[0]!.table_id)}</bdi> <code class="dim"><bdi>{group[0]!.json_pointer}</bdi></code> <span class="dim small num">{num(group.length)}</span></h2>
          <ul class="plain">
            {group.map((place) => (
              <Match key={place.match} place={place} left={excepted.value.has(place.match)} fixed={outcome.value !== null}
                current={places.value[current.value]?.match === place.match} onToggle={() => toggle(place.match)} />
            ))}
          </ul>
        </div>
      ))}
      {cursor.value === null ? null : <p class="row center"><button disabled={busy.value} onClick={() => void more()}>{t().more}</button></p>}
    </section>
  );
}

export const page: Page = { id: "replace", order: 60, scopes: ["replace"], title: () => titles().replace, View: Replace };
