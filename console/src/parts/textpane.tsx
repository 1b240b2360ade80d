/** The place of a hit in its document: text in windows, marks, minimap, finding, citations. */
import type { ComponentChildren, VNode } from "preact";
import { announce } from "../announce";
import type { Id, Problem } from "../api";
import { useEffect, useMemo, useRef } from "../hooks";
import { textTexts as t } from "../i18n/text";
import { tableName } from "../lists";
import { findAll, findText, readChunks, readText, type TextWindow } from "../reading";
import { useResource } from "../resource";
import { CodePoints } from "../rules/offsets";
import { numberOf } from "../router";
import { may } from "../session";
import { occurrences, type Range } from "../rules/segments";
import { WINDOW, windowOf, windowsOf } from "../rules/windows";
import { useSignal } from "../signals";
import { copyText } from "./copy";
import { Minimap } from "./minimap";
import { ProblemBox, Shown } from "./states";
import { selectedRange, Text } from "./text";

export interface PaneProps {
  readonly table: Id;
  readonly pointer: string;
  /** Whose chunks are marked; none without a tool. */
  readonly tool: Id | null;
  /** The place to show, and what it held when it was indexed. */
  readonly place: (Range & { readonly text?: string }) | null;
  readonly matches: readonly Range[];
  readonly hits: readonly Range[];
  readonly children?: ComponentChildren;
  /** Told the revision of the table that a window was read of. */
  readonly onRead?: (revision: number) => void;
  /** More buttons, which are given what is selected or shown. */
  readonly actions?: (chosen: () => Range | null, text: (range: Range) => string) => ComponentChildren;
}
const NONE: readonly Range[] = [];
/** So long after the last letter the whole string is read. */
const TYPED_MS = 300;

export function TextPane(props: PaneProps): VNode {
  const { table, pointer, tool } = props;
  const chunks = useResource(tool === null ? null : `${tool} ${pointer}`, (signal) => readChunks(tool!, pointer, signal));
  const at = useSignal(props.place?.start ?? 0);
  const total = useSignal<number | null>(null);
  useEffect(() => {
    at.value = props.place?.start ?? 0;
  }, [table, pointer, props.place?.start]);
  useEffect(() => {
    total.value = null;
  }, [table, pointer]);
  const known = tool === null ? NONE : chunks.data.value;
  // Where a string ends is known when it is read, and makes its window no other one.
  const beyond = total.value !== null && at.value >= total.value;
  const wanted = windowOf(at.value, beyond ? total.value! : Infinity, (known ?? NONE) as never);
  // The first window begins at 0, wherever chunks are: it need not wait for them.
  const ready = at.value < WINDOW || known !== null || chunks.problem.value !== null;
  const window = useResource(ready ? `${table} ${pointer} ${wanted.start} ${wanted.end} ${may("manage") ? "" : props.place?.start}` : null, async (signal) => {
    const of = `${table} ${pointer}`;
    if (!may("manage")) return { ...readHit(props.place!), of };
    const read = await readText(table, pointer, wanted.start, wanted.end, signal);
    total.value = read.total;
    props.onRead?.(read.revision);
    return { ...read, of };
  });
  return (
    <Shown of={window} lines={8}>
      {(read) => (
        <Window {...props} window={read} chunks={(known ?? NONE) as never} onGo={(place) => (at.value = place)} />
      )}
    </Shown>
  );
}

/** A key that may only search reads no document: the passage is all there is. */
function readHit(place: NonNullable<PaneProps["place"]>): TextWindow {
  const text = new CodePoints(place.text ?? "");
  return { text, start: place.start, total: place.end, revision: 0 };
}

interface WindowProps extends PaneProps {
  /** `of`: table and pointer of the string; the window of the one before is shown until it is there. */
  readonly window: { readonly text: CodePoints; readonly start: number; readonly total: number; readonly of: string };
  readonly chunks: readonly { index: number; start: number; end: number }[];
  readonly onGo: (place: number) => void;
}

interface Located {
  readonly range: Range | null;
  readonly state: "same" | "moved" | "gone" | "searching";
  readonly problem?: Problem | null;
}

/** Where the passage is now: as it was indexed, or elsewhere in this window. */
function located(window: WindowProps["window"], place: PaneProps["place"]): Located {
  if (!place || place.text === undefined) return { range: place, state: "same" };
  const there = window.text.slice(place.start - window.start, place.end - window.start);
  if (there === place.text) return { range: place, state: "same" };
  const found = window.text.text.indexOf(place.text);
  return found < 0 ? { range: null, state: "gone" } : at(window.start + window.text.fromUnits(found), place);
}

const at = (start: number, place: Range): Located => ({ range: { start, end: start + place.end - place.start }, state: "moved" });

/** The same, and what is not in this window is searched in the whole string, once. */
function useLocated({ window, place, table, pointer, onGo }: WindowProps, key: string, isOld: boolean): Located {
  const here = useMemo(() => located(window, place), [window, key]);
  const asked = useSignal("");
  const near = Math.min(place?.start ?? 0, window.total - 1);
  const isHere = near >= window.start && near < window.start + window.text.length;
  useEffect(() => {
    if (here.state === "gone" && isHere && !isOld) asked.value = key;
  }, [here, isHere, isOld]);
  const wanted = asked.value === key && may("manage");
  const elsewhere = useResource(wanted ? key : null, async (signal) => ({ key, start: await findText(table, pointer, place!.text!, place!.start, window.total, signal) }));
  // Undefined until it is known, null when it is nowhere.
  const found = wanted && elsewhere.data.value?.key === key ? elsewhere.data.value.start : undefined;
  useEffect(() => {
    if (typeof found === "number") onGo(found);
  }, [found]);
  if (isOld) return { range: null, state: "same" };
  if (here.state !== "gone") return here;
  if (typeof found === "number") return at(found, place!);
  if (found === null || !may("manage")) return here;
  return { range: null, state: isHere ? "searching" : "same", problem: elsewhere.problem.value };
}

function Window(props: WindowProps): VNode {
  const { window, chunks, pointer, table } = props;
  const box = useRef<HTMLDivElement>(null);
  // Of the string before, which is shown until the next is there.
  const isOld = window.of !== `${table} ${pointer}`;
  const showChunks = useSignal(true);
  const showInvisible = useSignal(false);
  const wanted = useSignal("");
  const current = useSignal(0);
  const target = useSignal<Range | null>(null);
  const { range: hit, state, problem } = useLocated(props, [table, pointer, props.place?.start, props.place?.end, props.place?.text].join("\n"), isOld);
  const [from, to] = [numberOf("m", -1), numberOf("n", -1)];
  // An address can name one; those of hits come with them.
  const matches = useMemo(() => (to > from && !props.matches.length ? [{ start: from, end: to }] : props.matches), [props.matches, from, to]);
  const here = useMemo(() => occurrences(window.text, window.start, wanted.value), [window, wanted.value]);
  const isWhole = window.text.length >= window.total;
  // A window is not the string: what is counted, and stepped through, is read of all of it.
  const looked = useResource(wanted.value && !isWhole && !isOld && may("manage") ? `${table} ${pointer} ${wanted.value}` : null, async (signal) => {
    await new Promise((resolve) => setTimeout(resolve, TYPED_MS));
    signal.throwIfAborted();
    return { wanted: wanted.value, ...(await findAll(table, pointer, wanted.value, window.total, signal)) };
  });
  const all = isWhole || !may("manage") ? { places: here, cut: false } : looked.data.value?.wanted === wanted.value ? looked.data.value : null;
  const found = all?.places ?? NONE;
  const marked = useMemo(
    () => ({ chunks, hit, matches: wanted.value ? here : state === "same" ? matches : NONE }),
    [chunks, hit?.start, hit?.end, here, matches, wanted.value, state],
  );
  useEffect(() => {
    const words = state === "same" && hit ? matches.filter(({ start, end }) => start >= hit.start && end <= hit.end) : [];
    // What was found, not where its chunk begins.
    const [first = hit] = words.sort((a, b) => a.start - b.start);
    const place = wanted.value ? found[current.value] : undefined;
    target.value = place && place.start >= window.start ? { ...place } : (first ?? { start: window.start, end: window.start });
  }, [hit?.start, hit?.end, window, state]);
  const step = (by: number): void => {
    if (!found.length) return;
    current.value = (current.value + by + found.length) % found.length;
    const place = found[current.value]!;
    if (place.start >= window.start && place.end <= window.start + window.text.length) target.value = { ...place };
    else props.onGo(place.start);
  };
  // Who has no mouse finds the words, and so chooses them.
  const isShown = (place: Range | undefined): place is Range => !!place && here.some((one) => one.start === place.start);
  const chosen = (): Range | null => (box.current && selectedRange(box.current)) || [found[current.value]].find(isShown) || hit;
  const textOf = (range: Range): string => window.text.slice(range.start - window.start, range.end - window.start);
  const cite = (whole: boolean): void => {
    const range = chosen();
    if (!range) return announce(t().gone);
    const place = `${tableName(table)} ${pointer || "/"} ${t().range(range.start, range.end)}`;
    void copyText(whole ? `“${textOf(range)}”\n— ${place}` : textOf(range));
  };
  const parts = windowsOf(window.total, chunks);
  const shown = { start: window.start, end: window.start + window.text.length };
  const goTo = (place: number): void => {
    if (place >= shown.start && place < shown.end) target.value = { start: place, end: place };
    else props.onGo(place);
  };
  return (
    <div class={isOld ? "pane old" : "pane"} aria-busy={isOld} ref={box}>
      <div class="row panebar">
        <span class="dim small num grow">{t().windowOf(shown.start, shown.end, window.total)}</span>
        {parts.length > 1 ? (
          <label class="small">
            <span class="sr">{t().window}</span>
            <select value={String(parts.findIndex((part) => part.start === shown.start))} onChange={(event) => props.onGo(parts[Number(event.currentTarget.value)]!.start)}>
              {parts.map((_, at) => <option key={at} value={String(at)}>{`${at + 1} / ${parts.length}`}</option>)}
            </select>
          </label>
        ) : null}
        {chunks.length ? (
          <label class="check small"><input type="checkbox" checked={showChunks.value} onChange={() => (showChunks.value = !showChunks.value)} />{t().chunks}</label>
        ) : null}
        <label class="check small"><input type="checkbox" checked={showInvisible.value} onChange={() => (showInvisible.value = !showInvisible.value)} />{t().invisible}</label>
        <form class="row find" aria-label={t().find} onSubmit={(event) => { event.preventDefault(); step(wanted.value ? 1 : 0); }}>
          <input type="search" class="small" aria-label={t().find} placeholder={t().find} value={wanted.value}
            onInput={(event) => { wanted.value = event.currentTarget.value; current.value = -1; }} />
          {wanted.value ? (
            <>
              <span class="small num dim" role="status">{looked.problem.value ? t().notFound : all ? t().found(current.value + 1, found.length, all.cut) : t().looking}</span>
              <button type="button" class="quiet" aria-label={t().previous} onClick={() => step(-1)}>↑</button>
              <button class="quiet" aria-label={t().next}>↓</button>
            </>
          ) : null}
        </form>
      </div>
      {problem ? <ProblemBox problem={problem} /> : state === "same" ? null : <p class="bar warn" role="status"><span>{state === "gone" ? t().gone : state === "moved" ? t().moved : t().lost}</span></p>}
      <div class="reading">
        <div class="scroller">
          <Text text={window.text} start={window.start} marked={marked} showChunks={showChunks.value} showInvisible={showInvisible.value} target={target.value} />
        </div>
        <Minimap total={window.total} window={shown} hits={props.hits} matches={marked.matches} current={hit} onGo={goTo} />
      </div>
      <div class="row">
        <button class="small" onClick={() => cite(true)}>{t().citation}</button>
        <button class="small" onClick={() => cite(false)}>{t().passage}</button>
        {props.actions?.(chosen, textOf)}
        {chunks.length && showChunks.value ? <span class="dim small legend"><span class="overlap" aria-hidden="true">  </span> {t().legend}</span> : null}
        {props.children}
      </div>
    </div>
  );
}
