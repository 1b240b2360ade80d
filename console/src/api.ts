/** The one way to the API: fetch with the session's key, problems as exceptions, ids exact. */
import type { components } from "../made/contract";
import { keyInUse, signedOut } from "./session";

export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];
/** Ids beyond 2^53 keep their digits as text. */
export type Id = number | string;

export interface ProblemFields {
  readonly status: number;
  readonly code: string;
  readonly title?: string;
  readonly detail: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly requestId?: string;
  readonly errors?: readonly { field: string; message: string }[];
  /** Whether the request named the revision that it was made of. */
  readonly named?: boolean;
  readonly changed?: readonly Record<string, unknown>[];
  readonly [more: string]: unknown;
}

export class Problem extends Error {
  constructor(readonly fields: ProblemFields) {
    super(fields.code);
  }
}

export interface Call {
  readonly body?: unknown;
  /** Sent as it is: a value of a document, whose numbers are never parsed. */
  readonly text?: string;
  readonly ifMatch?: string | number;
  readonly idempotent?: boolean;
  readonly signal?: AbortSignal;
  /** Another key than the session's, for signing in. */
  readonly key?: string;
}

export interface Reply<T> {
  readonly data: T;
  readonly status: number;
  readonly etag: string | null;
  readonly raw: string;
}

/** Whether it was refused because somebody else has changed the same meanwhile. */
export const isStale = ({ status, code, named }: ProblemFields): boolean => status === 412 || code === "REPLACE_STALE" || (code === "CONFLICT" && named === true);

/** How long the questions of this tab have taken, in milliseconds, as a person waits for them. */
export const asked: number[] = [];
const QUESTION = /\/(search(\/explain)?|retrieve)$/;

/** JSON whose integers beyond 2^53 are texts of all their digits. */
export function exactJson(text: string): unknown {
  const keep = (_: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === "number" && !Number.isSafeInteger(value) && context?.source && /^-?\d+$/.test(context.source)
      ? context.source
      : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}

/** The last answers of what is polled, by path; of one key. */
const kept = new Map<string, Reply<unknown>>();
let keptFor: string | null = null;
const MOST_KEPT = 20;

/** One request. Throws Problem, also when nobody answers; an AbortError when it was stopped. */
export async function request<T>(method: string, path: string, call: Call = {}): Promise<Reply<T>> {
  const headers: Record<string, string> = {};
  const key = call.key ?? keyInUse();
  if (key) headers["Authorization"] = `Bearer ${key}`;
  const body = call.text ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (call.ifMatch !== undefined) headers["If-Match"] = `"${String(call.ifMatch).replaceAll('"', "")}"`;
  if (call.idempotent) headers["Idempotency-Key"] = crypto.randomUUID();
  if (key !== keptFor || kept.size > MOST_KEPT) kept.clear();
  keptFor = key;
  const last = method === "GET" ? kept.get(path) : undefined;
  if (last?.etag) headers["If-None-Match"] = last.etag;
  let response: Response;
  let raw: string;
  const began = performance.now();
  try {
    response = await fetch(path, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(call.signal ? { signal: call.signal } : {}),
      credentials: "omit",
      redirect: "error",
      cache: "no-store",
    });
    raw = await response.text();
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem({ status: 0, code: "OFFLINE", detail: "", retryable: true });
  }
  if (last && response.status === 304) return last as Reply<T>;
  if (response.ok && QUESTION.test(path)) asked.push(performance.now() - began);
  if (!response.ok) throw refused(response, raw, call);
  const data = (raw && response.headers.get("content-type")?.includes("json") ? exactJson(raw) : undefined) as T;
  const reply = { data, status: response.status, etag: response.headers.get("etag"), raw };
  if (reply.etag?.startsWith("W/")) kept.set(path, reply);
  return reply;
}

function refused(response: Response, raw: string, { key, ifMatch }: Call): Problem {
  let fields: Record<string, unknown> = {};
  try {
    fields = exactJson(raw) as Record<string, unknown>;
  } catch {
    // A proxy's page: the status has to do.
  }
  if (response.status === 401 && key === undefined) signedOut("expired");
  return new Problem({
    code: `HTTP_${response.status}`,
    detail: typeof fields["message"] === "string" ? fields["message"] : "",
    retryable: response.status >= 500 || response.status === 429,
    requestId: response.headers.get("x-request-id") ?? response.headers.get("apigw-requestid") ?? "",
    ...fields,
    named: ifMatch !== undefined,
    status: response.status,
  });
}

export async function get<T>(path: string, call: Call = {}): Promise<T> {
  return (await request<T>("GET", path, call)).data;
}

export async function post<T>(path: string, body: unknown, call: Call = {}): Promise<T> {
  return (await request<T>("POST", path, { ...call, body })).data;
}

const MOST_PAGES = 20;

/** All pages of a list, at most so many: lists of this console are short, and say when cut. A page
 * may be short, or empty, and another one follows. `last` is the last page as it was answered. */
export async function all<T>(
  path: string,
  name: string,
  options: { signal?: AbortSignal; most?: number } = {},
): Promise<{ items: T[]; cut: boolean; last: Readonly<Record<string, unknown>> }> {
  const items: T[] = [];
  let last: Record<string, unknown> = {};
  // Who says how many are wanted gets so many, unless page after page is empty.
  for (let pages = 0, idle = 0; idle < MOST_PAGES && items.length < (options.most ?? 1000); pages += 1) {
    const at = pages ? `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(String(last["cursor"]))}` : path;
    last = await get(at, options.signal ? { signal: options.signal } : {});
    const page = last[name] as T[];
    items.push(...page);
    idle += options.most === undefined || !page.length ? 1 : 0;
    if ((last["cursor"] ?? null) === null) return { items, cut: false, last };
  }
  return { items, cut: true, last };
}

/** The same request for a terminal; the key stays a variable. */
export function asCurl(method: string, path: string, body?: unknown): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const lines = [`curl ${method === "GET" || (method === "POST" && body !== undefined) ? "" : `-X ${method} `}${quoted(location.origin + path)}`];
  lines.push(`-H "Authorization: Bearer $KEY"`);
  if (body !== undefined) lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body))}`);
  return lines.join(" \\\n  ");
}
