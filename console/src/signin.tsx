/**
 * Signing in: paste a project key. One that may manage makes a key for this session, and is
 * forgotten. Or by an address from a terminal, `#/once/<code>`, which is good once.
 */
import type { VNode } from "preact";
import { newActing } from "./acting";
import { type Schema, request } from "./api";
import { signInTexts as t } from "./i18n/signin";
import { ProblemBox } from "./parts/states";
import { go, route } from "./router";
import { begin, leftBecause, revoke, session, type Session } from "./session";
import { effect, signal } from "./signals";

const LONGEST_S = 8 * 3600;

type Whoami = Schema<"WhoAmIAnswer">;
type NewKey = Schema<"NewKeyAnswer">;

const { busy, problem, run } = newActing();

/** Who a key is, and the session that follows: of its own key where it may make one, or has one. */
async function signIn(key: string, own?: NewKey): Promise<Session> {
  const { data: me } = await request<Whoami>("GET", "/api/v1/whoami", { key });
  const of = { projectId: me.project.id, project: me.project.name ?? String(me.project.id), scopes: me.scopes, version: me.version };
  const endsAt = me.expires_at;
  if (!own && !me.scopes.includes("manage")) return { ...of, key, keyId: me.key?.id ?? null, own: false, endsAt };
  const left = endsAt === null ? LONGEST_S : Math.floor((new Date(endsAt).getTime() - Date.now()) / 1000) - 1;
  const wanted = { name: "console", kind: "console", scopes: me.scopes, expires_in: Math.max(1, Math.min(LONGEST_S, left)) };
  const made = own ?? (await request<NewKey>("POST", `/api/v1/projects/${me.project.id}/keys`, { key, body: wanted })).data;
  return { ...of, key: made.api_key, keyId: made.id, own: true, endsAt: made.expires_at ?? null };
}

/** Whether the last one to sign in came by an address. */
let once = false;
/** Who an address would sign in, which somebody else may have made: it is asked before. */
const offered = signal<Session | null>(null);

function enter(made: Promise<Session>): void {
  once = false;
  offered.value = null;
  void run(async () => begin(await made));
}

async function signInOnce(code: string): Promise<Session> {
  const { data } = await request<NewKey>("POST", "/api/v1/console/sign-in", { body: { code } });
  return signIn(data.api_key, data);
}

// The code leaves the address before anything else. Who is signed in stays who they are.
effect(() => {
  const [page, code] = route.value.path;
  if (page !== "once") return;
  go("/", {}, true);
  if (!code || session.peek()) return;
  once = true;
  void run(async () => (offered.value = await signInOnce(code)));
});

/** Asks before an address signs in: whoever made it has chosen the project. */
function Offered({ session: other }: { session: Session }): VNode {
  const refuse = (): void => {
    offered.value = null;
    void revoke(other).catch(() => undefined);
  };
  return (
    <section class="signin">
      <h1 tabIndex={-1}>{t().offered(other.project)}</h1>
      <p>{t().offeredText}</p>
      <div class="row">
        <button class="primary" ref={(button) => button?.focus()} onClick={() => { offered.value = null; begin(other); }}>{t().enter}</button>
        <button onClick={refuse}>{t().refuse}</button>
      </div>
    </section>
  );
}

export function SignIn(): VNode {
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const key = (form.elements.namedItem("key") as HTMLInputElement).value.trim();
    if (key) enter(signIn(key));
  };
  const reason = leftBecause.value;
  const other = offered.value;
  if (other) return <Offered session={other} />;
  return (
    <section class="signin">
      <h1 tabIndex={-1}>{t().title}</h1>
      {reason ? <p class="bar note" role="status">{{ signedOut: t().signedOut, idle: t().idle, expired: t().expired }[reason]}</p> : null}
      <form class="stack" onSubmit={send}>
        <label class="stack">
          <span>{t().key}</span>
          <input name="key" type="password" required autocomplete="off" spellcheck={false} placeholder="cs_…" aria-describedby="about-key" />
        </label>
        <button class="primary" disabled={busy.value}>{busy.value ? t().busy : t().enter}</button>
      </form>
      {once && problem.value?.fields.status === 401 ? <p class="bar bad" role="alert">{t().used}</p> : <ProblemBox problem={problem.value} />}
      <div id="about-key" class="dim stack small">
        <p>{t().about}</p>
        <p>{t().local}</p>
        <pre tabIndex={0}>context-search console</pre>
      </div>
    </section>
  );
}
