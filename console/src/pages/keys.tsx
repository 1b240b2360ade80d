/** The keys of the project. */
import type { VNode } from "preact";
import { all } from "../api";
import { keyTexts as t } from "../i18n/keys";
import { titles } from "../i18n/pages";
import type { Page } from "../page";
import { type Key, KeyTable, MakeKey, type NewKey, Once } from "../parts/keys";
import { useResource } from "../resource";
import { session } from "../session";
import { useSignal } from "../signals";

function Keys(): VNode {
  const path = `/api/v1/projects/${session.value?.projectId}/keys`;
  const sessions = useSignal(false);
  const making = useSignal(false);
  const secret = useSignal<NewKey | null>(null);
  const list = useResource<readonly Key[]>(`${path} ${sessions.value}`, async (signal) =>
    (await all<Key>(`${path}${sessions.value ? "?kind=all" : ""}`, "keys", { signal })).items,
  );
  const made = (key: NewKey): void => {
    making.value = false;
    secret.value = key;
    list.reload();
  };
  return (
    <div class="stack wide">
      <div class="row">
        <h1 class="grow" tabIndex={-1}>{titles().keys}</h1>
        <label class="check"><input type="checkbox" checked={sessions.value} onChange={(event) => (sessions.value = event.currentTarget.checked)} />{t().all}</label>
        <button class="primary" onClick={() => (making.value = true)}>{t().make}…</button>
      </div>
      {secret.value ? <Once key={secret.value.api_key} secret={secret.value.api_key} ends={secret.value.expires_at} /> : null}
      <KeyTable path={path} scoped of={list} onNew={made} onRevoked={(prefix) => { if (secret.value?.prefix === prefix) secret.value = null; }} />
      {making.value ? <MakeKey path={path} scoped onClose={() => (making.value = false)} onMade={made} /> : null}
    </div>
  );
}

export const page: Page = { id: "keys", order: 80, scopes: ["manage"], title: () => titles().keys, View: Keys };
