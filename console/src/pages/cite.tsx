/** A citation at its place: whether the text still says it, and what it said where it does not. */
import type { VNode } from "preact";
import { get } from "../api";
import { useEffect } from "../hooks";
import { citeTexts as t } from "../i18n/cite";
import { documentTexts } from "../i18n/documents";
import { num } from "../i18n/language";
import { titles } from "../i18n/pages";
import { textTexts } from "../i18n/text";
import { ensureLists, tableName } from "../lists";
import type { Page } from "../page";
import { Copy } from "../parts/copy";
import { Empty, Shown } from "../parts/states";
import { TextPane } from "../parts/textpane";
import { useResource } from "../resource";
import { href, route } from "../router";
import { may } from "../session";

interface Citation {
  readonly cite: string;
  readonly status: "current" | "moved" | "changed" | "gone";
  readonly text?: string | null;
  readonly was?: string | null;
  readonly place: { readonly table_id: number | string; readonly collection?: string | null; readonly pointer: string; readonly start: number; readonly end: number };
  readonly revision: number;
  readonly url?: string | null;
}

function Cite(): VNode {
  const cite = route.value.path[1];
  const path = cite === undefined ? null : `/api/v1/citations/${encodeURIComponent(cite)}`;
  const found = useResource(path, (signal) => get<Citation>(path!, { signal }));
  useEffect(() => void ensureLists().catch(() => undefined), []);
  return (
    <div class="stack wide">
      <div class="row"><h1 class="grow" tabIndex={-1}>{titles().cite}</h1>{cite === undefined ? null : <><code><bdi>{cite}</bdi></code><Copy text={cite} quiet /></>}</div>
      {cite === undefined ? <Empty text={t().none} /> : <Shown of={found}>{(one) => <Found one={one} />}</Shown>}
    </div>
  );
}

function Found({ one: { status, text, was, place, revision, url } }: { one: Citation }): VNode {
  const { table_id: table, pointer, start, end } = place;
  const said = { current: t().current, moved: t().moved, changed: was ? t().changed : t().changedOnly, gone: t().goneNow }[status];
  const [kind, sign] = { current: ["good", "●"], moved: ["note", "→"], changed: ["warn", "▲"], gone: ["bad", "✕"] }[status] as [string, string];
  const query = { p: pointer, a: start, b: end };
  return (
    <div class="stack wide">
      <p class={`bar ${kind}`} role="status"><span aria-hidden="true">{sign}</span><span>{said}</span></p>
      <p class="row">
        <bdi>{may("manage") ? tableName(table) : (place.collection ?? tableName(table))}</bdi> <code><bdi>{pointer || "/"}</bdi></code>
        <span class="small dim num">{textTexts().range(start, end)} · {documentTexts().revision} {num(revision)}</span>
        {may("manage") && status !== "gone" ? <a href={href(`/documents/${table}`, query)}>{t().open}</a> : null}
        {url && /^https?:/.test(url) ? <a href={url} rel="noreferrer">{t().outside}</a> : null}
      </p>
      <div class={was && status !== "gone" ? "split" : ""}>
        {was ? <section class="panel stack" aria-label={t().was}><h2>{t().was}</h2><p class="prose" dir="auto">{was}</p></section> : null}
        {status === "gone" ? null : (
          <section class="panel stack" aria-label={t().now}>
            <h2>{t().now}</h2>
            {may("manage") ? <TextPane table={table} pointer={pointer} tool={null} place={{ start, end }} matches={[]} hits={[]} /> : <p class="prose" dir="auto"><mark>{text}</mark></p>}
          </section>
        )}
      </div>
    </div>
  );
}

export const page: Page = { id: "cite", title: () => titles().cite, View: Cite };
