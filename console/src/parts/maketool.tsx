/** A Search Tool from a scope. What was too short for the threshold can be made again at once. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { announce } from "../announce";
import { type Id, post, request, type Schema } from "../api";
import { useEffect } from "../hooks";
import { codeText } from "../i18n/common";
import { documentTexts } from "../i18n/documents";
import { hintText, makeToolTexts as t } from "../i18n/maketool";
import { ensureLists, refreshLists, tables } from "../lists";
import { useResource } from "../resource";
import { lengthsOf } from "../rules/lengths";
import { session } from "../session";
import { useSignal } from "../signals";
import { FormDialog } from "./form";

type Made = Schema<"NewSearchToolAnswer">;
interface MakeToolProps {
  readonly table?: Id | undefined;
  readonly pointer?: string;
  readonly onClose: () => void;
  readonly onMade: (tool: Id) => void;
}
/** A document that is stored in more bytes is not read to count its strings. */
const MOST_COUNTED = 1_000_000;
/** Where nothing was long enough: what a short document's strings have, and no headline. */
const SHORT = 200;

export function MakeTool({ table, pointer = "", onClose, onMade }: MakeToolProps): VNode {
  const acting = useActing();
  const hinted = useSignal<Made | null>(null);
  const threshold = useSignal("10000");
  const chosen = useSignal(table === undefined ? "" : String(table));
  const scope = useSignal(pointer);
  const typing = useSignal(false);
  useEffect(() => void acting.run(ensureLists), []);
  const send = async (fields: FormData): Promise<void> => {
    const field = (name: string): string => (fields.get(name) as string).trim();
    if (short) threshold.value = String(lower);
    const fits = { chunk_threshold: Number(threshold.value), chunk_size: Number(field("size")), chunk_overlap: Number(field("overlap")) };
    const about = { name: field("name"), json_path: field("scope"), ...(field("description") ? { description: field("description") } : {}) };
    const body = { project_id: session.value?.projectId, table_id: Number(field("table")), ...about, search_config: fits };
    const made = await acting.run(async () => {
      await forget();
      const answer = await post<Made>("/api/v1/tools/search", body, { idempotent: true });
      await refreshLists();
      return answer;
    });
    if (!made) return;
    if (made.hint) hinted.value = made;
    else {
      announce(t().made);
      onMade(made.tool_id);
    }
  };
  /** One that has indexed nothing is of no use: it goes when another is made, or none. */
  const forget = async (): Promise<void> => {
    if (hinted.value) await request("DELETE", `/api/v1/tools/${hinted.value.tool_id}`);
    hinted.value = null;
  };
  const close = async (): Promise<void> => {
    if (!hinted.value) return onClose();
    if (await acting.run(async () => { await forget(); await refreshLists(); return true; })) onClose();
  };
  const longest = hinted.value?.longest_string ?? 0;
  const short = hinted.value?.hint === "no_long_strings" && longest > 0;
  const lower = Math.max(1, Math.min(SHORT, longest));
  return (
    <FormDialog title={t().title} act={short ? t().lower(lower) : t().make} acting={acting} onSend={send} onClose={() => void close()}>
        <label class="stack">{documentTexts().table}
          <select name="table" key={String(tables.value?.length)} defaultValue={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
            {(tables.value ?? []).map((one) => <option key={String(one.id)} value={String(one.id)} selected={String(one.id) === chosen.value}>{one.name ?? one.id}</option>)}
          </select>
        </label>
        <label class="stack">{t().scope}<input class="mono" name="scope" defaultValue={pointer} placeholder="/articles" onInput={() => (typing.value = true)} onChange={(event) => { scope.value = event.currentTarget.value.trim(); typing.value = false; }} /></label>
        <label class="stack">{t().name}<input name="name" required maxLength={128} placeholder="search_articles" /></label>
        <label class="stack">{t().description}<textarea name="description" rows={2} maxLength={4000} /></label>
        <div class="row">
          <label class="stack grow">{t().threshold}<input type="number" min="1" value={threshold.value} onInput={(event) => (threshold.value = event.currentTarget.value)} /></label>
          <label class="stack">{t().size}<input name="size" type="number" min="100" max="8000" defaultValue="1000" /></label>
          <label class="stack">{t().overlap}<input name="overlap" type="number" min="0" max="4000" defaultValue="100" /></label>
        </div>
        {typing.value ? null : <Counted table={chosen.value || String(tables.value?.[0]?.id ?? "")} scope={scope.value} threshold={Number(threshold.value)} />}
        {hinted.value?.hint ? (
          <p class="bar warn" role="alert"><span>{hintText(hinted.value.hint, longest)} <code class="code">{hinted.value.hint}</code></span></p>
        ) : null}
    </FormDialog>
  );
}

/** How many strings would be indexed; a count is of the whole scope, or there is none. */
function Counted({ table, scope, threshold }: { table: string; scope: string; threshold: number }): VNode | null {
  const stored = tables.value?.find((one) => String(one.id) === table)?.stored_bytes;
  const isLarge = stored !== undefined && stored > MOST_COUNTED;
  const lengths = useResource(stored === undefined || isLarge ? null : `${table} ${scope}`, async (signal) =>
    lengthsOf(await post(`/api/v1/tables/${table}/data/read`, { json_pointer: scope }, { signal })),
  );
  const [found, refused] = [lengths.data.value, lengths.problem.value?.fields.status];
  if (isLarge || refused === 413) return <p class="small dim" role="status">{t().notCounted}</p>;
  if (refused === 404) return <p class="small dim" role="status">{codeText("scope_missing")}</p>;
  if (found === null || refused || lengths.loading.value || !(threshold >= 1)) return null;
  return <p class="small dim num" role="status">{t().counted(found.filter((length) => length >= threshold).length, found.length)}</p>;
}
