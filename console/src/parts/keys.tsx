/** The keys of a project or of an MCP instance: made, shown once, rotated with an overlap, revoked. */
import type { ComponentChildren, VNode } from "preact";
import { useActing } from "../acting";
import { type Reply, request, type Schema } from "../api";
import { keyTexts as t } from "../i18n/keys";
import { ago, clock, moment } from "../i18n/language";
import type { Resource } from "../resource";
import { type Scope, session } from "../session";
import { useSignal } from "../signals";
import { Copy } from "./copy";
import { Confirm } from "./dialog";
import { FormDialog, Table } from "./form";
import { Empty, ProblemBox, Shown } from "./states";

export type Key = Schema<"KeyAnswer"> & { readonly kind?: string };
export type NewKey = Schema<"NewKeyAnswer">;
const DAY_S = 86_400;

/** For how long a key is made. */
export function Lasting(): VNode {
  return (
    <label class="stack">{t().ends}
      <select name="lasting">
        {[1, 7, 30, 90, 365].map((days) => <option key={days} value={String(days * DAY_S)} selected={days === 90}>{t().days(days)}</option>)}
        <option value="">{t().withProject}</option>
      </select>
    </label>
  );
}

/** What `Lasting` says, in seconds. */
export const lasting = (fields: FormData): number | undefined => Number(fields.get("lasting")) || undefined;

/** Says that a key made by the session ends with it; what was made to last longer says nothing. */
function Short({ ends }: { ends: string | null | undefined }): VNode | null {
  const last = session.value?.endsAt;
  if (!last || !ends || Date.parse(ends) > Date.parse(last)) return null;
  return <p class="bar warn"><strong>{t().short(clock(ends))}</strong></p>;
}

/** A key, hidden until somebody looks; it is in no other place of the page. */
export function Once({ secret, ends }: { secret: string; ends: string | null | undefined }): VNode {
  const seen = useSignal(false);
  return (
    <div class="bar good" role="status">
      <div class="stack grow">
        <strong>{t().once}</strong>
        <Short ends={ends} />
        <span class="row">
          <code class="secret">{seen.value ? secret : `${secret.slice(0, 11)}••••••••`}</code>
          <button onClick={() => (seen.value = !seen.value)}>{seen.value ? t().hide : t().reveal}</button>
          <Copy text={secret} />
        </span>
      </div>
    </div>
  );
}

/** Where a key is asked for that outlives the session: the session's own cannot make it. What is
 * inside waits for that key. */
export function Authority({ children }: { children?: ComponentChildren }): VNode {
  const pasted = useSignal("");
  const ends = session.value?.endsAt;
  if (!ends) return <>{children}</>;
  return (
    <>
      {pasted.value ? null : <Short ends={ends} />}
      <label class="stack">{t().authority}
        <input name="authority" type="password" autocomplete="off" spellcheck={false} class="mono" aria-describedby="authority" onInput={(event) => (pasted.value = event.currentTarget.value.trim())} />
        <span id="authority" class="dim small">{t().authorityText}</span>
      </label>
      {pasted.value ? children : null}
    </>
  );
}

/** The same request with the pasted key, or with the session's. */
export const byAuthority = (fields: FormData): { key?: string } => {
  const pasted = (fields.get("authority") as string | null)?.trim();
  return pasted ? { key: pasted } : {};
};

interface MakeKeyProps {
  readonly path: string;
  readonly scoped: boolean;
  readonly onClose: () => void;
  readonly onMade: (key: NewKey) => void;
}

export function MakeKey({ path, scoped, onClose, onMade }: MakeKeyProps): VNode {
  const acting = useActing();
  const send = async (fields: FormData): Promise<void> => {
    const scopes = scoped ? { scopes: fields.getAll("scope") } : {};
    const body = { name: fields.get("name"), ...scopes, expires_in: lasting(fields) };
    const made = await acting.run(() => request<NewKey>("POST", path, { body, idempotent: true, ...byAuthority(fields) }));
    if (made) onMade(made.data);
  };
  const may: readonly Scope[] = session.value?.scopes ?? [];
  return (
    <FormDialog title={t().make} act={t().make} acting={acting} onSend={send} onClose={onClose}>
        <label class="stack">{t().name}<input name="name" required maxLength={200} placeholder="ci" /></label>
        {scoped ? (
          <fieldset class="row"><legend>{t().scopes}</legend>
            {may.map((scope) => <label key={scope} class="check"><input type="checkbox" name="scope" value={scope} defaultChecked={scope === "search"} /> <code>{scope}</code></label>)}
          </fieldset>
        ) : null}
        {scoped ? <Authority><Lasting /></Authority> : <Lasting />}
    </FormDialog>
  );
}

interface KeyTableProps {
  readonly path: string;
  readonly scoped: boolean;
  readonly of: Resource<readonly Key[]>;
  readonly onNew: (key: NewKey) => void;
  /** Told the beginning of one that is good no more: what is shown of it goes. */
  readonly onRevoked: (prefix: string) => void;
}

export function KeyTable({ path, scoped, of, onNew, onRevoked }: KeyTableProps): VNode {
  const rotating = useSignal<Key | null>(null);
  const revoking = useSignal<Key | null>(null);
  const acting = useActing();
  const revoke = async ({ id, prefix }: Key): Promise<void> => {
    if (await acting.run(() => request("DELETE", `${path}/${id}`), t().revoked)) onRevoked(prefix);
    of.reload();
  };
  const named = (key: Key): string => key.name ?? key.prefix;
  const [leaving, renewed] = [revoking.value, rotating.value];
  const used = (key: Key): string => (key.last_used_at ? ago(key.last_used_at) : t().never);
  return (
    <>
      <ProblemBox problem={acting.problem.value} />
      <Shown of={of}>
        {(keys) => keys.length ? (
          <Table heads={[t().name, ...(scoped ? [t().scopes] : []), t().prefix, t().made, t().used, t().ends, ""]}>
          {keys.map((key) => {
            const mine = scoped && String(key.id) === String(session.value?.keyId);
            return <tr key={String(key.id)}>
              <td><bdi>{key.name ?? "–"}</bdi> {mine ? <span class="badge good">{t().yours}</span> : key.kind === "console" ? <span class="badge">{t().console}</span> : null}</td>
              {scoped ? <td class="small">{key.scopes.join(" · ")}</td> : null}
              <td><code>{key.prefix}</code></td>
              <td class="dim" title={moment(key.created_at)}>{ago(key.created_at)}</td>
              <td class="dim">{used(key)}</td>
              <td class="dim">{key.revoked_at ? t().state : !key.expires_at ? t().never : new Date(key.expires_at) < new Date() ? t().ended : ago(key.expires_at)}</td>
              <td>{key.revoked_at || mine ? null : <span class="row"><button class="small" onClick={() => (rotating.value = key)}>{t().rotate}…</button><button class="small danger" onClick={() => (revoking.value = key)}>{t().revoke}…</button></span>}</td>
            </tr>;
          })}
          </Table>
        ) : <Empty text={t().none} />}
      </Shown>
      {leaving ? <Confirm title={t().revoke} text={t().revokeText(named(leaving), used(leaving))} act={t().revoke} onClose={() => (revoking.value = null)} onAct={() => void revoke(leaving)} /> : null}
      {renewed ? <Rotate path={`${path}/${renewed.id}/rotate`} scoped={scoped} name={named(renewed)} onClose={() => (rotating.value = null)} onMade={(key) => { rotating.value = null; onNew(key); }} /> : null}
    </>
  );
}

function Rotate({ path, scoped, name, onClose, onMade }: { path: string; scoped: boolean; name: string; onClose: () => void; onMade: (key: NewKey) => void }): VNode {
  const acting = useActing();
  const send = async (fields: FormData): Promise<void> => {
    const body = { old_expires_in: Number(fields.get("overlap")) * 3600 };
    const made: Reply<NewKey> | null = await acting.run(() => request<NewKey>("POST", path, { body, idempotent: true, ...byAuthority(fields) }));
    if (made) onMade(made.data);
  };
  return (
    <FormDialog title={`${t().rotate}: ${name}`} act={t().rotate} acting={acting} onSend={send} onClose={onClose}>
        <label class="stack">{t().rotateText}
          <select name="overlap" defaultValue="1">{[0, 1, 24, 168].map((hours) => <option key={hours} value={String(hours)} selected={hours === 1}>{t().hours(hours)}</option>)}</select>
        </label>
        {scoped ? <Authority /> : null}
    </FormDialog>
  );
}
