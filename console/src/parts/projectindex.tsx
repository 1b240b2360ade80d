/** The search over the whole project: on or off, how far it is, and the switch. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { post, request } from "../api";
import { useEffect } from "../hooks";
import { overviewTexts as t } from "../i18n/overview";
import { statusTexts } from "../i18n/status";
import { usePace } from "../pacing";
import { type ProjectIndex, projectIndex, projectIndexPath, switched } from "../projectindex";
import { useResource } from "../resource";
import { href } from "../router";
import { may } from "../session";
import { useSignal } from "../signals";
import { Confirm } from "./dialog";
import { ProblemBox, Shown } from "./states";
import { moves, Progress, Status } from "./status";

export function ProjectIndexRow({ index, reload }: { index: ProjectIndex | null; reload: () => void }): VNode {
  const acting = useActing();
  const asking = useSignal(false);
  const change = (on: boolean): void => {
    const act = on ? () => post(projectIndexPath(), undefined) : () => request("DELETE", projectIndexPath());
    void acting.run<unknown>(act).then(() => { switched(on); reload(); });
  };
  return (
    <section class="panel stack">
      <div class="row">
        <h2>{t().project}</h2>
        <Status value={index ? index.status : "off"} />
        {index ? <><Progress of={index.nodes} status={index.status} /><span class="num">{statusTexts().strings(index.nodes["indexed"] ?? 0, index.nodes_count)}</span></> : null}
        <span class="grow" />
        {index ? <a href={href("/indexes/project")}>{t().details}</a> : null}
        {!may("manage") ? null : index ? (
          <button onClick={() => (asking.value = true)} disabled={acting.busy.value}>{t().switchOff}…</button>
        ) : <button onClick={() => change(true)} disabled={acting.busy.value}>{t().switchOn}</button>}
      </div>
      {index ? null : <p class="dim">{t().projectOff}</p>}
      <ProblemBox problem={acting.problem.value} />
      {asking.value ? <Confirm title={t().switchOff} text={t().switchOffText} act={t().switchOff} onClose={() => (asking.value = false)} onAct={() => change(false)} /> : null}
    </section>
  );
}

/** Where a question to the project finds it off: the switch, its progress, and `onReady` when it can
 * be asked. */
export function ProjectIndexOff({ onReady }: { onReady: () => void }): VNode {
  const found = useResource("project index", async (signal) => ({ index: await projectIndex(signal) }));
  const index = found.data.value?.index;
  usePace(found.reload, moves(index?.status));
  useEffect(() => {
    if (index?.status === "ready") onReady();
  }, [index?.status]);
  return <Shown of={found} lines={2}>{(known) => <ProjectIndexRow index={known.index} reload={found.reload} />}</Shown>;
}
