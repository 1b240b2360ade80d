/** The whole string as a strip: chunks with hits, matches, and what is in the window. A click goes
 * there; lists and buttons beside it do the same for the keyboard. */
import type { VNode } from "preact";
import type { Range } from "../rules/segments";

interface MinimapProps {
  readonly total: number;
  readonly window: Range;
  readonly hits: readonly Range[];
  readonly matches: readonly Range[];
  readonly current: Range | null;
  readonly onGo: (place: number) => void;
}
const HEIGHT = 1000;

export function Minimap({ total, window, hits, matches, current, onGo }: MinimapProps): VNode {
  const scale = HEIGHT / Math.max(1, total);
  const strip = (range: Range, kind: string, least: number, key: number): VNode => (
    <rect key={key} class={kind} x="0" width="14" y={range.start * scale} height={Math.max(least, (range.end - range.start) * scale)} />
  );
  const go = (event: MouseEvent): void => {
    const box = (event.currentTarget as SVGElement).getBoundingClientRect();
    onGo(Math.floor(((event.clientY - box.top) / box.height) * total));
  };
  return (
    <svg class="minimap" viewBox={`0 0 14 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" onClick={go}>
      {strip(window, "seen", 2, -1)}
      {hits.map((range, at) => strip(range, "hits", 6, at))}
      {current ? strip(current, "current", 8, -2) : null}
      {matches.map((range, at) => strip(range, "matches", 3, at + hits.length))}
    </svg>
  );
}
