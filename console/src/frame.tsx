/** The frame around every page: who, where, the pages that the key may see, signing out. */
import type { VNode } from "preact";
import { pages } from "../made/pages";
import { said } from "./announce";
import { mayDrop } from "./drafts";
import { useEffect, useMemo, useRef } from "./hooks";
import { t } from "./i18n/common";
import { documentTexts } from "./i18n/documents";
import { healthTexts } from "./i18n/health";
import { ago, language, setLanguage } from "./i18n/language";
import { titles } from "./i18n/pages";
import { mayDropSet } from "./judgedsets";
import { refreshLists } from "./lists";
import type { Page } from "./page";
import { Confirm, Dialog } from "./parts/dialog";
import { Palette } from "./parts/palette";
import { DropZone, UploadState } from "./parts/upload";
import { go, href, pageId, route } from "./router";
import { endingWith, may, session, signOut } from "./session";
import { lettersOn, setLetters, shortcuts, useShortcut } from "./shortcuts";
import { effect, signal } from "./signals";
import { SignIn } from "./signin";
import { newTable } from "./uploads";
import { verdict } from "./verdict";

type Theme = "auto" | "light" | "dark";
const THEME = "context-search.theme";
const theme = signal<Theme>((localStorage.getItem(THEME) as Theme | null) ?? "auto");
const paletteOpen = signal(false);
const helpOpen = signal(false);
/** The names of keys that end when the person signs out, while that is asked. */
const ending = signal<readonly string[] | null>(null);

effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
});
effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
  localStorage.setItem(THEME, theme.value);
});

const visible = (page: Page): boolean => !page.scopes || page.scopes.some(may);
const inNavigation = (): Page[] =>
  pages.filter((page) => page.order !== undefined && visible(page)).sort((a, b) => a.order! - b.order!);
const shown = (): Page | undefined => pages.find((page) => page.id === pageId.value && visible(page));

export function Frame(): VNode {
  const page = shown();
  const content = useRef<HTMLElement>(null);
  const first = useRef(true);
  const [, one] = route.value.path;
  useShortcut("Ctrl K", () => t().palette, () => (paletteOpen.value = true));
  useShortcut("Ctrl H", () => titles().replace, () => { if (may("replace")) go("/replace"); });
  useShortcut("?", () => t().help, () => (helpOpen.value = true));
  useEffect(() => {
    document.title = `${page?.title() ?? t().notFound} · context-search`;
  });
  useEffect(() => {
    // A new page begins at its heading, for eyes and screen readers; so does another thing of it.
    if (!first.current) content.current?.querySelector<HTMLElement>("h1")?.focus();
    first.current = false;
  }, [pageId.value, one, session.value === null]);
  useEffect(() => {
    // An address that was set a moment ago is not known to the router yet.
    if (session.value && pageId.value === "" && !location.hash[2]) go(`/${inNavigation()[0]?.id ?? ""}`, {}, true);
  }, [pageId.value, session.value]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); content.current?.focus(); }}>{t().skip}</a>
      <Top />
      <main id="content" ref={content} tabIndex={-1}>
        <Dropped />
        <Content />
      </main>
      <div class={said.value ? "said on" : "said"} role="status">{said.value}</div>
      {paletteOpen.value && session.value ? <Palette pages={inNavigation()} onClose={() => (paletteOpen.value = false)} /> : null}
      {helpOpen.value ? <Help /> : null}
      {ending.value && session.value ? <Confirm title={t().signOut} text={t().ending(ending.value.join(", "))} act={t().signOut} onClose={() => (ending.value = null)} onAct={() => void signOut()} /> : null}
    </>
  );
}

/** Of its own: `main` would hold the page as it was first rendered, and with it every one since. */
function Content(): VNode | null {
  const page = shown();
  if (session.value === null && pageId.value !== "states") return <SignIn />;
  return page ? <page.View key={page.id} /> : pageId.value === "" ? null : <NotFound />;
}

/** A file that is dropped on any page becomes a table; a page of one document asks before it takes it. */
function Dropped(): VNode | null {
  const page = shown();
  if (session.value === null || !may("manage")) return null;
  const isOfDocument = pageId.value === "documents" && route.value.path[1] !== undefined;
  return (
    <>
      {isOfDocument ? null : <DropZone label={documentTexts().drop} onFile={(file) => void newTable(file).then(() => refreshLists())} />}
      {page?.uploads ? null : <UploadState key={pageId.value} />}
    </>
  );
}

function Top(): VNode {
  const now = session.value;
  return (
    <header class="top">
      <div class="topline">
        <a class="brand" href="#/">
          <Mark /> context-search
        </a>
        {now ? <span class="project" title={`${t().project} ${now.projectId}`}><span aria-hidden="true">▸ </span><bdi>{now.project}</bdi></span> : null}
        {now ? (
          <button class="finder" onClick={() => (paletteOpen.value = true)}>
            <span class="grow">{t().palette}</span> <kbd>Ctrl K</kbd>
          </button>
        ) : <span class="grow" />}
        <div class="row tools">
          <button class="quiet" lang={language.value === "zh" ? "en" : "zh-CN"} onClick={() => setLanguage(language.value === "zh" ? "en" : "zh")}>
            {t().language}
          </button>
          <ThemeButton />
          <button class="quiet" onClick={() => (helpOpen.value = true)} aria-label={t().help} title={t().help}><kbd>?</kbd></button>
          {now ? (
            <button class="quiet" onClick={() => { if (mayDrop() && mayDropSet()) void leave(); }} title={now.endsAt ? t().ends(ago(now.endsAt)) : ""}>{t().signOut}</button>
          ) : null}
        </div>
      </div>
      {now ? (
        <nav aria-label={t().pages}>
          {inNavigation().map((page) => (
            <a key={page.id} href={href(`/${page.id}`)} aria-current={pageId.value === page.id ? "page" : undefined}>
              {page.title()}{page.id === "health" ? <Dot /> : null}
            </a>
          ))}
        </nav>
      ) : null}
    </header>
  );
}

/** How the whole is: a sign in the frame of every page, nothing until it was read. */
function Dot(): VNode | null {
  const now = verdict.value;
  if (!now) return null;
  const [sign, kind, text] = { ok: ["●", "good", healthTexts().ok], failing: ["▲", "bad-ink", healthTexts().failing], unknown: ["○", "warn-ink", healthTexts().unknown] }[now];
  return <span class={`dot ${kind}`} role="img" aria-label={text} title={text}>{sign}</span>;
}

/** Signs out; where keys end with that, names them and asks. */
async function leave(): Promise<void> {
  const names = session.value ? await endingWith(session.value).catch(() => []) : [];
  if (names.length) ending.value = names;
  else await signOut();
}

function Mark(): VNode {
  return (
    <svg width="18" height="18" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="3.5" fill="var(--accent)" />
      <path d="M4 5h8M4 8h5M4 11h6.5" stroke="var(--on-accent)" stroke-width="1.5" stroke-linecap="round" />
    </svg>
  );
}

function ThemeButton(): VNode {
  // The first press changes what is seen, whatever the system shows.
  const order: Theme[] = matchMedia("(prefers-color-scheme: dark)").matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
  const name = { auto: t().theme_auto, light: t().theme_light, dark: t().theme_dark }[theme.value];
  const next = (): void => void (theme.value = order[(order.indexOf(theme.value) + 1) % 3]!);
  return (
    <button class="quiet" onClick={next} aria-label={`${t().theme}: ${name}`} title={`${t().theme}: ${name}`}>
      {{ auto: "◐", light: "○", dark: "●" }[theme.value]}
    </button>
  );
}

function NotFound(): VNode {
  return <h1 tabIndex={-1}>{t().notFound}</h1>;
}

function Help(): VNode {
  const known = useMemo(() => shortcuts.value, []);
  return (
    <Dialog title={t().shortcuts} onClose={() => (helpOpen.value = false)}>
      <dl class="keys">
        {known.map((one) => (
          <div key={one.keys}>
            <dt><kbd>{one.keys}</kbd></dt>
            <dd>{one.label()}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={lettersOn.value} onChange={(event) => setLetters(event.currentTarget.checked)} />
        {t().letters}
      </label>
    </Dialog>
  );
}
