/** A citation at its place: whether the text still says it, and what it said where it does not. */
import type { VNode } from "preact";
import { get, type Id } from "../api";
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

interface Place {
  readonly table_id: Id;
  readonly collection?: string | null;
  readonly pointer: string;
  readonly start: number;
  readonly end: number;
}
interface Citation {
  readonly cite: string;
  readonly status: "current" | "moved" | "changed" | "gone";
  readonly text?: string | null;
  readonly was?: string | null;
  readonly place?: Place | null;
  readonly revision?: number | null;
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
  const said = { current: t().current, moved: t().moved, changed: was ? t().changed : t().changedOnly, gone: t().gone }[status];
  const [kind, sign] = { current: ["good", "●"], moved: ["note", "→"], changed: ["warn", "▲"], gone: ["bad", "✕"] }[status] as [string, string];
  const there = status === "gone" ? null : place;
  return (
    <div class="stack wide">
      <p class={`bar ${kind}`} role="status"><span><span aria-hidden="true">{sign}</span> {said}</span></p>
      <p class="row">
        {place ? <Where place={place} revision={revision} /> : null}
        {there && may("manage") ? <a href={href(`/documents/${there.table_id}`, { p: there.pointer, a: there.start, b: there.end })}>{t().open}</a> : null}
        {url && /^https?:/.test(url) ? <a href={url} rel="noreferrer">{t().outside}</a> : null}
      </p>
      <div class={was && there ? "split" : ""}>
        {was ? <section class="panel stack" aria-label={t().was}><h2>{t().was}</h2><p class="prose" dir="auto">{was}</p></section> : null}
        {there ? (
          <section class="panel stack" aria-label={t().now}>
            <h2>{t().now}</h2>
            {may("manage") ? <TextPane table={there.table_id} pointer={there.pointer} tool={null} place={there} matches={[]} hits={[]} /> : <p class="prose" dir="auto"><mark>{text}</mark></p>}
          </section>
        ) : null}
      </div>
    </div>
  );
}

function Where({ place: { table_id, collection, pointer, start, end }, revision }: { place: Place; revision: number | null | undefined }): VNode {
  return (
    <>
      <bdi>{may("manage") ? tableName(table_id) : (collection ?? tableName(table_id))}</bdi> <code><bdi>{pointer || "/"}</bdi></code>
      <span class="small dim num">{textTexts().range(start, end)}{revision ? ` · ${documentTexts().revision} ${num(revision)}` : ""}</span>
    </>
  );
}

export const page: Page = { id: "cite", title: () => titles().cite, View: Cite };
