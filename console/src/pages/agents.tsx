/** MCP instances: which tools an agent sees, its keys, and what to paste to connect it. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { all, get, type Id, request, type Schema } from "../api";
import { useEffect } from "../hooks";
import { agentTexts as t } from "../i18n/agents";
import { t as common } from "../i18n/common";
import { keyTexts } from "../i18n/keys";
import { ago } from "../i18n/language";
import { titles } from "../i18n/pages";
import { ensureLists, toolName, tools } from "../lists";
import type { Page } from "../page";
import { Choice, Offers, type Offering } from "../parts/choice";
import { Copy } from "../parts/copy";
import { Confirm } from "../parts/dialog";
import { FormDialog, Table } from "../parts/form";
import { type Key, KeyTable, lasting, Lasting, MakeKey, type NewKey, Once } from "../parts/keys";
import { Seen } from "../parts/seen";
import { Empty, ProblemBox, Shown } from "../parts/states";
import { type Resource, useResource } from "../resource";
import { go, href, route } from "../router";
import { clients, serverName } from "../rules/clients";
import { session } from "../session";
import { useSignal } from "../signals";

type Mcp = Schema<"McpAnswer">;
type Binding = Schema<"BindingAnswer">;
type Bound = Awaited<ReturnType<typeof all<Binding>>>;
const PATH = "/api/v1/mcps";
/** The key that was just made, while the page is open: of which instance, the key, and its end. */
type Secret = readonly [mcp: string, key: string, ends: string | null | undefined];
type Keep = (mcp: Id, key: string, ends: Secret[2]) => void;

function Agents(): VNode {
  const id = route.value.path[1];
  const secret = useSignal<Secret | null>(null);
  useEffect(() => void ensureLists().catch(() => (tools.value ??= [])), []);
  const keep: Keep = (mcp, ...made) => void (secret.value = [String(mcp), ...made]);
  return id === undefined ? <List keep={keep} /> : <One key={id} id={id} made={secret.value?.[0] === id ? secret.value : null} keep={keep} forget={() => (secret.value = null)} />;
}

function List({ keep }: { keep: Keep }): VNode {
  const list = useResource("mcps", (signal) => all<Mcp>(PATH, "mcps", { signal }));
  const making = useSignal(false);
  return (
    <div class="stack wide">
      <div class="row"><h1 class="grow" tabIndex={-1}>{titles().agents}</h1><button class="primary" onClick={() => (making.value = true)}>{t().make}…</button></div>
      <Shown of={list}>
        {({ items }) => items.length ? (
          <Table heads={[keyTexts().name, t().isOn, t().replace, keyTexts().made]}>
          {items.map((mcp) => (
            <tr key={String(mcp.id)}>
              <td><a href={href(`/agents/${mcp.id}`)}><bdi>{mcp.name}</bdi></a></td>
              <td><span class={mcp.status ? "badge good" : "badge"}><span aria-hidden="true">{mcp.status ? "●" : "○"}</span>{mcp.status ? t().on : t().off}</span></td>
              <td class="dim">{{ off: t().replace_off, propose: t().replace_propose, execute: t().replace_execute }[mcp.replace]}</td>
              <td class="dim">{ago(mcp.created_at)}</td>
            </tr>
          ))}
          </Table>
        ) : <Empty text={t().none} />}
      </Shown>
      {making.value && tools.value ? <Make onClose={() => (making.value = false)} onMade={(made, ends) => { keep(made.id, made.api_key, ends); go(`/agents/${made.id}`); }} /> : null}
    </div>
  );
}

function Make({ onClose, onMade }: { onClose: () => void; onMade: (made: Schema<"NewMcpAnswer">, ends: Secret[2]) => void }): VNode {
  const acting = useActing();
  const offering = useSignal<Offering>({ tools: "named", reading: "on", texts: "anyone" });
  const ticked = useSignal(tools.value?.length ?? 0);
  const send = async (fields: FormData): Promise<void> => {
    const bindings = fields.getAll("tool").map((id) => ({ tool_id: Number(id) }));
    const body = { project_id: session.value?.projectId, name: fields.get("name"), bindings, key_expires_in: lasting(fields), ...offering.value };
    const made = await acting.run(() => request<Schema<"NewMcpAnswer">>("POST", PATH, { body, idempotent: true }));
    if (made) onMade(made.data, made.data.key_expires_at);
  };
  return (
    <FormDialog title={t().make} act={t().make} acting={acting} onSend={send} onClose={onClose}>
        <label class="stack">{keyTexts().name}<input name="name" required maxLength={200} placeholder="support" /></label>
        <fieldset class="stack" onChange={(event) => (ticked.value = event.currentTarget.querySelectorAll(":checked").length)}><legend>{t().tools}</legend>
          {tools.value?.length ? tools.value.map((tool) => <label key={String(tool.id)} class="check"><input type="checkbox" name="tool" value={String(tool.id)} defaultChecked /> <bdi>{toolName(tool)}</bdi></label>) : <p class="dim">{t().noTools}</p>}
        </fieldset>
        <Offers value={offering.value} bound={ticked.value} onChoose={(change) => (offering.value = { ...offering.value, ...change })} />
        <Lasting />
    </FormDialog>
  );
}

interface OneProps {
  readonly id: string;
  readonly made: Secret | null;
  readonly keep: Keep;
  readonly forget: () => void;
}

function One({ id, made, keep, forget }: OneProps): VNode {
  const secret = made?.[1] ?? "";
  const path = `${PATH}/${id}`;
  const about = useResource(path, (signal) => get<Mcp>(path, { signal }));
  const bindings = useResource(`${path}/bindings`, (signal) => all<Binding>(`${path}/bindings`, "bindings", { signal }));
  const keys = useResource<readonly Key[]>(`${path}/keys`, async (signal) => (await all<Key>(`${path}/keys`, "keys", { signal })).items);
  const on = bindings.data.value?.items.filter((one) => one.status).map((one) => String(one.tool_id)) ?? [];
  const making = useSignal(false);
  const deleting = useSignal(false);
  const acting = useActing();
  const change = (body: object): void => void acting.run(() => request("PATCH", path, { body })).then(about.reload);
  const remove = (): void => void acting.run(() => request("DELETE", path)).then((gone) => gone && go("/agents"));
  const fresh = (key: NewKey): void => {
    making.value = false;
    keep(id, key.api_key, key.expires_at);
    keys.reload();
  };
  return (
    <Shown of={about}>
      {(mcp) => (
        <div class="stack wide">
          <div class="row">
            <h1 class="grow" tabIndex={-1}><a href={href("/agents")}>{titles().agents}</a> <span class="dim">/</span> <bdi>{mcp.name}</bdi></h1>
            <label class="check"><input type="checkbox" role="switch" checked={mcp.status} onChange={(event) => change({ status: event.currentTarget.checked })} />{t().isOn}</label>
            <button class="danger" onClick={() => (deleting.value = true)}>{common().delete}…</button>
          </div>
          <ProblemBox problem={acting.problem.value} />
          <div class="cards">
            <Bindings path={`${path}/bindings`} bound={bindings} />
            <section class="panel stack">
              <Choice label={t().replace} value={mcp.replace} of={{ off: t().replace_off, propose: t().replace_propose, execute: t().replace_execute }} onChoose={(replace) => change({ replace })} />
              {mcp.replace === "execute" ? <Choice label={t().confirm} value={mcp.confirm} of={{ client: t().confirm_client, required: t().confirm_required }} onChoose={(confirm) => change({ confirm })} /> : null}
              <label class="check"><input type="checkbox" checked={mcp.redact} onChange={(event) => change({ redact: event.currentTarget.checked })} />{t().redact}</label>
            </section>
          </div>
          <section class="panel stack">
            <Offers value={mcp} bound={on.length} onChoose={change} />
          </section>
          <section class="stack">
            <div class="row"><h2 class="grow">{titles().keys}</h2><button onClick={() => (making.value = true)}>{keyTexts().make}…</button></div>
            {made ? <Once key={secret} secret={secret} ends={made[2]} /> : null}
            <KeyTable path={`${path}/keys`} scoped={false} of={keys} onNew={fresh} onRevoked={(prefix) => { if (secret.startsWith(prefix)) forget(); }} />
          </section>
          <Connect key={secret} name={mcp.name} secret={secret} />
          {/* What was listed before a change is not what the agent sees any more. */}
          <Seen key={[secret, mcp.tools, mcp.reading, mcp.texts, mcp.replace, ...on].join()} secret={secret} isConnector={mcp.tools === "connector"} onMake={() => (making.value = true)} />
          {making.value ? <MakeKey path={`${path}/keys`} scoped={false} onClose={() => (making.value = false)} onMade={fresh} /> : null}
          {deleting.value ? <Confirm title={common().delete} text={t().deleteText} act={common().delete} name={mcp.name} onClose={() => (deleting.value = false)} onAct={remove} /> : null}
        </div>
      )}
    </Shown>
  );
}

function Bindings({ path, bound }: { path: string; bound: Resource<Bound> }): VNode {
  const acting = useActing();
  const change = (tool: Id, binding: Binding | undefined, on: boolean): void => {
    const act = binding ? () => request("PATCH", `${path}/${tool}`, { body: { status: on } }) : () => request("POST", path, { body: { tool_id: tool }, idempotent: true });
    void acting.run<unknown>(act).then(bound.reload);
  };
  return (
    <section class="panel stack">
      <h2>{t().tools}</h2>
      <ProblemBox problem={acting.problem.value} />
      <Shown of={bound}>
        {({ items }) => tools.value?.length ? (
          <ul class="plain stack">
            {tools.value.map((tool) => {
              const binding = items.find((one) => String(one.tool_id) === String(tool.id));
              return (
                <li key={String(tool.id)}>
                  <label class="check"><input type="checkbox" checked={binding?.status ?? false} onChange={(event) => change(tool.id, binding, event.currentTarget.checked)} /> <bdi>{toolName(tool)}</bdi> {binding && binding.name !== tool.name ? <code class="dim">{binding.name}</code> : null}</label>
                </li>
              );
            })}
          </ul>
        ) : <p class="dim">{t().noTools}</p>}
      </Shown>
    </section>
  );
}

function Connect({ name, secret }: { name: string; secret: string }): VNode {
  const chosen = useSignal(0);
  const client = clients[chosen.value]!;
  const text = (key: string): string => client.text(serverName(name), `${location.origin}/mcp`, key);
  return (
    <section class="panel stack">
      <h2>{t().connect}</h2>
      <div class="row" role="group" aria-label={t().client}>
        {clients.map((one, at) => <button key={one.name} class="small" aria-pressed={at === chosen.value} onClick={() => (chosen.value = at)}>{one.name}</button>)}
      </div>
      {client.file ? <p class="dim small">{t().file(client.file)}</p> : null}
      <pre tabIndex={0}>{text(secret ? `${secret.slice(0, 11)}••••••••` : "KEY")}</pre>
      <div class="row"><Copy text={() => text(secret || "KEY")} />{secret ? null : <span class="dim small">{t().placeholder}</span>}</div>
    </section>
  );
}

export const page: Page = { id: "agents", order: 70, scopes: ["manage"], title: () => titles().agents, View: Agents };
