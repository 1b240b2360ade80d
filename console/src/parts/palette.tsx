/** Ctrl K: go to a page, a table, a tool or a pointer, or ask. */
import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t as common } from "../i18n/common";
import { paletteTexts as t } from "../i18n/palette";
import { ensureLists, tables, tools } from "../lists";
import type { Page } from "../page";
import { type Query, go, route } from "../router";
import { isPointer } from "../rules/pointer";
import { Dialog } from "./dialog";

interface Choice {
  readonly name: string;
  readonly kind: string;
  readonly path: string;
  readonly query?: Query;
}

function choices(typed: string, pages: readonly Page[]): Choice[] {
  const wanted = typed.trim().toLowerCase();
  const known: Choice[] = [
    ...pages.map((page) => ({ name: page.title(), kind: t().page, path: `/${page.id}` })),
    ...(tables.value ?? []).map((table) => ({ name: table.name ?? String(table.id), kind: t().table, path: `/documents/${table.id}` })),
    ...(tools.value ?? []).map((tool) => ({ name: tool.name, kind: t().tool, path: "/search", query: { tool: String(tool.id) } })),
  ];
  const found = known.filter((choice) => choice.name.toLowerCase().includes(wanted)).slice(0, 12);
  const [page, table] = route.value.path;
  if (page === "documents" && table && wanted.startsWith("/") && isPointer(typed.trim())) {
    found.unshift({ name: typed.trim(), kind: t().pointer, path: `/documents/${table}`, query: { p: typed.trim() } });
  }
  if (wanted) found.push({ name: typed.trim(), kind: t().ask, path: "/search", query: { q: typed.trim() } });
  return found;
}

export function Palette({ pages, onClose }: { pages: readonly Page[]; onClose: () => void }): VNode {
  const typed = useSignal("");
  const at = useSignal(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    ensureLists().catch(() => undefined); // Pages can be reached without the lists.
  }, []);
  const found = choices(typed.value, pages);
  const take = (choice: Choice | undefined): void => {
    if (!choice) return;
    onClose();
    go(choice.path, choice.query);
  };
  const move = (event: KeyboardEvent): void => {
    const now = choices(typed.value, pages);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) at.value = (at.value + step + now.length) % Math.max(1, now.length);
    else if (event.key === "Enter") take(now[at.value]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={common().palette} onClose={onClose} bare>
      <input
        ref={field}
        class="big"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length ? `palette-${at.value}` : undefined}
        aria-label={common().palette}
        placeholder={common().palette}
        value={typed.value}
        onInput={(event) => { typed.value = event.currentTarget.value; at.value = 0; }}
        onKeyDown={move}
      />
      <div id="palette-list" class="choices" role="listbox" aria-label={common().palette}>
        {found.map((choice, index) => (
          <div key={index} id={`palette-${index}`} role="option" aria-selected={index === at.value} onClick={() => take(choice)}>
            <bdi class="grow clip">{choice.name}</bdi> <span class="dim small">{choice.kind}</span>
          </div>
        ))}
      </div>
      {found.length ? null : <p class="dim">{t().nothing}</p>}
    </Dialog>
  );
}
