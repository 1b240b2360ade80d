/** Editing one value: the text as it is, or JSON as it is; numbers are never parsed. Saving names
 * the revision that was read; another one shows both. */
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { announce } from "../announce";
import { type Id, Problem, type ProblemFields, request, type Schema } from "../api";
import { t as common } from "../i18n/common";
import { documentTexts as t } from "../i18n/documents";
import { useResource } from "../resource";
import { ProblemBox, Shown } from "./states";

interface EditorProps {
  readonly table: Id;
  readonly pointer: string;
  readonly isText: boolean;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}
interface Read {
  readonly text: string;
  readonly revision: number;
}

async function read({ table, pointer, isText }: EditorProps, signal?: AbortSignal): Promise<Read> {
  const call = { body: { json_pointer: pointer }, ...(signal ? { signal } : {}) };
  const answer = await request("POST", `/api/v1/tables/${table}/data/read`, call);
  const revision = Number((answer.etag ?? "").replaceAll('"', ""));
  return { text: isText ? (JSON.parse(answer.raw) as string) : answer.raw, revision };
}

export function Editor(props: EditorProps): VNode {
  const value = useResource(`${props.table} ${props.pointer}`, (signal) => read(props, signal));
  return <Shown of={value} lines={8}>{(was) => <Field {...props} was={was} />}</Shown>;
}

function Field(props: EditorProps & { was: Read }): VNode {
  const { table, pointer, isText, was } = props;
  const mine = useSignal(was.text);
  const problem = useSignal<Problem | null>(null);
  const theirs = useSignal<Read | null>(null);
  const busy = useSignal(false);
  const save = async (revision: number): Promise<void> => {
    const value = isText ? JSON.stringify(mine.value) : mine.value;
    if (!isText && !isJson(value)) {
      problem.value = new Problem(NOT_JSON);
      return;
    }
    busy.value = true;
    const text = `{"json_pointer": ${JSON.stringify(pointer)}, "value": ${value}}`;
    try {
      const done = await request<Schema<"TableAnswer">>("POST", `/api/v1/tables/${table}/data/replace`, { text, ifMatch: revision });
      announce(t().saved(done.data.revision));
      props.onClose();
      props.onSaved();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
      if (error.fields.status === 409) theirs.value = await read(props).catch(() => null);
    } finally {
      busy.value = false;
    }
  };
  return (
    <form class="stack" onSubmit={(event) => { event.preventDefault(); void save(was.revision); }}>
      {theirs.value ? <p class="bar warn" role="alert"><span>{t().conflict}</span></p> : problem.value ? <ProblemBox problem={problem.value} /> : null}
      {theirs.value ? (
        <div class="stack">
          <h3>{t().theirs(theirs.value.revision)}</h3>
          <pre tabIndex={0} dir="auto">{theirs.value.text}</pre>
          <h3>{t().yours}</h3>
        </div>
      ) : null}
      <textarea class={isText ? "" : "mono"} rows={20} dir="auto" spellcheck={isText} aria-label={isText ? t().text : t().value} value={mine.value}
        onInput={(event) => (mine.value = event.currentTarget.value)} />
      <div class="row end">
        <button type="button" onClick={props.onClose}>{common().cancel}</button>
        {theirs.value ? (
          <button type="button" class="danger" disabled={busy.value} onClick={() => void save(theirs.value!.revision)}>{t().overwrite}</button>
        ) : (
          <button class="primary" disabled={busy.value || mine.value === was.text}>{common().save}</button>
        )}
      </div>
    </form>
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
