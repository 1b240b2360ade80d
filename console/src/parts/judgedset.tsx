/** The judged set, imported and exported, and run over A and B. */
import type { VNode } from "preact";
import type { Schema } from "../api";
import { answered, measurable, measured, type Measured, run, running, stopRun, waiting, type Way } from "../asking";
import { t as common } from "../i18n/common";
import { evaluateTexts as t } from "../i18n/evaluate";
import { num } from "../i18n/language";
import { change, mayDropSet, nextName, questions } from "../judgedsets";
import { parsed, written } from "../rules/judging";
import { useResource } from "../resource";
import { useSignal } from "../signals";
import { Table } from "./form";
import { SetBar } from "./setbar";
import { Shown } from "./states";
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

/** As many as the server measures in one request. */
const MOST = 1000;

function Run({ a, b, onQuestion }: JudgedSetProps): VNode {
  const list = questions.value.filter((one) => one.relevant.length);
  const known = list.filter((one) => answered.value.has(one));
  const both = known.filter((one) => answered.value.get(one));
  const text = running.value || !both.length ? null : measurable(both);
  const figures = useResource(text, (signal) => measured(both, text!, signal));
  const started = known.length > 0 && known.length < list.length;
  return (
    <>
      <div class="row">
        {running.value ? <button onClick={stopRun}>{common().stop}</button> : <button class="primary" disabled={!list.length || list.length > MOST} onClick={() => { if (!started) answered.value = new Map(); void run(a, b, list); }}>{started ? t().resume : t().run}</button>}
        <span class="num" role="status">{t().progress(known.length, list.length)}</span>
        {waiting.value ? <span class="warn-ink">{t().waiting}</span> : null}
        {list.length > MOST ? <span class="warn-ink num">{t().tooMany(MOST)}</span> : null}
        {known.length > both.length ? <span class="warn-ink num">{t().skipped(known.length - both.length)}</span> : null}
      </div>
      {text ? <Shown of={figures} lines={6}>{(found) => <Means of={found} />}</Shown> : null}
      <div class="short" tabIndex={0} role="region" aria-label={t().set}>
        <Table heads={["nDCG@10", "A", "B", t().difference]} right={[1, 2, 3]}>
            {questions.value.map((one) => {
              const [base, candidate] = ndcgOf(figures.data.value?.byQuestion.get(one));
              return (
                <tr key={one.query}>
                  <td><button class="quiet question" dir="auto" onClick={() => onQuestion(one.query)}>{one.query}</button></td>
                  <td class="num right">{base === undefined ? "–" : num(base, 2)}</td><td class="num right">{candidate === undefined ? "–" : num(candidate, 2)}</td>
                  <td class="num right">{base === undefined || candidate === undefined ? "–" : signed(candidate - base, 2)}</td>
                </tr>
              );
            })}
        </Table>
      </div>
    </>
  );
}

const ndcgOf = (one: Schema<"MeasuredQuestionAnswer"> | undefined): (number | undefined)[] => [one?.base, one?.candidate].map((side) => side?.measures?.["ndcg@10"]);

const signed = (value: number, digits: number): string => (Math.abs(value) < 10 ** -digits / 2 ? "=" : `${value > 0 ? "+" : "−"}${num(Math.abs(value), digits)}`);

function Means({ of }: { of: Measured }): VNode {
  return (
    <Table heads={[t().measure, "A", "B", t().difference, ""]} right={[1, 2, 3]}>
          {Object.entries(of.measures).map(([name, { base, candidate, interval, verdict }]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="num right">{num(base, 3)}</td><td class="num right">{num(candidate ?? base, 3)}</td>
                <td class="num right">{signed(interval.mean, 3)} <span class="dim">[{signed(interval.low, 3)}, {signed(interval.high, 3)}]</span></td>
                <td>{verdict === "worse" ? t().worse : verdict === "better" ? t().better : interval.low || interval.high ? t().noDifference(of.byQuestion.size) : t().same}</td>
              </tr>
          ))}
    </Table>
  );
}
