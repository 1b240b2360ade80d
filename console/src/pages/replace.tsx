/** Search and replace in all documents: preview, leave out, execute, undo, history. */
import type { VNode } from "preact";
import { Problem } from "../api";
import { useEffect, useRef } from "../hooks";
import { replaceTexts as t, wordOf } from "../i18n/replace";
import { bytes, num } from "../i18n/language";
import { titles } from "../i18n/pages";
import { ensureLists, tables } from "../lists";
import type { Page } from "../page";
import { Confirm } from "../parts/dialog";
import { History } from "../parts/history";
import { Match } from "../parts/match";
import { Empty, Loading, ProblemBox } from "../parts/states";
import {
  askUndo, busy, changes, chooseAll, chosen, confirming, current, cursor, dry, edited, execute, type Executed, follow, isLeft, leftOut, more, moving, nextPlace, outcome, places,
  type Plan, plan, preview, problem, replaceOne, settled, single, toggle, undo, undone,
} from "../replacing";
import { go, href, type Query, route, textOf } from "../router";
import { useShortcut } from "../shortcuts";

function Replace(): VNode {
  useEffect(() => {
    ensureLists().catch(() => undefined);
    return () => (confirming.value = null);
  }, []);
  useEffect(() => void follow(), [String(route.value.query)]);
  useShortcut("n", () => t().next, nextPlace);
  useShortcut("r", () => t().one, () => void replaceOne());
  useShortcut("s", () => t().skip, skip);
  const waiting = busy.value && !settled(plan.value?.state ?? "previewing");
  return (
    <>
      <h1 tabIndex={-1}>{titles().replace}</h1>
      <Asking />
      {problem.value ? <Refused /> : null}
      {waiting ? <p class="row"><Loading lines={1} /><span class="dim small" role="status">{plan.value ? t().previewing(bytes(plan.value.scanned.bytes)) : ""}</span></p> : null}
      {moving.value ? <p class="bar note" role="status">{t().moving(moving.value.done, moving.value.of)}</p> : null}
      <Outcome done={outcome.value ?? single.value} />
      {plan.value && settled(plan.value.state) ? <Planned /> : plan.value || busy.value ? null : <p class="dim">{t().intro}</p>}
      <History changes={changes.value} onUndo={(id) => void askUndo(id)} />
      {confirming.value === "execute" && plan.value ? (
        <Confirm title={titles().replace} text={`${t().executeText(plan.value.request?.find ?? "", plan.value.request?.replace_with ?? "", chosen.value)} ${plan.value.atomic ? t().atomic : t().notAtomic}`}
          act={t().execute(chosen.value)} onClose={() => (confirming.value = null)} onAct={() => void execute().then(toResult)} />
      ) : null}
      {confirming.value === "undo" && dry.value ? (
        <Confirm title={t().undo} text={t().undoText(dry.value.reverted_count, dry.value.kept_count)} act={t().undo}
          onClose={() => (confirming.value = null)} onAct={() => void undo().then(toResult)} />
      ) : null}
    </>
  );
}

function skip(): void {
  const place = places.value[current.value];
  if (place && !outcome.value) toggle(place.match);
  nextPlace();
}

function Asking(): VNode {
  const form = useRef<HTMLFormElement>(null);
  const shown = useRef({ query: "", made: 0 });
  const query = String(route.value.query);
  // Another address fills the fields anew; what was sent from them is in them.
  if (shown.current.query !== query) shown.current = { query, made: shown.current.made + 1 };
  const wanted = (): Query => {
    const given = new FormData(form.current!);
    const text = (name: string): string => String(given.get(name) ?? "");
    return {
      find: text("find"), by: text("by"), table: text("table"), under: text("under"),
      case: given.has("case") ? null : 0, word: given.has("word") ? 1 : null, regex: given.has("regex") ? 1 : null,
    };
  };
  const send = (event: Event): void => {
    event.preventDefault();
    const next = href("/replace", wanted());
    shown.current.query = next.split("?")[1] ?? "";
    if (next === location.hash) void preview();
    else go("/replace", wanted());
  };
  return (
    <form ref={form} key={shown.current.made} class="panel stack" onSubmit={send} onInput={() => (edited.value = href("/replace", wanted()) !== location.hash)}>
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

/** Where the button was that has asked, nothing is any more. */
const toResult = (): void => void requestAnimationFrame(() => document.getElementById("result")?.focus());

/** What was done last: replaced, or taken back, which the history can also ask for. */
function Outcome({ done }: { done: Executed | null }): VNode | null {
  const back = undone.value;
  const [text, skipped] = back ? [t().undone(back.reverted_count, back.kept_count), []] : done ? [t().done(done.replaced_count), done.skipped] : [];
  if (!text) return null;
  return (
    <div class={skipped!.length ? "bar warn" : "bar good"} role="status">
      <div class="grow stack">
        <h2 id="result" tabIndex={-1}>✓ {text}</h2>
        {skipped!.length ? (
          <>
            <p>{t().partial}</p>
            <ul>{skipped!.map((one) => <li key={one.table_id}><bdi>{nameOf(one.table_id)}</bdi> <code class="code">{one.reason}</code></li>)}</ul>
          </>
        ) : null}
      </div>
      {back ? null : <button disabled={busy.value} onClick={() => void askUndo(done!.plan_id)}>{t().undo}</button>}
    </div>
  );
}

function Planned(): VNode {
  const now = plan.value!;
  const stays = Object.values(now.left_out).reduce((sum, count) => sum + count, 0);
  // Places of one string stand together.
  const groups = Map.groupBy(places.value, (place) => `${place.table_id} ${place.json_pointer}`);
  if (now.error) return <ProblemBox problem={new Problem({ status: 422, code: now.error.code, detail: now.error.message, retryable: false })} retry={() => void preview()} />;
  if (!now.matches_count) return <Empty text={stays ? t().allStay(stays) : t().none}>{stays ? <LeftOut of={now.left_out} /> : null}</Empty>;
  const all = leftOut.value === 0;
  return (
    <section class="panel flush plan" aria-label={t().preview}>
      <header>
        <label class="check"><input type="checkbox" checked={all} indeterminate={!all && chosen.value > 0} disabled={outcome.value !== null} onChange={() => chooseAll(!all)} />{t().deselect}</label>
        <strong class="num">{t().counts(now.tables_count, now.strings_count, now.matches_count)}</strong>
        {leftOut.value ? <span class="badge">{t().left(leftOut.value)}</span> : null}
        {stays ? <><span class="badge">{t().stay(stays)}</span> <LeftOut of={now.left_out} /></> : null}
        {cursor.value === null ? null : <span class="dim small num">{t().shown(places.value.length, now.matches_count)}</span>}
        <span class="grow" />
        {outcome.value ? null : (
          <>
            <Steps />
            <button class="primary" disabled={busy.value || edited.value || chosen.value < 1} onClick={() => (confirming.value = "execute")}>{t().execute(chosen.value)}</button>
          </>
        )}
      </header>
      {now.warnings.length ? <ul class="bar warn plain">{now.warnings.map((warning) => <li key={warning}><code class="code">{warning}</code> {wordOf(warning)}</li>)}</ul> : null}
      {[...groups.values()].map((group) => (
        <div key={group[0]!.match} class="group">
          <h2 class="row"><bdi>{nameOf(group[0]!.table_id)}</bdi> <code class="dim"><bdi>{group[0]!.json_pointer}</bdi></code> <span class="dim small num">{num(group.length)}</span></h2>
          <ul class="plain">
            {group.map((place) => (
              <Match key={place.match} place={place} left={isLeft(place.match)} fixed={outcome.value !== null}
                current={places.value[current.value] === place} onToggle={() => toggle(place.match)} />
            ))}
          </ul>
        </div>
      ))}
      {cursor.value === null || outcome.value ? null : <p class="row center"><button disabled={busy.value} onClick={() => void more()}>{t().more}</button></p>}
    </section>
  );
}

/** Why places that were found are not listed, each rule with its count. */
function LeftOut({ of }: { of: Plan["left_out"] }): VNode {
  const rules = Object.entries(of).filter(([, count]) => count);
  return <span class="dim small">{rules.map(([rule, count]) => `${num(count)} ${wordOf(rule)}`).join(" · ")}</span>;
}

/** The place that is marked: the same as the keys do. */
function Steps(): VNode {
  return (
    <span class="row">
      <button class="small" onClick={nextPlace}>{t().next} <kbd>n</kbd></button>
      <button class="small" disabled={busy.value || edited.value} onClick={() => void replaceOne()}>{t().one} <kbd>r</kbd></button>
      <button class="small" onClick={skip}>{t().skip} <kbd>s</kbd></button>
    </span>
  );
}

export const page: Page = { id: "replace", order: 60, scopes: ["replace"], title: () => titles().replace, View: Replace };
