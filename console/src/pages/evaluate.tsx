/** Two rankings beside each other: one question in full, and all questions of a judged set. */
import type { VNode } from "preact";
import { answered, type Found, foundByBoth, stopRun, type Way } from "../asking";
import { useEffect, useMemo } from "../hooks";
import { evaluateTexts as t } from "../i18n/evaluate";
import { titles } from "../i18n/pages";
import { searchTexts } from "../i18n/search";
import { lastQuestion, questions } from "../judgedsets";
import { ensureLists, toolName, tools } from "../lists";
import type { Page } from "../page";
import { Compare } from "../parts/compare";
import { type Draft, DraftForm, readTool, type Tool } from "../parts/draft";
import { Judge } from "../parts/judge";
import { JudgedSet } from "../parts/judgedset";
import { Degraded, Empty, Shown } from "../parts/states";
import { useResource } from "../resource";
import { go, textOf } from "../router";
import { useShortcut } from "../shortcuts";
import { signal, useSignal } from "../signals";

/** The draft of each tool, as long as the tab is open. */
const drafts = signal<Readonly<Record<string, Draft>>>({});

function Evaluate(): VNode {
  useEffect(() => {
    void ensureLists().catch(() => undefined);
    return stopRun;
  }, []);
  const a = textOf("a") || String(tools.value?.[0]?.id ?? "");
  const tool = useResource(a || null, (signal) => readTool(a, signal));
  const again = tool.reload;
  return (
    <div class="stack wide">
      <h1 tabIndex={-1}>{titles().evaluate}</h1>
      {tools.value?.length === 0 ? <Empty text={searchTexts().noTools} /> : null}
      <Shown of={tool}>{(tool) => <Both key={tool.id} tool={tool} reload={again} />}</Shown>
    </div>
  );
}

/** The address with some of its parts changed. */
const change = (parts: Record<string, string>): void => go("/evaluate", { a: textOf("a"), b: textOf("b"), q: textOf("q"), judge: textOf("judge"), ...parts });

function Both({ tool, reload }: { tool: Tool; reload: () => void }): VNode {
  const field = useSignal(textOf("q"));
  const draft = drafts.value[tool.id] ?? tool.draft;
  const b = textOf("b");
  const first: Way = { tool: tool.id, config: null };
  // A draft that changes nothing ranks as the tool does.
  const second: Way = b ? { tool: b, config: null } : { tool: tool.id, config: JSON.stringify(draft) === JSON.stringify(tool.draft) ? null : { ...draft } };
  const query = textOf("q");
  const both = JSON.stringify([first, second]);
  // At once: an effect would wait, and stop a run that was begun in the moment of the change.
  useMemo(() => {
    stopRun();
    answered.value = new Map();
  }, [both, JSON.stringify(tool.draft)]);
  useEffect(() => {
    field.value = query;
    if (query) lastQuestion.value = query;
  }, [query]);
  const answers = useResource<readonly [Found, Found]>(query ? `${both} ${tool.etag} ${query}` : null, (signal) => foundByBoth(first, second, query, 10, signal));
  const judging = textOf("judge") !== "";
  useShortcut("c", () => t().compare, () => change({ judge: "" }));
  return (
    <div class="stack wide">
      <div class="row panel">
        <Choose label="A" value={String(tool.id)} onChange={(id) => change({ a: id, b: "" })} />
        <Choose label="B" value={b} none={t().draft(tool.name)} onChange={(id) => change({ b: id })} />
        {b ? null : (
          <DraftForm tool={tool} draft={draft} onChange={(next) => (drafts.value = { ...drafts.value, [tool.id]: next })} onApplied={reload} />
        )}
      </div>
      <form class="row" role="search" onSubmit={(event) => { event.preventDefault(); if (field.value === query) answers.reload(); else change({ q: field.value }); }}>
        <input class="grow" aria-label={searchTexts().question} placeholder={searchTexts().placeholder} maxLength={2000} dir="auto" value={field.value} onInput={(event) => (field.value = event.currentTarget.value)} />
        <button class="primary">{t().ask} <kbd aria-hidden="true">⏎</kbd></button>
      </form>
      {query ? (
        <Shown of={answers} lines={8}>
          {([one, other]) => (
            <div class="stack wide">
              <Degraded codes={[...new Set([...one.degraded, ...other.degraded])]} again={answers.reload} />
              <div class="row">
                <span class="tabs" role="group" aria-label={titles().evaluate}>
                  <button aria-pressed={!judging} onClick={() => change({ judge: "" })}>{t().compare} <kbd>c</kbd></button>
                  <button aria-pressed={judging} onClick={() => change({ judge: "1" })}>{t().judge} <kbd>0–3</kbd></button>
                </span>
              </div>
              {judging ? <Judge key={query} query={query} a={one.hits} b={other.hits} /> : <Compare a={one.hits} b={other.hits} judged={questions.value.find((one) => one.query === query)} />}
            </div>
          )}
        </Shown>
      ) : <Empty text={t().empty} />}
      <JudgedSet a={first} b={second} onQuestion={(q) => change({ q })} />
    </div>
  );
}

function Choose({ label, value, none, onChange }: { label: string; value: string; none?: string; onChange: (id: string) => void }): VNode {
  return (
    <label class="row"><strong>{label}</strong>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {none ? <option value="">{none}</option> : null}
        {(tools.value ?? []).map((tool) => <option key={String(tool.id)} value={String(tool.id)}>{toolName(tool)}</option>)}
      </select>
    </label>
  );
}

export const page: Page = { id: "evaluate", order: 30, scopes: ["manage"], title: () => titles().evaluate, View: Evaluate };
