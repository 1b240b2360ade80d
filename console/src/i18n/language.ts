/** The language of the page, and texts, numbers and times in it. */
import { signal } from "../signals";

export type Language = "en" | "zh";
type Text = string | ((...parts: never[]) => string);
type Same<T> = { [K in keyof T]: T[K] extends string ? string : T[K] };

const KEPT = "context-search.language";

function first(): Language {
  const kept = localStorage.getItem(KEPT);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const language = signal<Language>(first());

export function setLanguage(next: Language): void {
  localStorage.setItem(KEPT, next);
  language.value = next;
}

/** Texts of both languages. One that is missing in either is an error of the compiler. The build
 * makes lists of both, in one order, with their names beside them only where those are computed,
 * and reads a text by its number. */
export function dictionary<T extends Record<string, Text>>(en: T, zh: NoInfer<Same<T>>, names?: readonly string[]): () => Same<T> {
  const of = (texts: object): Same<T> => (names ? Object.fromEntries(names.map((name, at) => [name, (texts as Text[])[at]])) : texts) as Same<T>;
  const [first, second] = [of(en), of(zh)];
  return ((at?: number) => {
    const texts = language.value === "zh" ? second : first;
    return at === undefined ? texts : (texts as unknown as Text[])[at];
  }) as () => Same<T>;
}

const locale = (): string => (language.value === "zh" ? "zh-CN" : "en");

/** A number with its thousands set apart. */
export function num(value: number | string, digits?: number): string {
  const options = digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const exact = typeof value === "string" ? BigInt(value) : value;
  return new Intl.NumberFormat(locale(), options).format(exact);
}

/** Bytes in the unit that a person reads. */
export function bytes(value: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  let at = 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    at += 1;
  }
  const options = { style: "unit", unit: units[at]!, unitDisplay: at ? "short" : "long", maximumFractionDigits: at ? 1 : 0 } as const;
  return new Intl.NumberFormat(locale(), options).format(value);
}

/** English wants "1 hit" and "2 hits"; Chinese has one form. */
export function plural(count: number, one: string, other = `${one}s`): string {
  return new Intl.PluralRules("en").select(count) === "one" ? `${num(count)} ${one}` : `${num(count)} ${other}`;
}

export function moment(iso: string): string {
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "medium" }).format(new Date(iso));
}

/** The time of day, of what is at most hours away. */
export const clock = (iso: string): string => new Intl.DateTimeFormat(locale(), { timeStyle: "short" }).format(new Date(iso));

/** In how long; what is over already is due now. */
export const due = (iso: string): string => ago(new Date(Math.max(Date.now(), Date.parse(iso))).toISOString());

/** How long ago, or in how long: "3 min ago". */
export function ago(iso: string, now = Date.now()): string {
  const seconds = (new Date(iso).getTime() - now) / 1000;
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" });
  const size = Math.abs(seconds);
  if (size < 60) return format.format(Math.round(seconds), "second");
  if (size < 3600) return format.format(Math.round(seconds / 60), "minute");
  if (size < 86_400) return format.format(Math.round(seconds / 3600), "hour");
  return format.format(Math.round(seconds / 86_400), "day");
}
