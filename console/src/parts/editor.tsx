/** Editing one value: the text as it is, or JSON as it is; numbers are never parsed. Saving names
 * the revision that was read; another one shows both. */
import type { VNode } from "preact";
import { announce } from "../announce";
import { type Id, isStale, Problem, type ProblemFields, request, type Schema } from "../api";
import { draftOf, keep, mayDrop, type Read } from "../drafts";
import { useEffect, useMemo, useRef } from "../hooks";
import { t as common } from "../i18n/common";
import { documentTexts as t } from "../i18n/documents";
import { useResource } from "../resource";
import { session } from "../session";
import { useSignal } from "../signals";
import { ProblemBox, Shown } from "./states";

interface EditorProps {
  readonly table: Id;
  readonly pointer: string;
  readonly isText: boolean;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

async function read({ table, pointer, isText }: EditorProps, signal?: AbortSignal): Promise<Read> {
  const call = { body: { json_pointer: pointer }, ...(signal ? { signal } : {}) };
  const answer = await request("POST", `/api/v1/tables/${table}/data/read`, call);
  const revision = Number((answer.etag ?? "").replaceAll('"', ""));
  return { text: isText ? (JSON.parse(answer.raw) as string) : answer.raw, revision };
}

export function Editor(props: EditorProps): VNode {
  const value = useResource(`${props.table} ${props.pointer}`, (signal) => read(props, signal));
  const of = editing(props.table, props.pointer);
  const began = useMemo(() => draftOf(of), [of]); // once: a field that is made anew loses its cursor
  return began ? <Field {...props} was={began.was} /> : <Shown of={value} lines={8}>{(was) => <Field {...props} was={was} />}</Shown>;
}

/** What a draft is of. */
export const editing = (table: Id, pointer: string): string => `${session.value?.projectId} ${table} ${pointer}`;

function Field(props: EditorProps & { was: Read }): VNode {
  const { table, pointer, isText, was } = props;
  const of = editing(table, pointer);
  const mine = useSignal(draftOf(of)?.text ?? was.text);
  const problem = useSignal<Problem | null>(null);
  const theirs = useSignal<Read | null>(null);
  const busy = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = async (over: Read): Promise<void> => {
    const value = isText ? JSON.stringify(mine.value) : mine.value;
    const text = `{"json_pointer": ${JSON.stringify(pointer)}, "value": ${value}}`;
    try {
      const done = await request<Schema<"TableAnswer">>("POST", `/api/v1/tables/${table}/data/replace`, { text, ifMatch: over.revision });
      announce(t().saved(done.data.revision));
      keep(null);
      props.onClose();
      props.onSaved();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
      const now = isStale(error.fields) ? await read(props).catch(() => null) : null;
      // Somebody has changed another part of the table.
      if (now && now.text === over.text && now.revision !== over.revision) return send(now);
      theirs.value = now;
    }
  };
  const save = async (over: Read): Promise<void> => {
    if (!isText && !isJson(mine.value)) {
      problem.value = new Problem(NOT_JSON);
      return;
    }
    busy.value = true;
    await send(over).finally(() => (busy.value = false));
  };
  return (
    <form class="stack" onSubmit={(event) => { event.preventDefault(); void save(was); }}>
      {theirs.value ? <p class="bar warn" role="alert"><span>{t().conflict}</span></p> : <ProblemBox problem={problem.value} />}
      {theirs.value ? (
        <div class="stack">
          <h3>{t().theirs(theirs.value.revision)}</h3>
          <Changed was={was.text} now={theirs.value.text} />
          <h3>{t().yours}</h3>
        </div>
      ) : null}
      <textarea ref={field} class={isText ? "" : "mono"} rows={theirs.value ? 10 : 20} dir="auto" spellcheck={isText} aria-label={isText ? t().text : t().value} value={mine.value}
        onInput={(event) => keep({ of, was, text: (mine.value = event.currentTarget.value) })} />
      <div class="row end saving">
        <button type="button" onClick={() => { if (mayDrop()) props.onClose(); }}>{common().cancel}</button>
        {theirs.value ? (
          <button type="button" class="danger" disabled={busy.value} onClick={() => void save(theirs.value!)}>{t().overwrite}</button>
        ) : (
          <button class="primary" disabled={busy.value || mine.value === was.text}>{common().save}</button>
        )}
      </div>
    </form>
  );
}

/** A text, and in it from the first to the last character what somebody has changed. */
function Changed({ was, now }: { was: string; now: string }): VNode {
  const [before, after] = [[...was], [...now]];
  const most = Math.min(before.length, after.length);
  let [head, tail] = [0, 0];
  while (head < most && before[head] === after[head]) head += 1;
  while (tail < most - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const part = (of: string[], from: number, to: number): string => of.slice(from, to).join("");
  return (
    <pre tabIndex={0} dir="auto">
      {part(after, 0, head)}<del>{part(before, head, before.length - tail)}</del><ins>{part(after, head, after.length - tail)}</ins>{part(after, after.length - tail, after.length)}
    </pre>
  );
}

const NOT_JSON: ProblemFields = { status: 422, code: "INVALID_DOCUMENT", detail: "this is not JSON", retryable: false };

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
