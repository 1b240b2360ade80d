/** Two answers as one table: what stands where in each, and where it went. */
import type { VNode } from "preact";
import { evaluateTexts as t } from "../i18n/evaluate";
import { num } from "../i18n/language";
import { type Hit, excerpt } from "../rules/hits";
import { gradeOf, type Judged, ranksIn } from "../rules/judging";

interface CompareProps {
  readonly a: readonly Hit[];
  readonly b: readonly Hit[];
  readonly judged: Judged | undefined;
}

export function Compare({ a, b, judged }: CompareProps): VNode {
  const [inB, inA] = [ranksIn(a, b), ranksIn(b, a)];
  const [onlyA, onlyB] = [inB, inA].map((ranks) => ranks.filter((rank) => !rank).length) as [number, number];
  const cell = (hit: Hit | undefined): VNode => <td class="answer">{hit ? <Passage hit={hit} grade={gradeOf(judged, hit)} /> : null}</td>;
  return (
    <section class="stack">
      <p class="num" role="status">{t().overlap(Math.min(a.length - onlyA, b.length - onlyB), Math.max(a.length, b.length), onlyA, onlyB)}</p>
      <div class="panel flush table">
        <table class="compare">
          <thead><tr><th class="right">#</th><th>A</th><th>{t().move}</th><th>B</th><th>{t().move}</th></tr></thead>
          <tbody>
            {Array.from({ length: Math.max(a.length, b.length) }, (_, at) => (
              <tr key={at}>
                <th scope="row" class="num right">{at + 1}</th>
                {cell(a[at])}
                <td class="small num">{a[at] ? moved(inB[at]!, at + 1, t().gone) : ""}</td>
                {cell(b[at])}
                <td class="small num">{b[at] ? (inA[at] ? (inA[at] === at + 1 ? "=" : `A ${num(inA[at]!)}`) : <strong>{t().fresh}</strong>) : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const moved = (to: number, from: number, gone: string): string => (!to ? gone : to === from ? `= ${t().samePlace}` : to < from ? t().up(to) : t().down(to));

function Passage({ hit, grade }: { hit: Hit; grade: number | null }): VNode {
  return (
    <>
      <p class="row small"><strong><bdi>{hit.title}</bdi></strong><code class="grow clip"><bdi>{hit.pointer || "/"}</bdi></code><span class="dim num">{num(hit.start + 1)}–{num(hit.end)}</span><span class="num">{num(hit.relevance, 2)}</span>{grade === null ? null : <span class="badge">{num(grade)}</span>}</p>
      <p class="small" dir="auto">{excerpt(hit, 160).text}</p>
    </>
  );
}
