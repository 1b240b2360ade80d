/** The index of every Search Tool and of the project; of one, its strings, and what can be done about it. */
import type { VNode } from "preact";
import { all, get, type Schema } from "../api";
import { useEffect, useRef } from "../hooks";
import { indexTexts as t } from "../i18n/indexes";
import { ago, due, moment, num } from "../i18n/language";
import { hintText, makeToolTexts } from "../i18n/maketool";
import { titles } from "../i18n/pages";
import { statusTexts } from "../i18n/status";
import { ensureLists, tableName, toolName, type ToolSummary, tools } from "../lists";
import { usePace } from "../pacing";
import type { Page } from "../page";
import { Table } from "../parts/form";
import { MakeTool } from "../parts/maketool";
import { Nodes } from "../parts/nodes";
import { Operations } from "../parts/operations";
import { Empty, Shown } from "../parts/states";
import { Counts, moves, Progress, standing, Status } from "../parts/status";
import { type ProjectIndex, projectIndex, projectIndexPath, switched } from "../projectindex";
import { useResource } from "../resource";
import { go, href, route, textOf } from "../router";
import { rateOf, type Seen } from "../rules/rate";
import { may } from "../session";
import { useSignal } from "../signals";

type ToolIndex = Schema<"SearchIndexAnswer">;
type AnyIndex = ToolIndex | ProjectIndex;

function Indexes(): VNode {
  const one = route.value.path[1];
  useEffect(() => {
    switched(true);
    void ensureLists().catch(() => undefined);
  }, []);
  return one === undefined ? <List /> : <One key={one} id={one} />;
}

async function listed(signal: AbortSignal): Promise<{ tools: readonly ToolSummary[]; project: ProjectIndex | null }> {
  const [found, project] = await Promise.all([all<ToolSummary>("/api/v1/tools?limit=100", "tools", { signal }), projectIndex(signal)]);
  tools.value = found.items;
  return { tools: found.items, project };
}

function List(): VNode {
  const found = useResource("indexes", listed);
  const making = useSignal(textOf("new") !== "");
  const data = found.data.value;
  usePace(found.reload, moves(data?.project?.status) || (data?.tools.some((tool) => moves(tool.status)) ?? false));
  const wanted = textOf("f").toLowerCase();
  const has = (tool: ToolSummary): boolean => `${tableName(tool.table_id)} ${tool.name} ${tool.status}`.toLowerCase().includes(wanted);
  return (
    <div class="stack wide">
      <div class="row">
        <h1 class="grow" tabIndex={-1}>{titles().indexes}</h1>
        <input type="search" value={textOf("f")} aria-label={t().filter} placeholder={t().filter} onInput={(event) => go("/indexes", { f: event.currentTarget.value }, true)} />
        {may("manage") ? <button onClick={() => (making.value = true)}>{makeToolTexts().title}…</button> : null}
      </div>
      <Shown of={found} lines={6}>
        {(data) => data.tools.length || data.project ? (
          <Table heads={[t().index, t().state, t().chunks, t().strings, t().next]} right={[2]}>
            {data.project ? <Row to="project" name={t().project} index={data.project} status={data.project.status} next={null} /> : null}
            {data.tools.filter(has).map((tool) => (
              <Row key={String(tool.id)} to={String(tool.id)} name={`${tableName(tool.table_id)} / ${toolName(tool)}`} index={tool.search_index} status={standing(tool)} next={tool.search_index.next_attempt_at} />
            ))}
          </Table>
        ) : <Empty text={t().none} />}
      </Shown>
      {making.value ? (
        <MakeTool table={textOf("table") || undefined} pointer={textOf("p")} onClose={() => { making.value = false; found.reload(); }} onMade={(tool) => go(`/indexes/${tool}`)} />
      ) : null}
    </div>
  );
}

interface RowProps {
  readonly to: string;
  readonly name: string;
  readonly index: Pick<AnyIndex, "indexed_chunks_count" | "nodes">;
  readonly status: string;
  readonly next: string | null;
}

function Row({ to, name, index, status, next }: RowProps): VNode {
  return (
    <tr>
      <td><a href={href(`/indexes/${to}`)}><bdi>{name}</bdi></a></td>
      <td><Status value={status} /></td>
      <td class="num right">{num(index.indexed_chunks_count)}</td>
      <td class="small"><Counts of={index.nodes} /> <Progress of={index.nodes} status={status} /></td>
      <td class="dim">{next ? due(next) : "–"}</td>
    </tr>
  );
}

function One({ id }: { id: string }): VNode {
  const isProject = id === "project";
  const path = isProject ? projectIndexPath() : `/api/v1/tools/${id}/search-index`;
  const index = useResource<AnyIndex | null>(path, (signal) => isProject ? projectIndex(signal) : get<ToolIndex>(path, { signal }));
  const now = index.data.value;
  usePace(index.reload, moves(now?.status));
  const tool = tools.value?.find((one) => String(one.id) === id);
  const name = isProject ? t().project : (tool ? toolName(tool) : id);
  return (
    <div class="stack wide">
      <div class="row">
        <h1 class="grow" tabIndex={-1}><a href={href("/indexes")}>{titles().indexes}</a> <span class="dim">/</span> <bdi>{tool ? `${tableName(tool.table_id)} / ` : ""}{name}</bdi></h1>
        {tool && may("manage") ? <Operations tool={id} name={tool.name} chunks={now?.chunks_count ?? 0} canRollBack={now !== null && "can_roll_back" in now && now.can_roll_back} changed={index.reload} /> : null}
      </div>
      <Shown of={index} lines={6}>
        {(index) => index ? (
          <div class="stack wide">
            <State index={index} />
            <Facts index={index} />
            {"refused" in index ? <Refused tables={index.refused} /> : null}
          </div>
        ) : <Empty text={statusTexts().off} />}
      </Shown>
      {isProject && !(now && may("manage")) ? null : <Nodes path={path} many={isProject} tool={isProject ? null : id} counts={now?.nodes ?? {}} reload={index.reload} />}
    </div>
  );
}

/** How far it is, in counts; what stands still says so in the place of the bar. */
function State({ index }: { index: AnyIndex }): VNode {
  const { indexed_chunks_count: done, nodes_count: all, status } = index;
  const indexed = index.nodes["indexed"] ?? 0;
  const seen = useRef<Seen[]>([]);
  useEffect(() => {
    seen.current = moves(status) ? [...seen.current, { at: Date.now(), done }].slice(-4) : [];
  }, [index]);
  // As many chunks to a string as until now: those of the others are not counted yet.
  const rate = moves(status) && indexed ? rateOf(seen.current, (done * all) / indexed) : null;
  const error = index.last_error;
  return (
    <section class="panel stack">
      <p class="row" role="status">
        <Status value={standing(index)} /> <span class="num">{statusTexts().strings(indexed, all)} · {statusTexts().chunks(done)}</span>
        {rate ? <span class="dim num">{t().rate(rate.perSecond, rate.seconds)}</span> : null}
      </p>
      {status === "stalled" ? <p class="bar bad" role="alert"><span>{t().stalled(error ? moment(error.at) : "–")}</span></p> : <Progress of={index.nodes} status={status} long />}
      <p><Counts of={index.nodes} />{"next_attempt_at" in index && index.next_attempt_at ? <span class="dim"> · {t().next} {due(index.next_attempt_at)}</span> : null}</p>
      {"not_searched" in index && index.not_searched ? <p class="dim num">{statusTexts().notSearched(index.not_searched)}</p> : null}
      {error ? <p class={status === "error" ? "bar bad" : "bar warn"}><span><code class="code">{error.code}</code> <bdi>{error.message}</bdi> <span class="dim">{moment(error.at)}</span></span></p> : null}
      {"hint" in index && index.hint ? <p class="bar note"><span>{hintText(index.hint, index.longest_string ?? 0)} <code class="code">{index.hint}</code></span></p> : null}
    </section>
  );
}

function Facts({ index }: { index: AnyIndex }): VNode {
  const compared = index.integrity;
  const clean = compared !== null && !compared.missing && !compared.orphans;
  return (
    <dl class="panel facts">
      {index.indexed_at ? <><dt>{t().since}</dt><dd>{moment(index.indexed_at)}</dd></> : null}
      <dt>{t().integrity}</dt>
      <dd class="num">{compared ? t().compared(ago(compared.at), compared.checked, compared.missing, compared.orphans, compared.repaired) : t().notCompared} {clean ? <span class="good">✓</span> : null}</dd>
      {"weights" in index ? <><dt>{t().from}</dt><dd>{index.weights_from}: {t().weights(num(index.weights.keyword, 2), num(index.weights.vector, 2))}</dd></> : null}
      <dt>{t().namespace}</dt>
      <dd><code>{index.namespace}</code></dd>
    </dl>
  );
}

function Refused({ tables }: { tables: ProjectIndex["refused"] }): VNode | null {
  if (!tables.length) return null;
  return (
    <section class="panel stack">
      <h2>{t().refused}</h2>
      <ul>{tables.map((one) => <li key={String(one.table_id)}><a href={href(`/documents/${one.table_id}`)}><bdi>{tableName(one.table_id)}</bdi></a> <code class="code">{one.code}</code> <bdi>{one.message}</bdi></li>)}</ul>
    </section>
  );
}

export const page: Page = { id: "indexes", order: 50, scopes: ["search", "manage"], title: () => titles().indexes, View: Indexes };
