/** A citation at its place: whether the text still says it, and what it said where it does not. */
import type { VNode } from "preact";
import { get, type Schema } from "../api";
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

type Citation = Schema<"ReadTextAnswer">;

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

function Found({ one }: { one: Citation }): VNode {
  const { status, was, place } = one;
  const said = { current: t().current, moved: t().moved, changed: was ? t().changed : t().changedOnly, gone: t().gone }[status];
  const [kind, sign] = { current: ["good", "●"], moved: ["note", "→"], changed: ["warn", "▲"], gone: ["bad", "✕"] }[status] as [string, string];
  return (
    <div class="stack wide">
      <p class={`bar ${kind}`} role="status"><span><span aria-hidden="true">{sign}</span> {said}</span></p>
      {place ? <There one={one} place={place} /> : null}
    </div>
  );
}

/** The text as it is at the place, and beside it what it was where it has changed. */
function There({ one: { text, was, cited, revision, url }, place }: { one: Citation; place: NonNullable<Citation["place"]> }): VNode {
  const { table_id: table, collection, pointer } = place;
  const { start, end } = cited ?? place;
  const name = may("manage") ? tableName(table) : (collection ?? tableName(table));
  return (
    <>
      <p class="row">
        <bdi>{name}</bdi> <code><bdi>{pointer || "/"}</bdi></code>
        <span class="small dim num">{textTexts().range(start, end)}{revision ? ` · ${documentTexts().revision} ${num(revision)}` : ""}</span>
        {may("manage") ? <a href={href(`/documents/${table}`, { p: pointer, a: start, b: end })}>{t().open}</a> : null}
        {url && /^https?:/.test(url) && !url.includes("/console#/cite/") ? <a href={url} rel="noreferrer">{t().outside}</a> : null}
      </p>
      <div class={was ? "split" : ""}>
        {was ? <section class="panel stack" aria-label={t().was}><h2>{t().was}</h2><p class="prose" dir="auto">{was}</p></section> : null}
        <section class="panel stack" aria-label={t().now}>
          <h2>{t().now}</h2>
          {may("manage") ? <TextPane table={table} pointer={pointer} tool={null} place={{ start, end }} matches={[]} hits={[]} /> : <p class="prose" dir="auto"><mark>{text}</mark></p>}
        </section>
      </div>
    </>
  );
}

export const page: Page = { id: "cite", title: () => titles().cite, View: Cite };
