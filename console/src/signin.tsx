/** Signing in: paste a project key. One that may manage makes a key for this session, and is forgotten. */
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { Problem, type Schema, request } from "./api";
import { signInTexts as t } from "./i18n/signin";
import { ProblemBox } from "./parts/states";
import { begin, leftBecause, type Session } from "./session";

const LONGEST_S = 8 * 3600;

type Whoami = Schema<"WhoAmIAnswer">;
type NewKey = Schema<"NewKeyAnswer">;

/** Who a key is, and the session that follows: of its own key where it may make one. */
async function signIn(key: string): Promise<Session> {
  const { data: me } = await request<Whoami>("GET", "/api/v1/whoami", { key });
  const of = { projectId: me.project.id, project: me.project.name ?? String(me.project.id), scopes: me.scopes, version: me.version };
  const endsAt = me.expires_at;
  if (!me.scopes.includes("manage")) return { ...of, key, keyId: me.key?.id ?? null, own: false, endsAt };
  const left = endsAt === null ? LONGEST_S : Math.floor((new Date(endsAt).getTime() - Date.now()) / 1000) - 1;
  const wanted = { name: "console", kind: "console", scopes: me.scopes, expires_in: Math.max(1, Math.min(LONGEST_S, left)) };
  const made = await request<NewKey>(
    "POST", `/api/v1/projects/${me.project.id}/keys`, { key, body: wanted },
  );
  return { ...of, key: made.data.api_key, keyId: made.data.id, own: true, endsAt: made.data.expires_at ?? null };
}

export function SignIn(): VNode {
  const problem = useSignal<Problem | null>(null);
  const busy = useSignal(false);
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem("key") as HTMLInputElement;
    const key = field.value.trim();
    if (!key) return;
    busy.value = true;
    problem.value = null;
    try {
      begin(await signIn(key));
      field.value = "";
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problem.value = error;
    } finally {
      busy.value = false;
    }
  };
  const reason = leftBecause.value;
  return (
    <section class="signin">
      <h1 tabIndex={-1}>{t().title}</h1>
      {reason ? <p class="bar note" role="status">{{ signedOut: t().signedOut, idle: t().idle, expired: t().expired }[reason]}</p> : null}
      <form class="stack" onSubmit={(event) => void send(event)}>
        <label class="stack">
          <span>{t().key}</span>
          <input name="key" type="password" required autocomplete="off" spellcheck={false} placeholder="cs_…" aria-describedby="about-key" />
        </label>
        <button class="primary" disabled={busy.value}>{busy.value ? t().busy : t().enter}</button>
      </form>
      {problem.value ? <ProblemBox problem={problem.value} /> : null}
      <div id="about-key" class="dim stack small">
        <p>{t().about}</p>
        <p>{t().local}</p>
        <pre tabIndex={0}>python3 -c 'import json; print(json.load(open(".local/endpoints.json"))["api_key"])'</pre>
      </div>
    </section>
  );
}
