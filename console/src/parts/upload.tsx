/** Choosing or dropping a file, and how far it is. */
import type { VNode } from "preact";
import { useEffect, useRef } from "../hooks";
import { documentTexts as t } from "../i18n/documents";
import { bytes } from "../i18n/language";
import { href } from "../router";
import { sending } from "../uploads";
import { ProblemBox } from "./states";

export function FileButton({ label, onFile }: { label: string; onFile: (file: File) => void }): VNode {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button onClick={() => field.current?.click()}>{label}</button>
      <input ref={field} type="file" accept=".json,.jsonl,.ndjson,.txt,.md" hidden
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) onFile(file);
        }} />
    </>
  );
}

export function UploadState(): VNode | null {
  const now = sending.value;
  // What is over is not said anew on another page.
  useEffect(() => () => { if (/done|failed/.test(sending.value?.state ?? "")) sending.value = null; }, []);
  if (!now) return null;
  if (now.problem) return <ProblemBox problem={now.problem} />;
  const text = { sending: t().uploading(now.name, bytes(now.size)), importing: t().importing, done: t().uploaded(now.revision ?? 0), failed: t().uploadFailed }[now.state];
  return (
    <p class={now.state === "done" ? "bar good" : "bar note"} role="status">
      <span dir="auto">{text}</span>
      {now.state === "done" && now.table !== null ? <a href={href(`/documents/${now.table}`)}>{t().open}</a> : null}
    </p>
  );
}
