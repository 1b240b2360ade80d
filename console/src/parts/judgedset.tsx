/** The judged set, imported and exported, and run over A and B. */
import type { VNode } from "preact";
import { measured, run, running, stopRun, waiting, type Way } from "../asking";
import { t as common } from "../i18n/common";
import { evaluateTexts as t } from "../i18n/evaluate";
import { num } from "../i18n/language";
import { change, mayDropSet, nextName, questions } from "../judgedsets";
import { parsed, written } from "../rules/judging";
import { interval, MEASURES, type Scores, verdictOf } from "../rules/measures";
import { useSignal } from "../signals";
import { Table } from "./form";
import { SetBar } from "./setbar";
import { FileButton } from "./upload";

interface JudgedSetProps {
  readonly a: Way;
  readonly b: Way;
  readonly onQuestion: (query: string) => void;
}

export function JudgedSet({ a, b, onQuestion }: JudgedSetProps): VNode {
  const bad = useSignal("");
  const read = async (file: File): Promise<void> => {
    try {
      const next = parsed(await file.text());
      bad.value = "";
      if (!mayDropSet()) return;
      stopRun();
      change(next);
    } catch (error) {
      bad.value = t().badLine((error as Error).message);
    }
  };
  const keep = (): void => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([written(questions.value)], { type: "application/jsonl" }));
    link.download = `${nextName.value || "judged"}.jsonl`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return (
    <section class="panel stack">
      <SetBar>
        <FileButton label={t().import} onFile={(file) => void read(file)} />
        <button onClick={keep} disabled={!questions.value.length}>{t().export}</button>
      </SetBar>
      {bad.value ? <p class="bad-ink" role="alert">{bad.value}</p> : null}
      {questions.value.length ? <Run a={a} b={b} onQuestion={onQuestion} /> : null}
    </section>
  );
}

function Run({ a, b, onQuestion }: JudgedSetProps): VNode {
  const list = questions.value.filter((one) => one.relevant.length);
  const known = list.filter((one) => measured.value.has(one));
  const pairs = known.flatMap((one) => measured.value.get(one) ?? []);
  const started = known.length > 0 && known.length < list.length;
  return (
    <>
      <div class="row">
        {running.value ? <button onClick={stopRun}>{common().stop}</button> : <button class="primary" disabled={!list.length} onClick={() => { if (!started) measured.value = new Map(); void run(a, b, list); }}>{started ? t().resume : t().run}</button>}
        <span class="num" role="status">{t().progress(known.length, list.length)}</span>
        {waiting.value ? <span class="warn-ink">{t().waiting}</span> : null}
        {known.length > pairs.length ? <span class="warn-ink num">{t().skipped(known.length - pairs.length)}</span> : null}
      </div>
      {pairs.length ? <Means pairs={pairs} /> : null}
      <div class="short" tabIndex={0} role="region" aria-label={t().set}>
        <Table heads={["nDCG@10", "A", "B", t().difference]} right={[1, 2, 3]}>
            {questions.value.map((one) => {
              const both = measured.value.get(one);
              return (
                <tr key={one.query}>
                  <td><button class="quiet question" dir="auto" onClick={() => onQuestion(one.query)}>{one.query}</button></td>
                  <td class="num right">{both ? num(both.a["ndcg@10"], 2) : "–"}</td><td class="num right">{both ? num(both.b["ndcg@10"], 2) : "–"}</td>
                  <td class="num right">{both ? signed(both.b["ndcg@10"] - both.a["ndcg@10"], 2) : "–"}</td>
                </tr>
              );
            })}
        </Table>
      </div>
    </>
  );
}

const signed = (value: number, digits: number): string => (Math.abs(value) < 10 ** -digits / 2 ? "=" : `${value > 0 ? "+" : "−"}${num(Math.abs(value), digits)}`);

function Means({ pairs }: { pairs: readonly { readonly a: Scores; readonly b: Scores }[] }): VNode {
  return (
    <Table heads={[t().measure, "A", "B", t().difference, ""]} right={[1, 2, 3]}>
          {MEASURES.map((name) => {
            const mean = (side: "a" | "b"): number => pairs.reduce((sum, pair) => sum + pair[side][name], 0) / pairs.length;
            const [difference, low, high] = interval(pairs.map((pair) => pair.b[name] - pair.a[name]));
            return (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="num right">{num(mean("a"), 3)}</td><td class="num right">{num(mean("b"), 3)}</td>
                <td class="num right">{signed(difference, 3)} <span class="dim">[{signed(low, 3)}, {signed(high, 3)}]</span></td>
                <td>{{ worse: t().worse, better: t().better, same: t().same, unknown: t().noDifference(pairs.length) }[verdictOf(low, high)]}</td>
              </tr>
            );
          })}
    </Table>
  );
}
