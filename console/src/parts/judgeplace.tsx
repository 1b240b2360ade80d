/** Judging where the text stands: what is selected or shown, also what no search has found. */
import type { VNode } from "preact";
import { announce } from "../announce";
import { evaluateTexts as t } from "../i18n/evaluate";
import { searchTexts } from "../i18n/search";
import { textTexts } from "../i18n/text";
import { change, lastQuestion, questions, unsaved } from "../judgedsets";
import { graded, gradeAt, type Span } from "../rules/judging";
import type { Range } from "../rules/segments";
import { useSignal } from "../signals";
import { Dialog } from "./dialog";
import { Grades, Judgments, nameOf } from "./grades";
import { SetBar, Unsaved } from "./setbar";

interface JudgePlaceProps {
  readonly pointer: string;
  readonly chosen: () => Range | null;
  readonly text: (range: Range) => string;
}

export function JudgePlace({ pointer, chosen, text }: JudgePlaceProps): VNode {
  const words = useSignal<Range | null>(null);
  const open = (): void => {
    words.value = chosen();
    if (!words.value) announce(t().howTo);
  };
  return (
    <>
      <button class="small" onClick={open}>{t().judge}…</button>
      <Unsaved />
      {words.value ? <JudgeDialog words={{ pointer, ...words.value }} text={text(words.value)} onClose={() => (words.value = null)} /> : null}
    </>
  );
}

function JudgeDialog({ words, text, onClose }: { words: Span; text: string; onClose: () => void }): VNode {
  const query = useSignal(lastQuestion.value);
  const judged = questions.value.find((one) => one.query === query.value);
  const given = gradeAt(judged, words);
  return (
    <Dialog title={t().judge} onClose={onClose} wide>
      <SetBar />
      <p class="small dim num">{textTexts().range(words.start, words.end)}</p>
      <p class="short prose" dir="auto" tabIndex={0}>{text}</p>
      <label class="stack">
        {searchTexts().question}
        <input list="judged" maxLength={2000} dir="auto" value={query.value} onInput={(event) => (query.value = event.currentTarget.value)} />
      </label>
      <datalist id="judged">{questions.value.map((one) => <option key={one.query} value={one.query} />)}</datalist>
      <Grades given={given} disabled={!query.value.trim()} onGive={(grade) => change(graded(questions.value, query.value, words, grade))}>
        <span role="status">{given === null ? "" : `${nameOf(given)} · ${unsaved.value ? t().unsaved : t().saved}`}</span>
      </Grades>
      <Judgments of={judged} />
    </Dialog>
  );
}
