/** What a table was: its versions, and one of them back. */
import type { VNode } from "preact";
import { useActing } from "../acting";
import { get, type Id, request, type Schema } from "../api";
import { documentTexts as t } from "../i18n/documents";
import { ago, bytes, num } from "../i18n/language";
import { actorName, wordOf } from "../i18n/replace";
import { useResource } from "../resource";
import { useSignal } from "../signals";
import { Confirm, Dialog } from "./dialog";
import { Table } from "./form";
import { ProblemBox, Shown } from "./states";

interface VersionsProps {
  readonly table: Id;
  readonly revision: number;
  readonly onClose: () => void;
  readonly onRestored: (revision: number) => void;
}

export function Versions({ table, revision, onClose, onRestored }: VersionsProps): VNode {
  const list = useResource(`versions ${table}`, (signal) => get<Schema<"VersionsAnswer">>(`/api/v1/tables/${table}/versions`, { signal }));
  const chosen = useSignal<number | null>(null);
  const acting = useActing();
  const restore = async (wanted: number): Promise<void> => {
    const path = `/api/v1/tables/${table}/versions/${wanted}/restore`;
    const done = await acting.run(() => request<{ revision?: number }>("POST", path, { ifMatch: revision }));
    if (done) onRestored(done.data.revision ?? revision + 1);
  };
  return (
    <Dialog title={t().versions} onClose={onClose} wide>
      <ProblemBox problem={acting.problem.value} />
      <Shown of={list}>
        {(answer) => (
          <Table flat heads={[t().revision, t().cause, t().changed, t().asJson, ""]} right={[0, 3]}>
            {answer.versions.map((version) => (
              <tr key={version.revision}>
                <td class="num right">{num(version.revision)}</td>
                <td>{wordOf(version.cause ?? "–")} <span class="dim small">{actorName(version.actor)}</span> {version.label ? <span class="badge"><bdi>{version.label}</bdi></span> : null}</td>
                <td class="dim">{version.created_at ? ago(version.created_at) : "–"}</td>
                <td class="num right dim">{version.bytes === null ? "" : bytes(version.bytes)}</td>
                <td class="right">
                  {version.live ? <span class="badge good">{t().live}</span> : version.recorded ? <button class="small" onClick={() => (chosen.value = version.revision)}>{t().restore}</button> : <span class="dim small">{t().notRecorded}</span>}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Shown>
      {chosen.value === null ? null : (
        <Confirm title={t().restore} text={t().restoreText(chosen.value)} act={t().restore} onClose={() => (chosen.value = null)} onAct={() => void restore(chosen.value!)} />
      )}
    </Dialog>
  );
}
