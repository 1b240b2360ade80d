/** Choosing or dropping a file, and how far it is. */
import type { VNode } from "preact";
import { useEffect, useRef } from "../hooks";
import { documentTexts as t } from "../i18n/documents";
import { bytes } from "../i18n/language";
import { href } from "../router";
import { useSignal } from "../signals";
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

/** Takes a file that is dropped anywhere on the page; says so while one is dragged over it. */
export function DropZone({ onFile, label }: { onFile: (file: File) => void; label: string }): VNode | null {
  const over = useSignal(false);
  const take = useRef(onFile);
  take.current = onFile;
  useEffect(() => {
    const hasFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    const drag = (event: DragEvent): void => {
      if (!hasFile(event)) return;
      // A page that takes no file here would be left for the file.
      event.preventDefault();
      over.value = true;
    };
    const leave = (event: DragEvent): void => {
      if (!event.relatedTarget) over.value = false;
    };
    const drop = (event: DragEvent): void => {
      if (!hasFile(event)) return;
      event.preventDefault();
      over.value = false;
      const file = event.dataTransfer?.files[0];
      if (file) take.current(file);
    };
    const kinds = { dragenter: drag, dragover: drag, dragleave: leave, drop };
    for (const [kind, heard] of Object.entries(kinds)) addEventListener(kind, heard as EventListener);
    return () => { for (const [kind, heard] of Object.entries(kinds)) removeEventListener(kind, heard as EventListener); };
  }, []);
  return over.value ? <div class="dropzone" role="status">{label}</div> : null;
}

export function UploadState(): VNode | null {
  const now = sending.value;
  // What is over is not said anew on another page.
  useEffect(() => () => { if (/done|failed/.test(sending.value?.state ?? "")) sending.value = null; }, []);
  if (!now) return null;
  if (now.problem) return <ProblemBox problem={now.problem} />;
  const text = { sending: t().uploading(now.name, bytes(now.size)), importing: t().importing, done: t().uploaded(now.name, now.revision ?? 0), failed: t().uploadFailed }[now.state];
  return (
    <p class={now.state === "done" ? "bar good" : "bar note"} role="status">
      <span dir="auto">{text}</span>
      {now.state === "done" && now.table !== null ? <a href={href(`/documents/${now.table}`)}>{t().open}</a> : null}
    </p>
  );
}
