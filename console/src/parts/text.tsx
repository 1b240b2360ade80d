/** A window of a string: the exact text, with chunks, overlaps, matches and the hit marked on it.
 * Marks are generated content, so what is selected and copied is the text. */
import type { VNode } from "preact";
import { useEffect, useMemo, useRef } from "../hooks";
import { textTexts as t } from "../i18n/text";
import { CodePoints } from "../rules/offsets";
import { useShortcut } from "../shortcuts";
import { codeOf, INVISIBLE, type Marked, type Range, type Segment, segments } from "../rules/segments";

interface TextProps {
  readonly text: CodePoints;
  readonly start: number;
  readonly marked: Marked;
  readonly showChunks: boolean;
  readonly showInvisible: boolean;
  /** What is scrolled into view and flashed; another object, another time. */
  readonly target: Range | null;
}

export function Text({ text, start, marked, showChunks, showInvisible, target }: TextProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const cut = useMemo(
    () => segments(text, start, showChunks ? marked : { ...marked, chunks: [] }),
    [text, start, marked, showChunks],
  );
  useEffect(() => {
    if (!target || !box.current) return;
    reveal(box.current, target);
  }, [target, cut]);
  const step = (by: number): void => stepChunk(box.current!, by);
  useShortcut("]", () => t().nextChunk, () => step(1));
  useShortcut("[", () => t().previousChunk, () => step(-1));
  return (
    <div ref={box} class="text" dir="auto" tabIndex={0} role="region" aria-label={t().text}>
      {cut.map((segment) => (
        <Piece key={segment.start} segment={segment} showInvisible={showInvisible} />
      ))}
    </div>
  );
}

function Piece({ segment, showInvisible }: { segment: Segment; showInvisible: boolean }): VNode {
  const classes = ["piece", segment.inside.length > 1 && "overlap", segment.hit && "hit", segment.match && "match"];
  const begins = segment.begins.length ? segment.begins.map((index) => index + 1).join(" ") : undefined;
  const label = segment.begins.length ? t().chunkAt(begins!, segment.start, segment.inside.filter((index) => !segment.begins.includes(index)).map((index) => index + 1).join(" ")) : undefined;
  const Tag = segment.match ? "mark" : "span";
  return (
    <Tag class={classes.filter(Boolean).join(" ")} data-start={segment.start} data-end={segment.end} data-chunk={begins} {...(label ? { tabIndex: -1, role: "group", "aria-label": label } : {})}>
      {showInvisible ? shownInvisible(segment.text) : segment.text}
    </Tag>
  );
}

function shownInvisible(text: string): (string | VNode)[] {
  const pieces: (string | VNode)[] = [];
  let at = 0;
  for (const found of text.matchAll(INVISIBLE)) {
    pieces.push(text.slice(at, found.index));
    pieces.push(<span key={found.index} class="unseen" data-code={codeOf(found[0])}>{found[0]}</span>);
    at = found.index + found[0].length;
  }
  pieces.push(text.slice(at));
  return pieces;
}

/** Goes to where the next chunk begins, or the one before; what has the focus is read out. */
function stepChunk(box: HTMLElement, by: number): void {
  const marks = [...box.querySelectorAll<HTMLElement>("[data-chunk]")];
  const at = marks.indexOf(document.activeElement as HTMLElement);
  const seen = marks.findIndex((mark) => mark.getBoundingClientRect().top >= box.parentElement!.getBoundingClientRect().top);
  marks[at < 0 ? Math.max(0, seen) : Math.max(0, Math.min(marks.length - 1, at + by))]?.focus();
}

/** Scrolls the text's own box, never the page, so that the place stands in its upper third. */
function reveal(box: HTMLElement, target: Range): void {
  const pieces = [...box.querySelectorAll<HTMLElement>("[data-start]")];
  const first = pieces.find((piece) => Number(piece.dataset["end"]) > target.start);
  if (!first) return;
  const scroller = box.closest<HTMLElement>(".scroller") ?? box;
  const top = first.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
  scroller.scrollTop += top - scroller.clientHeight / 4;
  for (const piece of pieces) {
    const inside = Number(piece.dataset["start"]) >= target.start && Number(piece.dataset["end"]) <= target.end;
    piece.classList.toggle("flash", inside);
  }
}

/** What is selected in a text, in code points of its string; null when nothing is. */
export function selectedRange(box: ParentNode): Range | null {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const range = selection.getRangeAt(0);
  if (!box.contains(range.startContainer) || !box.contains(range.endContainer)) return null;
  const [start, end] = [placeOf(range.startContainer, range.startOffset), placeOf(range.endContainer, range.endOffset)];
  return start === null || end === null || start >= end ? null : { start, end };
}

function placeOf(node: Node, offset: number): number | null {
  const element = node instanceof HTMLElement ? node : node.parentElement;
  const piece = element?.closest<HTMLElement>("[data-start]");
  if (!piece) {
    const child = node.childNodes[Math.min(offset, node.childNodes.length - 1)];
    const next = child instanceof HTMLElement ? child : null;
    const side = offset < node.childNodes.length ? "start" : "end";
    return next?.dataset[side] === undefined ? null : Number(next.dataset[side]);
  }
  const before = document.createRange();
  before.setStart(piece, 0);
  before.setEnd(node, offset);
  return Number(piece.dataset["start"]) + new CodePoints(before.toString()).length;
}
