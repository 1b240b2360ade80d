/** The states that every view has: loading, empty, degraded, stale, a problem. */
import type { ComponentChildren, VNode } from "preact";
import { isStale, type Problem, type ProblemFields } from "../api";
import { useEffect } from "../hooks";
import { codeText, t } from "../i18n/common";
import { fieldRefusal, refusal } from "../i18n/refusals";
import type { Resource } from "../resource";
import { useSignal } from "../signals";
import { Copy } from "./copy";

/** Nothing for 200 ms, then a skeleton; after two seconds it can be stopped. */
export function Loading({ stop, lines = 4 }: { stop?: (() => void) | undefined; lines?: number }): VNode | null {
  const waited = useWaited();
  if (waited < 200) return null;
  return (
    <div class="loading" aria-busy="true">
      <span class="sr" role="status">{t().loading}</span>
      {Array.from({ length: lines }, (_, at) => (
        <div key={at} class="bone" style={{ width: `${94 - ((at * 17) % 40)}%` }} />
      ))}
      {stop && waited >= 2000 ? <button onClick={stop}>{t().stop}</button> : null}
    </div>
  );
}

function useWaited(): number {
  const waited = useSignal(0);
  useEffect(() => {
    const timers = [200, 2000].map((ms) => setTimeout(() => (waited.value = ms), ms));
    return () => timers.forEach(clearTimeout);
  }, []);
  return waited.value;
}

/** What would be here, and the one thing to do about it. */
export function Empty({ text, code, children }: { text: string; code?: string; children?: ComponentChildren }): VNode {
  return (
    <div class="empty">
      <p>{text}</p>
      {code ? <code class="code">{code}</code> : null}
      {children ? <div class="row center">{children}</div> : null}
    </div>
  );
}

/** One sentence per code, the code beside it; `again` asks again by itself after `everyMs`. */
export function Degraded({ codes, again }: { codes: readonly string[]; again?: () => void }): VNode | null {
  const mends = codes.some((code) => code === "namespace_missing" || code === "index_evicted");
  useEffect(() => {
    if (!mends || !again) return;
    const timer = setTimeout(again, 5000);
    return () => clearTimeout(timer);
  }, [mends, again]);
  if (!codes.length) return null;
  return (
    <div class="bar warn" role="alert">
      <ul class="plain">
        {codes.map((code) => (
          <li key={code}>
            <code class="code">{code}</code> {codeText(code)}
          </li>
        ))}
      </ul>
      {again ? <button onClick={again}>{t().again}</button> : null}
    </div>
  );
}

/** What is shown is not the latest any more. */
export function Stale({ text, reload }: { text: string; reload: () => void }): VNode {
  return (
    <div class="bar note" role="status">
      <span>{text}</span>
      <button onClick={reload}>{t().reload}</button>
    </div>
  );
}

function heading(fields: ProblemFields): string {
  const { status, code } = fields;
  if (code === "OFFLINE") return t().offline;
  if (fields["tool"]) return t().toolRefused;
  if (status === 401) return t().badKey;
  if (status === 403) return t().forbidden;
  if (status === 404) return t().gone;
  if (isStale(fields)) return t().conflict;
  if (status === 409) return t().notNow;
  if (status === 413 || status === 431) return t().tooLarge;
  if (status === 429) return t().busy;
  if (status === 503) return t().unavailable;
  return status >= 500 ? t().failed : t().invalid;
}

/** What was refused, if anything was: code, detail, fields, request id; and another try where that may help. */
export function ProblemBox({ problem, retry }: { problem: Problem | null; retry?: (() => void) | undefined }): VNode | null {
  if (!problem) return null;
  const fields = problem.fields;
  return (
    <div class="bar bad" role="alert">
      <div class="grow">
        <p>
          <strong>{heading(fields)}</strong> <code class="code">{fields.code}</code>
          {fields.status ? <span class="dim"> {fields.status}</span> : null}
        </p>
        <Told fields={fields} />
        {fields.errors?.length ? (
          <ul>
            {fields.errors.map((error, at) => (
              <li key={at}>
                <code>{error.field}</code> <FieldTold message={error.message} />
              </li>
            ))}
          </ul>
        ) : null}
        {fields.requestId ? (
          <p class="dim small">
            {t().request} <code>{fields.requestId}</code> <Copy text={fields.requestId} quiet />
          </p>
        ) : null}
      </div>
      {retry && fields.retryable ? <Retry retry={retry} afterMs={fields.retryAfterMs ?? 0} /> : null}
    </div>
  );
}

/** Why: in the language of the page, and as the API says it. */
function Told({ fields: { code, detail } }: { fields: ProblemFields }): VNode {
  const told = refusal(code);
  if (!told) return <p dir="auto">{code === "OFFLINE" ? t().offlineText : detail}</p>;
  return <><p>{told}</p>{detail ? <details class="small"><summary>{t().original}</summary><span lang="en">{detail}</span></details> : null}</>;
}

function FieldTold({ message }: { message: string }): VNode {
  const told = fieldRefusal(message);
  return told ? <span title={message}>{told}</span> : <span lang="en">{message}</span>;
}

function Retry({ retry, afterMs }: { retry: () => void; afterMs: number }): VNode {
  const seconds = useSignal(Math.ceil(afterMs / 1000));
  const left = seconds.value;
  useEffect(() => {
    if (left <= 0) return;
    const timer = setTimeout(() => (seconds.value = left - 1), 1000);
    return () => clearTimeout(timer);
  }, [left]);
  return (
    <button onClick={retry} disabled={left > 0}>
      {left > 0 ? t().againIn(left) : t().again}
    </button>
  );
}

/** A resource in whatever state it is: the last content stays, greyed, while it is asked again. */
export function Shown<T>({ of, children, lines }: { of: Resource<T>; children: (data: T) => ComponentChildren; lines?: number }): VNode {
  const [data, problem, loading] = [of.data.value, of.problem.value, of.loading.value];
  return (
    <>
      <ProblemBox problem={problem} retry={of.reload} />
      {data !== null ? (
        <div class={loading ? "fading" : ""} aria-busy={loading}>
          {children(data)}
        </div>
      ) : loading ? (
        <Loading stop={of.stop} {...(lines ? { lines } : {})} />
      ) : null}
    </>
  );
}
