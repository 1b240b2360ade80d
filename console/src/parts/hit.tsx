/** One hit: how relevant, where, its words, and why. */
import type { VNode } from "preact";
import { t as common } from "../i18n/common";
import { num } from "../i18n/language";
import { partTexts, searchTexts as t } from "../i18n/search";
import { textTexts } from "../i18n/text";
import { tableName } from "../lists";
import { type Candidate, excerpt, type Hit } from "../rules/hits";
import { CodePoints } from "../rules/offsets";
import { segments } from "../rules/segments";

interface HitProps {
  readonly hit: Hit;
  readonly rank: number;
  readonly picked: boolean;
  readonly whyOpen: boolean;
  readonly onPick: () => void;
  readonly onWhy: () => void;
}

export function HitCard({ hit, rank, picked, whyOpen, onPick, onWhy }: HitProps): VNode {
  const { text, matches } = excerpt(hit);
  const pieces = segments(new CodePoints(text), 0, { chunks: [], matches, hit: null });
  return (
    <li class={picked ? "hitcard picked" : "hitcard"} data-rank={rank}>
      <div class="hithead">
        <span class="rank num dim">{rank}</span>
        <button class="place" aria-pressed={picked} onClick={onPick}>
          <bdi class="clip">{hit.title || tableName(hit.table)}</bdi> <code class="dim"><bdi>{hit.pointer || "/"}</bdi></code>
        </button>
        <Relevance value={hit.relevance} />
      </div>
      <p class="excerpt" dir="auto" onClick={onPick}>
        {pieces.map((piece) => (piece.match ? <mark key={piece.start}>{piece.text}</mark> : piece.text))}
      </p>
      <div class="row small dim hitfoot">
        <span class="num">{textTexts().chunkOf(hit.index, hit.total)}</span>
        {hit.stale ? <span class="badge warn">{common().stale}</span> : null}
        {hit.duplicates ? <span class="badge">{t().duplicates(hit.duplicates)}</span> : null}
        <span class="grow" />
        {hit.candidate ? (
          <button class="quiet small" aria-expanded={whyOpen} onClick={onWhy}>{t().why} {whyOpen ? "▾" : "▸"}</button>
        ) : null}
      </div>
      {whyOpen && hit.candidate ? <Why candidate={hit.candidate} /> : null}
    </li>
  );
}

/** The large number, and a bar that says the same. */
export function Relevance({ value }: { value: number }): VNode {
  return (
    <span class="relevance" title={`${t().relevance} ${num(value, 4)}`}>
      <span class="sr">{t().relevance} </span>
      <span class="num">{num(value, 2)}</span>
      <span class="gauge" aria-hidden="true"><span class="fill" style={{ width: `${value * 100}%` }} /></span>
    </span>
  );
}

const LEGS = ["keyword", "vector", "recency"] as const;

/** Bars to scale: what each part has added; they sum to the score. */
function Why({ candidate }: { candidate: Candidate }): VNode {
  const names = partTexts() as unknown as Record<string, string>;
  const parts = Object.entries(candidate.parts ?? {});
  const most = Math.max(0.0001, ...parts.map(([, value]) => Math.abs(value)));
  const sum = parts.reduce((total, [, value]) => total + value, 0);
  return (
    <div class="why">
      <table>
        <caption class="sr">{t().legs}</caption>
        <tbody>
          {parts.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{names[`part_${name}`] ?? name}</th>
              <td class="barcell"><span class={`fill part-${(LEGS as readonly string[]).includes(name) ? name : "second"}`} style={{ width: `${(Math.abs(value) / most) * 100}%` }} /></td>
              <td class="num right">{value < 0 ? "−" : "+"}{num(Math.abs(value), 4)}</td>
              <td class="dim num small">{legOf(candidate, name)}</td>
            </tr>
          ))}
          <tr class="sum">
            <th scope="row">{t().score}</th>
            <td />
            <td class="num right">{num(sum, 4)}</td>
            <td />
          </tr>
        </tbody>
      </table>
      <p class="small"><span class="dim">{t().words}</span> <bdi>{candidate.matched_terms?.join(" · ") || t().noWords}</bdi></p>
    </div>
  );
}

function legOf(candidate: Candidate, name: string): string {
  if (name !== "keyword" && name !== "vector") return "";
  const leg = candidate.legs?.[name];
  if (!leg) return "";
  return leg.rank === null || leg.rank === undefined ? t().unranked : `${t().rank(leg.rank)} · ${num(leg.score, 3)}`;
}
