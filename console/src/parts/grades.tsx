/** The four grades, and what has been graded for a question. */
import type { ComponentChildren, VNode } from "preact";
import { t as common } from "../i18n/common";
import { evaluateTexts as t } from "../i18n/evaluate";
import { num } from "../i18n/language";
import { change, questions } from "../judgedsets";
import { type Grade, type Judged, judgmentsOf, type Span, spanOf, without } from "../rules/judging";

export const GRADES: readonly Grade[] = [0, 1, 2, 3];
export const nameOf = (grade: number): string => [t().grade0, t().grade1, t().grade2, t().grade3][grade]!;

interface GradesProps {
  readonly given: number | null;
  readonly disabled?: boolean;
  /** Whether keys give grades, too. */
  readonly keys?: boolean;
  readonly onGive: (grade: Grade) => void;
  readonly children: ComponentChildren;
}

export function Grades({ given, disabled = false, keys, onGive, children }: GradesProps): VNode {
  return (
    <div class="row">
      {GRADES.map((grade) => <button key={grade} aria-pressed={given === grade} disabled={disabled} onClick={() => onGive(grade)}>{nameOf(grade)} {keys ? <kbd>{grade}</kbd> : <span class="dim num">{grade}</span>}</button>)}
      {children}
    </div>
  );
}

export function Judgments({ of }: { of: Judged | undefined }): VNode | null {
  const remove = (span: Span): void => change(questions.value.map((one) => (one === of ? without(of, span) : one)));
  return of ? (
    <ul class="plain row small">
      {judgmentsOf(of).map((one) => (
        <li key={`${one.json_pointer} ${one.char_start} ${one.char_end}`} class="badge num"><bdi>{one.json_pointer}</bdi> {num(one.char_start + 1)}–{num(one.char_end)} = {num(one.grade ?? 2)}
          <button class="quiet small" aria-label={common().delete} onClick={() => remove(spanOf(one))}>✕</button>
        </li>
      ))}
    </ul>
  ) : null;
}
