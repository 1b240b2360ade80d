/** One place of a plan: what goes, what comes, and what stands around it. */
import type { VNode } from "preact";
import type { Schema } from "../api";
import { intoView } from "../hooks";
import { replaceTexts as t } from "../i18n/replace";
import { href } from "../router";
import { may } from "../session";

interface MatchProps {
  readonly place: Schema<"MatchAnswer">;
  readonly left: boolean;
  readonly fixed: boolean;
  readonly current: boolean;
  readonly onToggle: () => void;
}

export function Match({ place, left, fixed, current, onToggle }: MatchProps): VNode {
  const at = t().character(place.char_start);
  const there = { p: place.json_pointer, a: place.char_start, b: place.char_end };
  return (
    <li ref={current ? intoView : null} class={`match-row${left ? " left" : ""}${current ? " current" : ""}`}>
      <input type="checkbox" checked={!left} disabled={fixed} onChange={onToggle} aria-label={`${t().include}: ${at}`} />
      <p class="grow" dir="auto">
        <span class="dim">…{place.before}</span>
        <del>{place.found}</del>
        {left ? null : <ins>{place.becomes}</ins>}
        <span class="dim">{place.after}…</span>
      </p>
      {may("manage") ? <a class="small" href={href(`/documents/${place.table_id}`, there)}>{at}</a> : <span class="small dim">{at}</span>}
    </li>
  );
}
