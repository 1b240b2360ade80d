/** Files into tables: small ones in one request, others by the bucket, without the session's key. */
import { get, type Id, Problem, request, type Schema } from "./api";
import { t } from "./i18n/common";
import { decoded, documentOf } from "./rules/chapters";
import { jsonError } from "./rules/json";
import { session } from "./session";
import { signal } from "./signals";

/** A body of the API has 6 MB; quotes and line breaks count twice on their way. */
const MOST_DIRECT = 2_500_000;
type Upload = Schema<"UploadAnswer">;
const ENDING = /\.(json|jsonl|ndjson|txt|md)$/i;

export interface Sending {
  readonly name: string;
  readonly size: number;
  readonly state: "sending" | "importing" | "done" | "failed";
  readonly table: Id | null;
  readonly revision: number | null;
  readonly problem: Problem | null;
}
export const sending = signal<Sending | null>(null);

/** What a text makes is sent, and every JSON as it is. Its numbers keep all their digits. */
async function jsonOf(file: File): Promise<File> {
  const refused = (code: string, detail: string): Problem => new Problem({ status: 415, code, detail, retryable: false });
  if (/\.json$/i.test(file.name) && file.size <= MOST_DIRECT) {
    // In the file, which the API sees within a larger body.
    const wrong = jsonError(await file.text());
    if (wrong) throw refused("NOT_JSON", t().jsonAt(wrong.line, wrong.column, wrong.text));
  }
  if (/\.(json|jsonl|ndjson)$/i.test(file.name)) return file;
  if (!/\.(txt|md)$/i.test(file.name)) throw refused("NOT_JSON", t().notJson);
  const bytes = await file.arrayBuffer();
  try {
    return new File([JSON.stringify(documentOf(file.name, decoded(bytes)))], `${file.name}.json`);
  } catch {
    throw refused("NOT_TEXT", t().notText);
  }
}

const isLines = (file: File): boolean => /\.(jsonl|ndjson)$/i.test(file.name);

/** Makes a table of a file, of its name. */
export async function newTable(file: File): Promise<void> {
  const name = file.name.replace(ENDING, "");
  await told(file, async (file) => {
    const direct = file.size <= MOST_DIRECT && !isLines(file);
    const data = direct ? await file.text() : "{}";
    const text = `{"project_id": ${session.value?.projectId}, "name": ${JSON.stringify(name)}, "data": ${data}}`;
    const made = await request<Schema<"TableAnswer">>("POST", "/api/v1/tables", { text, idempotent: true });
    return direct ? made.data : await byBucket(made.data.id, file);
  });
}

/** Replaces the whole document of a table, if it still has the revision that was seen. */
export async function newContent(table: Id, file: File, revision: number): Promise<void> {
  await told(file, async (file) => {
    if (file.size > MOST_DIRECT || isLines(file)) return byBucket(table, file, revision);
    const path = `/api/v1/tables/${table}/data`;
    return (await request<Schema<"TableAnswer">>("PUT", path, { text: await file.text(), ifMatch: revision })).data;
  });
}

async function told(file: File, run: (file: File) => Promise<{ id: Id; revision: number }>): Promise<void> {
  const began: Sending = { name: file.name, size: file.size, state: "sending", table: null, revision: null, problem: null };
  sending.value = began;
  try {
    const { id, revision } = await run(await jsonOf(file));
    sending.value = { ...began, state: "done", table: id, revision };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    sending.value = { ...began, state: "failed", problem: error };
  }
}

async function byBucket(table: Id, file: File, revision?: number): Promise<{ id: Id; revision: number }> {
  const path = `/api/v1/tables/${table}/uploads`;
  const ifMatch = revision === undefined ? {} : { ifMatch: revision };
  const body = { format: isLines(file) ? "jsonl" : "json", size: file.size };
  const place = (await request<Schema<"NewUploadAnswer">>("POST", path, { body, idempotent: true, ...ifMatch })).data;
  let put: Response;
  try {
    put = await fetch(place.url, { method: "PUT", headers: place.headers, body: file, credentials: "omit", redirect: "error" });
  } catch {
    throw new Problem({ status: 0, code: "UPLOAD_BLOCKED", detail: "the bucket did not take the file from this page: see docs/console.md", retryable: true });
  }
  if (!put.ok) throw new Problem({ status: put.status, code: "UPLOAD_REFUSED", detail: "", retryable: false });
  await request("POST", `${path}/${place.upload_id}/complete`);
  if (sending.value) sending.value = { ...sending.value, state: "importing", table };
  return followed(`${path}/${place.upload_id}`, table);
}

async function followed(path: string, table: Id): Promise<{ id: Id; revision: number }> {
  for (;;) {
    const upload = await get<Upload>(path);
    if (upload.status === "done") return { id: table, revision: upload.revision ?? 0 };
    if (upload.status === "failed") {
      const error = upload.last_error;
      throw new Problem({ status: 422, code: error?.code ?? "UPLOAD_FAILED", detail: error?.message ?? "", retryable: false });
    }
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
}
