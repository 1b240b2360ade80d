/** Judging: the exact words, or the passage, by keys 0 to 3. */
import type { VNode } from "preact";
import { useMemo, useRef } from "../hooks";
import { evaluateTexts as t } from "../i18n/evaluate";
import { num } from "../i18n/language";
import { change, questions, setName } from "../judgedsets";
import type { Hit } from "../rules/hits";
import { type Grade, graded, gradeOf, pooled } from "../rules/judging";
import { CodePoints } from "../rules/offsets";
import { useShortcut } from "../shortcuts";
import { useSignal } from "../signals";
import { GRADES, Grades, Judgments, nameOf } from "./grades";
import { selectedRange, Text } from "./text";

export function Judge({ query, a, b }: { query: string; a: readonly Hit[]; b: readonly Hit[] }): VNode | null {
  const blind = useSignal(true);
  const at = useSignal(0);
  const box = useRef<HTMLDivElement>(null);
  const list = useMemo(() => (blind.value ? pooled(a, b, query) : [...a.slice(0, 10)]), [a, b, blind.value]);
  const hit = list[Math.min(at.value, list.length - 1)];
  const judged = questions.value.find((one) => one.query === query);
  const give = (grade: Grade): void => {
    const now = list[Math.min(at.value, list.length - 1)];
    if (!now) return;
    const range = (box.current && selectedRange(box.current)) ?? now;
    change(graded(questions.value, query, { pointer: now.pointer, start: range.start, end: range.end }, grade));
    getSelection()?.removeAllRanges();
    if (range === now) at.value = Math.min(list.length - 1, at.value + 1);
  };
  const latest = useRef(give);
  latest.current = give;
  for (const grade of GRADES) useShortcut(String(grade), () => `${t().judge}: ${nameOf(grade)}`, () => latest.current(grade));
  if (!hit) return null;
  return (
    <section class="panel stack" aria-label={t().judge}>
      <div class="row">
        <h2>{t().judge} <span class="dim">{setName.value}</span></h2>
        <span class="num dim">{t().of(at.value + 1, list.length)}</span>
        <button class="small" aria-label="←" disabled={!at.value} onClick={() => (at.value -= 1)}>←</button>
        <button class="small" aria-label="→" disabled={at.value >= list.length - 1} onClick={() => (at.value += 1)}>→</button>
        <label class="check"><input type="checkbox" checked={blind.value} onChange={(event) => { blind.value = event.currentTarget.checked; at.value = 0; }} />{t().blind}</label>
      </div>
      <p class="small row"><strong><bdi>{hit.title}</bdi></strong><code><bdi>{hit.pointer || "/"}</bdi></code><span class="dim num">{num(hit.start + 1)}–{num(hit.end)}</span></p>
      <div ref={box} class="scroller short"><Text text={useMemo(() => new CodePoints(hit.text), [hit])} start={hit.start} marked={NOTHING} showChunks={false} showInvisible={false} target={null} /></div>
      <Grades keys given={gradeOf(judged, hit)} onGive={give}><span class="dim small">{t().howTo}</span></Grades>
      <Judgments of={judged} />
    </section>
  );
}

const NOTHING = { chunks: [], matches: [], hit: null };
