/** A document's outline as a tree: 200 children at a time, by mouse and by the keys of a tree. */
import type { VNode } from "preact";
import { type Id, post, Problem, type Schema } from "../api";
import { intoView, useEffect, useRef } from "../hooks";
import { documentTexts as t } from "../i18n/documents";
import { num } from "../i18n/language";
import { ancestors, lastKey, parent } from "../rules/pointer";
import { type Signal, useSignal } from "../signals";
import { Loading, ProblemBox } from "./states";

export type Child = Schema<"ChildAnswer">;
export type Outline = Schema<"OutlineAnswer">;
interface Branch {
  readonly children: readonly Child[];
  readonly cursor: string | null;
  readonly length: number;
}
interface TreeProps {
  readonly table: Id;
  readonly selected: string;
  /** Whose chunks and problems are shown, and may be filtered by. */
  readonly tool: string;
  readonly onSelect: (pointer: string) => void;
  /** Told what is selected when all is read; null where the tree does not show it. */
  readonly onFound: (child: Child | null) => void;
  readonly onGone: () => void;
  /** Of the table as the outline shows it. */
  readonly revision: Signal<number | null>;
  /** What is open, which stays when the document is read anew. */
  readonly open: Signal<ReadonlySet<string>>;
}

const PAGE = 200;
const isBranch = (child: Child): boolean => child.type === "object" || child.type === "array";

export function Tree(props: TreeProps): VNode {
  const { table, selected, tool } = props;
  const only = useSignal("");
  /** What keys have to contain, by the place whose members they are. */
  const keys = useSignal<ReadonlyMap<string, string>>(new Map());
  const branches = useSignal<ReadonlyMap<string, Branch>>(new Map());
  const { open } = props;
  const focus = useSignal(selected);
  const problem = useSignal<Problem | null>(null);
  const reading = useSignal(0);
  const box = useRef<HTMLUListElement>(null);
  const isChosen = (child: Child): boolean => child.json_pointer === selected;
  const load = async (pointer: string, cursor: string | null = null): Promise<void> => {
    const [kind, key] = [only.value, keys.value.get(pointer)];
    const body = {
      json_pointer: pointer, limit: PAGE,
      ...(cursor === null ? {} : { cursor }),
      ...(kind ? { only: kind } : {}),
      ...(key ? { key } : {}),
      ...(tool ? { tool_id: Number(tool) } : {}),
    };
    reading.value += 1;
    try {
      const read = (more?: object): Promise<Outline> => post<Outline>(`/api/v1/tables/${table}/outline`, { ...body, ...more });
      const answer = await read();
      props.revision.value = answer.revision;
      const before = cursor === null ? [] : (branches.value.get(pointer)?.children ?? []);
      // What is chosen stands behind the first members until their page is read.
      const isFar = selected && parent(selected) === pointer && answer.cursor !== null && cursor === null && !key && !answer.children.some(isChosen);
      const far = isFar ? (await read({ key: lastKey(selected) })).children.filter(isChosen) : [];
      // The answer to an earlier filter may come last.
      if (kind !== only.value || key !== keys.value.get(pointer)) return;
      const children = [...before.filter((child) => !answer.children.some((one) => one.key === child.key)), ...answer.children, ...far];
      const branch = { children, cursor: answer.cursor, length: answer.length ?? 0 };
      branches.value = new Map(branches.value).set(pointer, branch);
      problem.value = null;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // What was open may be gone from the document since.
      if (pointer && !ancestors(selected).includes(pointer) && error.fields.status < 429) return toggle(pointer, false);
      problem.value = error;
      if (!pointer && error.fields.status === 404) props.onGone();
    } finally {
      reading.value -= 1;
    }
  };
  const toggle = (pointer: string, wanted?: boolean): void => {
    const next = new Set(open.value);
    const opens = wanted ?? !next.has(pointer);
    if (opens) next.add(pointer);
    else next.delete(pointer);
    open.value = next;
    if (opens && !branches.value.has(pointer)) void load(pointer);
  };
  useEffect(() => {
    branches.value = new Map();
    open.value = new Set([...open.value, "", ...ancestors(parent(selected))]);
    for (const pointer of open.value) void load(pointer);
  }, [table, only.value, tool]);
  useEffect(() => {
    // What is open is read already, or is being read.
    for (const pointer of ancestors(parent(selected))) if (!open.value.has(pointer)) toggle(pointer, true);
    focus.value = selected;
  }, [selected]);
  const childAt = (pointer: string): Child | undefined => branches.value.get(parent(pointer))?.children.find((child) => child.json_pointer === pointer);
  /** The level that is open: what the chosen one holds, or else what holds it. */
  const chosen = childAt(selected);
  useEffect(() => {
    if (!reading.value) props.onFound(chosen ?? null);
  }, [selected, !reading.value]);
  const level = chosen && isBranch(chosen) ? selected : parent(selected);
  const filterBy = (wanted: string): void => {
    keys.value = new Map(keys.value).set(level, wanted);
    toggle(level, true);
    void load(level);
  };
  const onKey = (event: KeyboardEvent): void => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? [])];
    const at = items.findIndex((one) => one === document.activeElement);
    const item = items[at];
    if (item) focus.value = item.dataset["pointer"]!;
    const to = (index: number): void => {
      const next = items[Math.max(0, Math.min(items.length - 1, index))];
      if (!next) return;
      focus.value = next.dataset["pointer"]!;
      next.focus();
    };
    const opened = item?.getAttribute("aria-expanded");
    if (event.key === "ArrowDown") to(at + 1);
    else if (event.key === "ArrowUp") to(at - 1);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(items.length - 1);
    else if (event.key === "ArrowRight" && opened === "false") toggle(focus.value, true);
    else if (event.key === "ArrowRight" && opened === "true") to(at + 1);
    else if (event.key === "ArrowLeft" && opened === "true") toggle(focus.value, false);
    else if (event.key === "ArrowLeft") to(items.findIndex((one) => one.dataset["pointer"] === parent(focus.value)));
    else if ((event.key === "Enter" || event.key === " ") && item) props.onSelect(focus.value);
    else return;
    event.preventDefault();
  };
  const root = branches.value.get("");
  const render = (pointer: string, level: number): VNode[] => {
    const branch = branches.value.get(pointer);
    if (!branch) return [];
    const rows = branch.children.flatMap((child) => {
      const opened = isBranch(child) ? open.value.has(child.json_pointer) : undefined;
      const row = (
        <li ref={isChosen(child) ? intoView : null} key={child.json_pointer} role="treeitem" aria-level={level} aria-expanded={opened} aria-selected={isChosen(child)}
          tabIndex={child.json_pointer === (childAt(focus.value) ? focus.value : root?.children[0]?.json_pointer) ? 0 : -1}
          data-pointer={child.json_pointer} style={{ paddingLeft: `${(level - 1) * 14 + 6}px` }}
          onClick={() => { focus.value = child.json_pointer; props.onSelect(child.json_pointer); if (isBranch(child)) toggle(child.json_pointer); }}>
          <Row child={child} opened={opened} />
        </li>
      );
      return opened ? [row, ...render(child.json_pointer, level + 1)] : [row];
    });
    if (!branch.children.length && (only.value || keys.value.get(pointer))) {
      rows.push(<li key={`${pointer} none`} role="none" class="dim small" style={{ paddingLeft: `${level * 14 + 6}px` }}>{t().noneHere}</li>);
    }
    if (branch.cursor !== null) {
      rows.push(
        <li key={`${pointer} more`} role="none" style={{ paddingLeft: `${level * 14}px` }}>
          <button class="small quiet" onClick={() => void load(pointer, branch.cursor)}>{t().more(Math.min(PAGE, Math.max(1, branch.length - branch.children.length)))}</button>
        </li>,
      );
    }
    return rows;
  };
  return (
    <>
      <div class="row treebar">
        <select aria-label={t().only} value={only.value} onChange={(event) => (only.value = event.currentTarget.value)}>
          <option value="">{t().everything}</option><option value="large">{t().large}</option>{tool ? <option value="problem">{t().problem}</option> : null}
        </select>
        <input key={level} class="grow" type="search" aria-label={t().keyIn(level || "/")} placeholder={t().keyIn(level || "/")} title={t().keyIn(level || "/")}
          defaultValue={keys.value.get(level) ?? ""} onChange={(event) => filterBy(event.currentTarget.value)} />
      </div>
      <div class="treebox">
        <ProblemBox problem={problem.value} retry={() => void load("")} />
        {root ? <ul ref={box} class="tree plain" role="tree" aria-label={t().outline} onKeyDown={onKey}>{render("", 1)}</ul> : problem.value ? null : <Loading />}
      </div>
    </>
  );
}

function Row({ child, opened }: { child: Child; opened: boolean | undefined }): VNode {
  const length = child.length ?? 0;
  const about = child.type === "object" ? t().members(length) : child.type === "array" ? t().elements(length) : child.type === "string" && length > 40 ? t().characters(length) : "";
  return (
    <>
      <span class="twist" aria-hidden="true">{opened === undefined ? "" : opened ? "▾" : "▸"}</span>
      <bdi class="key">{child.key || "“”"}</bdi>
      <span class={`grow clip small kind-${child.type}`} dir="auto">{child.title ? <><span class="title">{child.title}</span> </> : null}{about || (child.type === "string" ? `“${child.text ?? ""}”` : (child.text ?? ""))}</span>
      {child.string?.chunks_count ? <span class="badge small good" title={t().chunks(child.string.chunks_count)}>{num(child.string.chunks_count)}</span> : null}
      {child.problems ? <span class="badge small bad">▲ {child.string?.last_error?.code ?? num(child.problems)}</span> : null}
    </>
  );
}
