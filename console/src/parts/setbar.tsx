/** The judged set that is open: which one, how much is in it, whether and where it is saved. */
import type { ComponentChildren, VNode } from "preact";
import { useActing } from "../acting";
import { isStale } from "../api";
import { t as common } from "../i18n/common";
import { evaluateTexts as t } from "../i18n/evaluate";
import { num } from "../i18n/language";
import { listSets, mayDropSet, nextName, openSet, questions, saveSet, setName, shown, unsaved, version } from "../judgedsets";
import { useResource } from "../resource";
import { ProblemBox } from "./states";

export function SetBar({ children }: { children?: ComponentChildren }): VNode {
  const sets = useResource(`judged sets ${version.value}`, listSets);
  const acting = useActing();
  const problem = acting.problem.value;
  const choose = (select: HTMLSelectElement): void => {
    const wanted = select.value;
    // The choice is shown once the set is there.
    select.value = setName.value;
    if (mayDropSet()) void acting.run(async () => wanted ? await openSet(wanted) : shown([], ""));
  };
  return (
    <>
      <div class="row">
        <h2>{t().set}</h2>
        <select aria-label={t().set} value={setName.value} onChange={(event) => choose(event.currentTarget)}>
          <option value="">–</option>
          {(sets.data.value ?? []).map((one) => <option key={one.name} value={one.name}>{`${one.name} (${num(one.questions)})`}</option>)}
        </select>
        <span class="dim num">{t().questions(questions.value.length)}</span>
        <Unsaved />
        <span class="grow" />
        {children}
        <input aria-label={t().name} placeholder={t().name} value={nextName.value} maxLength={64} pattern="[A-Za-z0-9][A-Za-z0-9._\-]*" onInput={(event) => (nextName.value = event.currentTarget.value)} />
        <button onClick={() => void acting.run(saveSet, t().saved)} disabled={!nextName.value || !questions.value.length || acting.busy.value}>{common().save}</button>
      </div>
      {problem && isStale(problem.fields) ? <p class="bar warn" role="alert"><span>{t().theirs}</span></p> : <ProblemBox problem={problem} />}
    </>
  );
}

export const Unsaved = (): VNode | null => (unsaved.value ? <span class="badge warn">{t().unsaved}</span> : null);
