/**
 * Who is signed in. The key lies in sessionStorage, which is this tab's and this port's; a new tab
 * asks the open ones. A key that may manage makes one of at most eight hours and is forgotten.
 */
import { computed, effect, signal } from "./signals";

export type Scope = "search" | "manage" | "replace";
export type Reason = "signedOut" | "idle" | "expired";

export interface Session {
  readonly key: string;
  readonly keyId: number | string | null;
  /** Whether the page made the key, and so revokes it. */
  readonly own: boolean;
  readonly projectId: number | string;
  readonly project: string;
  readonly scopes: readonly Scope[];
  readonly endsAt: string | null;
  readonly version: string;
}

const STORE = "context-search.session";
const IDLE_MS = 30 * 60_000;
const CHANNEL = "context-search";

export const session = signal<Session | null>(restored());
/** Why the sign-in page is shown. */
export const leftBecause = signal<Reason | null>(null);
export const signedIn = computed(() => session.value !== null);

const channel = new BroadcastChannel(CHANNEL);
let touchedAt = Date.now();

function restored(): Session | null {
  try {
    return JSON.parse(sessionStorage.getItem(STORE) ?? "null") as Session | null;
  } catch {
    return null;
  }
}

effect(() => {
  if (session.value) sessionStorage.setItem(STORE, JSON.stringify(session.value));
  else sessionStorage.removeItem(STORE);
});

export const keyInUse = (): string | null => session.value?.key ?? null;
export const may = (scope: Scope): boolean => session.value?.scopes.includes(scope) ?? false;

export function begin(next: Session): void {
  touchedAt = Date.now();
  leftBecause.value = null;
  session.value = next;
  channel.postMessage({ kind: "session", session: next });
}

/** The session is over; the key is not asked for anything any more. */
export function signedOut(reason: Reason): void {
  if (!session.value) return;
  leftBecause.value = reason;
  session.value = null;
}

/** Revokes the key that the page has made, here and in all tabs. Nobody who idles ends keys that
 * were made with it: then it is only forgotten, and ends by itself, within eight hours. */
export async function signOut(reason: Reason = "signedOut"): Promise<void> {
  const last = session.value;
  signedOut(reason);
  channel.postMessage({ kind: "over", reason });
  if (last) await revoke(last, reason === "idle").catch(() => undefined);
}

interface Made {
  readonly id: number | string;
  readonly name: string | null;
  readonly prefix: string;
  readonly made_by: number | string | null;
  readonly revoked_at: string | null;
  readonly expires_at: string | null;
}

/** The keys that end with a session's, by their names: those that it has made, and that those have. */
export async function endingWith(one: Session): Promise<string[]> {
  if (!one.own || !one.scopes.includes("manage")) return [];
  const keys: Made[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const more: string = cursor && `&cursor=${cursor}`;
    const response = await asking(one, "GET", `?kind=all${more}`);
    if (!response.ok) throw new Error(String(response.status));
    const page = (await response.json()) as { keys: Made[]; cursor: string | null };
    keys.push(...page.keys);
    cursor = page.cursor;
  }
  const ending = new Set([String(one.keyId)]);
  // Ids grow: who makes a key stands before it.
  const made = keys.filter((key) => ending.has(String(key.made_by)) && ending.add(String(key.id)));
  return made.filter((key) => !key.revoked_at && !(key.expires_at && Date.parse(key.expires_at) < Date.now())).map((key) => key.name ?? key.prefix);
}

const asking = (of: Session, method: string, path: string): Promise<Response> =>
  fetch(`/api/v1/projects/${of.projectId}/keys${path}`, { method, headers: { Authorization: `Bearer ${of.key}` }, credentials: "omit", redirect: "error", keepalive: true });

/** The key of a session that is over, or never began. */
export async function revoke(one: Session, unlessUsed = false): Promise<void> {
  if (!one.own || one.keyId === null || (unlessUsed && (await endingWith(one)).length)) return;
  await asking(one, "DELETE", `/${one.keyId}`);
}

interface Said {
  readonly kind: "ask" | "session" | "over" | "touch";
  readonly session?: Session;
  readonly reason?: Reason;
}

channel.addEventListener("message", (event: MessageEvent<Said>) => {
  const said = event.data;
  if (said.kind === "ask" && session.value) channel.postMessage({ kind: "session", session: session.value });
  if (said.kind === "session" && !session.value && said.session) session.value = said.session;
  if (said.kind === "over") signedOut(said.reason ?? "signedOut");
  if (said.kind === "touch") touchedAt = Date.now();
});
if (!session.value) channel.postMessage({ kind: "ask" });

let toldAt = 0;
function touch(): void {
  touchedAt = Date.now();
  if (touchedAt - toldAt > 10_000) {
    toldAt = touchedAt;
    channel.postMessage({ kind: "touch" });
  }
}
for (const kind of ["pointerdown", "keydown", "wheel"]) addEventListener(kind, touch, { passive: true, capture: true });

/** Ends what nobody has touched for half an hour, and what is past its end. */
export function endIfIdle(now = Date.now()): void {
  const current = session.value;
  if (!current) return;
  if (current.endsAt && new Date(current.endsAt).getTime() <= now) signedOut("expired");
  else if (now - touchedAt >= IDLE_MS) void signOut("idle");
}
setInterval(() => endIfIdle(), 15_000);
