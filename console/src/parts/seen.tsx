/** What an agent sees of an instance: its tools as a model reads them, and a form to call each. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { useMemo } from "../hooks";
import { agentTexts as t } from "../i18n/agents";
import { keyTexts } from "../i18n/keys";
import { type AgentTool, call, type Called, type Offered, offered } from "../mcp";
import { href } from "../router";
import { asRead, citedIn, MOST_TOKENS, tokensOf } from "../rules/agents";
import { type Argument, argumentsOf, filledIn } from "../rules/arguments";
import { useSignal } from "../signals";
import { ProblemBox } from "./states";

interface SeenProps {
  /** A key of the instance, empty where none is at hand: keys are shown once. */
  readonly secret: string;
  readonly isConnector: boolean;
  readonly onMake: () => void;
}

interface Read extends Offered {
  readonly ms: number;
}

export function Seen({ secret, isConnector, onMake }: SeenProps): VNode {
  const acting = useActing();
  const read = useSignal<Read | null>(null);
  const ask = async (): Promise<void> => {
    const began = performance.now();
    const answer = await acting.run(() => offered(secret));
    read.value = answer && { ...answer, ms: Math.round(performance.now() - began) };
  };
  return (
    <section class="panel stack">
      <h2>{t().seen}</h2>
      {secret ? (
        <div class="row"><button class="primary" onClick={() => void ask()} disabled={acting.busy.value}>{t().tryIt}</button><span class="dim small">{t().seenAbout}</span></div>
      ) : (
        <div class="row"><button onClick={onMake}>{keyTexts().make}…</button><span class="dim small">{t().noKey}</span></div>
      )}
      <ProblemBox problem={acting.problem.value} />
      {read.value ? <List read={read.value} secret={secret} isConnector={isConnector} /> : null}
    </section>
  );
}

function List({ read, secret, isConnector }: { read: Read; secret: string; isConnector: boolean }): VNode {
  const tokens = tokensOf(read.instructions) + read.tools.reduce((sum, tool) => sum + tokensOf(asRead(tool)), 0);
  return (
    <>
      <p class="good num" role="status">✓ {t().tried(read.tools.length, read.ms)} · {t().tokens(tokens)}</p>
      {tokens > MOST_TOKENS ? <p class="bar warn"><span>{t().tooMany(MOST_TOKENS)}</span></p> : null}
      {read.instructions ? <details><summary>{t().instructions} <span class="dim small num">{t().tokens(tokensOf(read.instructions))}</span></summary><p class="prose" lang="en">{read.instructions}</p></details> : null}
      <ul class="plain">{read.tools.map((tool) => <li key={tool.name}><Tool tool={tool} secret={secret} isConnector={isConnector} /></li>)}</ul>
    </>
  );
}

function Tool({ tool, secret, isConnector }: { tool: AgentTool; secret: string; isConnector: boolean }): VNode {
  const readOnly = tool.annotations?.["readOnlyHint"] === true;
  return (
    <details class="agenttool">
      <summary>
        <code><bdi>{tool.name}</bdi></code> {tool.title && tool.title !== tool.name ? <bdi>{tool.title}</bdi> : null} <span class={readOnly ? "badge" : "badge warn"}>{readOnly ? t().reads : t().writes}</span> <span class="dim small num">{t().tokens(tokensOf(asRead(tool)))}</span>
      </summary>
      <div class="stack">
        <p class="prose" dir="auto">{tool.description}</p>
        <div class="split">
          <div class="stack">
            <h3>{t().schema}</h3>
            <pre tabIndex={0}>{JSON.stringify(tool.inputSchema, null, 2)}</pre>
            <h3>{t().annotations}</h3>
            <pre tabIndex={0}>{JSON.stringify(tool.annotations ?? {}, null, 2)}</pre>
          </div>
          <Call tool={tool} secret={secret} readOnly={readOnly} isConnector={isConnector} />
        </div>
      </div>
    </details>
  );
}

interface CallProps {
  readonly tool: AgentTool;
  readonly secret: string;
  readonly readOnly: boolean;
  readonly isConnector: boolean;
}

function Call({ tool, secret, readOnly, isConnector }: CallProps): VNode {
  const acting = useActing();
  const called = useSignal<(Called & { readonly ms: number }) | null>(null);
  const fields = useMemo(() => argumentsOf(tool.inputSchema), [tool]);
  const send = async (form: FormData): Promise<void> => {
    const began = performance.now();
    const answer = await acting.run(() => call(secret, tool.name, filledIn(fields, (name) => String(form.get(name) ?? ""))));
    called.value = answer && { ...answer, ms: Math.round(performance.now() - began) };
  };
  return (
    <form class="stack" aria-label={t().callOf(tool.name)} onSubmit={(event) => { event.preventDefault(); void send(new FormData(event.currentTarget)); }}>
      <h3>{t().call}</h3>
      {readOnly ? null : <p class="bar warn"><span>{t().writesAbout}</span></p>}
      {fields.map((field) => <Field key={field.name} of={field} tool={tool.name} />)}
      <div class="row"><button class="primary" disabled={acting.busy.value}>{t().call}</button></div>
      <ProblemBox problem={acting.problem.value} />
      {called.value ? <Result called={called.value} ms={called.value.ms} isConnector={isConnector} /> : null}
    </form>
  );
}

/** An argument: its name, what its schema says of it, and what it takes. */
function Field({ of, tool }: { of: Argument; tool: string }): VNode {
  const id = `${tool} ${of.name}`.replaceAll(" ", "-");
  const about = of.description || of.otherwise ? id : undefined;
  const shared = { name: of.name, required: of.required && !of.mayBeEmpty, "aria-describedby": about };
  return (
    <div class="stack tight">
      <label class="stack"><code>{of.name}</code><Input of={of} shared={shared} /></label>
      {about ? <span id={id} class="dim small" dir="auto">{of.description} {of.otherwise ? t().otherwise(of.otherwise) : ""}</span> : null}
    </div>
  );
}

interface Shared {
  readonly name: string;
  readonly required: boolean;
  readonly "aria-describedby": string | undefined;
}

function Input({ of: { kind, min, max, choices }, shared }: { of: Argument; shared: Shared }): VNode {
  if (kind === "choice") return <select {...shared}><option value="">–</option>{choices.map((choice) => <option key={String(choice)} value={String(choice)}>{String(choice)}</option>)}</select>;
  if (kind === "integer" || kind === "number") return <input type="number" {...shared} min={min} max={max} step={kind === "integer" ? 1 : "any"} />;
  if (kind === "text") return <input {...shared} minLength={min} maxLength={max} autocomplete="off" />;
  return <textarea {...shared} rows={2} maxLength={kind === "long" ? max : undefined} placeholder={kind === "lines" ? t().lines : kind === "json" ? "JSON" : ""} />;
}

/** Links open a tab of their own: the key is only here. */
function Result({ called: { text, read, problem }, ms, isConnector }: { called: Called; ms: number; isConnector: boolean }): VNode {
  const cites = problem ? [] : citedIn(read, isConnector);
  return (
    <div class="stack">
      {problem ? <ProblemBox problem={problem} /> : <p class="good num" role="status">✓ {t().answered(ms)} · {t().tokens(tokensOf(text))}</p>}
      {cites.length ? (
        <>
          <h3>{t().cites}</h3>
          <ul class="plain stack">{cites.map(({ cite, title }) => <li key={cite}><a href={href(`/cite/${encodeURIComponent(cite)}`)} target="_blank" rel="noopener">{title ? <bdi>{title}</bdi> : null} <code>{cite}</code></a></li>)}</ul>
        </>
      ) : null}
      <h3>{t().asAgent}</h3>
      <pre tabIndex={0} dir="auto">{typeof read === "string" ? read : JSON.stringify(read, null, 2)}</pre>
    </div>
  );
}
