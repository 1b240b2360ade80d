/** A native dialog: modal, closed by Escape, focus goes back to what opened it. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "../hooks";
import { t } from "../i18n/common";
import { useSignal } from "../signals";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
  readonly bare?: boolean;
}

export function Dialog({ title, onClose, children, wide, bare }: DialogProps): VNode {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    box.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  const outside = (event: MouseEvent): void => {
    if (event.target === box.current) onClose();
  };
  return (
    <dialog ref={box} class={wide ? "wide" : ""} aria-label={title} onClose={onClose} onClick={outside}>
      <div class="dialog">
        {bare ? null : (
          <header class="row">
            <h2 class="grow">{title}</h2>
            <button class="quiet" aria-label={t().close} onClick={onClose}>✕</button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly text: string;
  readonly act: string;
  /** What has to be typed first, for what cannot be taken back. */
  readonly name?: string;
  readonly onClose: () => void;
  readonly onAct: () => void;
}

/** Asks before something that matters: names the thing and how much it is. */
export function Confirm({ title, text, act, name, onClose, onAct }: ConfirmProps): VNode {
  const typed = useSignal("");
  const ready = name === undefined || typed.value === name;
  const send = (event: Event): void => {
    event.preventDefault();
    if (!ready) return;
    onAct();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={send} class="stack">
        <p dir="auto">{text}</p>
        {name === undefined ? null : (
          <label class="stack">
            <span dir="auto">{t().typeName(name)}</span>
            <input value={typed.value} onInput={(event) => (typed.value = event.currentTarget.value)} autocomplete="off" />
          </label>
        )}
        <div class="row end">
          <button type="button" onClick={onClose}>{t().cancel}</button>
          <button class="primary" disabled={!ready}>{act}</button>
        </div>
      </form>
    </Dialog>
  );
}
