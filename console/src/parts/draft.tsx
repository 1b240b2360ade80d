/** B: another tool, or a draft of A's ranking, which can be applied to it. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { isStale, request, type Schema } from "../api";
import { evaluateTexts as t } from "../i18n/evaluate";
import { searchTexts, strategies } from "../i18n/search";
import { may } from "../session";
import { useSignal } from "../signals";
import { Confirm } from "./dialog";
import { ProblemBox } from "./states";

type Config = Schema<"SearchConfigAnswer">;
export interface Draft {
  readonly strategy: Config["strategy"];
  readonly fusion: Config["fusion"];
  readonly bm25_weight: number | null;
  readonly vector_weight: number | null;
  readonly recency_weight: number;
}
export interface Tool {
  readonly id: number;
  readonly name: string;
  readonly draft: Draft;
  readonly etag: string | null;
}

export async function readTool(id: string, signal: AbortSignal): Promise<Tool> {
  const { data, etag } = await request<Schema<"SearchToolAnswer">>("GET", `/api/v1/tools/${id}`, { signal });
  const { strategy, fusion, bm25_weight, vector_weight, recency_weight } = data.search_config;
  return { id: data.id, name: data.name, etag, draft: { strategy, fusion, bm25_weight, vector_weight, recency_weight } };
}

interface DraftFormProps {
  readonly tool: Tool;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly onApplied: () => void;
}

export function DraftForm({ tool, draft, onChange, onApplied }: DraftFormProps): VNode {
  const asking = useSignal(false);
  const acting = useActing();
  const pick = <Name extends "strategy" | "fusion">(name: Name, label: string, of: readonly Draft[Name][]): VNode => (
    <label class="row"><span class="dim small">{label}</span>
      <select value={draft[name]} onChange={(event) => onChange({ ...draft, [name]: event.currentTarget.value })}>{of.map((one) => <option key={one} value={one}>{strategies()[one] ?? one}</option>)}</select>
    </label>
  );
  // Of a leg, `other` is the other one: the API has weights for both, or finds both.
  const weight = (name: "bm25_weight" | "vector_weight" | "recency_weight", label: string, other?: Partial<Draft>): VNode => (
    <label class="row"><span class="dim small">{label}</span>
      <input class="weight num" type="number" min="0" max="1" step="0.05" placeholder={t().found} value={draft[name] ?? ""}
        onChange={({ currentTarget: { value } }) => onChange({ ...draft, ...(value || !other ? { ...other, [name]: Number(value) } : { bm25_weight: null, vector_weight: null }) })} />
    </label>
  );
  const apply = async (): Promise<void> => {
    const done = await acting.run(() => request("PATCH", `/api/v1/tools/${tool.id}`, { body: { search_config: draft }, ...(tool.etag ? { ifMatch: tool.etag } : {}) }), t().applied);
    if (done || (acting.problem.value && isStale(acting.problem.value.fields))) onApplied();
  };
  const problem = acting.problem.value;
  return (
    <>
      {pick("strategy", searchTexts().strategy, ["hybrid", "semantic", "keyword"])}
      {pick("fusion", t().fusion, ["convex", "rrf", "linear"])}
      {weight("bm25_weight", searchTexts().keyword, { vector_weight: draft.vector_weight ?? 0.2 })}
      {weight("vector_weight", t().vector, { bm25_weight: draft.bm25_weight ?? 0.8 })}
      {draft.fusion === "linear" ? weight("recency_weight", t().recency) : null}
      {may("manage") ? <button onClick={() => (asking.value = true)} disabled={acting.busy.value || JSON.stringify(draft) === JSON.stringify(tool.draft)}>{t().apply}…</button> : null}
      {asking.value ? <Confirm title={t().apply} text={t().applyText(tool.name)} act={t().apply} onClose={() => (asking.value = false)} onAct={() => void apply()} /> : null}
      {problem ? <div class="all">{isStale(problem.fields) ? <p class="bar warn" role="alert"><span>{t().newer}</span></p> : <ProblemBox problem={problem} />}</div> : null}
    </>
  );
}
