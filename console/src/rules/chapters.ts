/** A document of a text: one string, or its chapters. cli/context_search_cli/chapters.py is the same;
 * a check runs both on the same texts. Pure. */
interface Chapter {
  readonly title: string;
  readonly text: string;
}
export type TextDocument = Chapter | { readonly title: string; readonly chapters: readonly Chapter[] };
/** Number of the line where it stands, its level, its words. */
type Heading = readonly [at: number, level: number, title: string];

const MARKDOWN = /^(#{1,6})[ \t]+([^ \t][^\n]*)$/u;
const NOVELS = [
  /^[ \t\u3000]*第[0-9０-９〇零一二三四五六七八九十百千万两]+[章回](?:[ \t\u3000:：、.．][^。\n]{0,60}|[^，。！？；：、 \t\u3000\n]{0,20})$/u,
  /^[ \t]*(?:Chapter|CHAPTER)[ \t]+(?:[0-9]+|[IVXLCDM]+)(?:[.:) \t—–-][^\n]{0,80})?$/u,
] as const;
const FENCE = /^ {0,3}(?:```|~~~)/u;
const SPACES = " \t\u3000";
const LEADING_LINES = /^(?:[ \t\u3000]*\n)+/u;

/** UTF-8 or else GB18030, with line breaks of one kind. Throws a TypeError for anything else. */
export function decoded(bytes: ArrayBuffer): string {
  const as = (encoding: string): string => new TextDecoder(encoding, { fatal: true }).decode(bytes).replace(/\r\n?/g, "\n");
  try {
    return as("utf-8");
  } catch {
    return as("gb18030");
  }
}

/** The headings that stand most often, of one kind: `#` of Markdown, 第…章, Chapter N. A heading
 * with nothing below it, as in a table of contents, is none. */
export function documentOf(name: string, text: string): TextDocument {
  const title = name.replace(/\.(txt|md)$/i, "");
  const lines = text.split("\n");
  const [kept = []] = [markdown(lines), ...NOVELS.map((kind) => novel(lines, kind))]
    .map(highest)
    .map((found) => found.filter(([at], place) => textOf(lines, at + 1, found[place + 1]?.[0])))
    .sort((a, b) => b.length - a.length);
  if (!kept.length) return { title, text };
  const before = textOf(lines, 0, kept[0]![0]);
  const chapters = kept.map(([at, , title], place) => ({ title, text: textOf(lines, at + 1, kept[place + 1]?.[0]) }));
  return { title, chapters: before ? [{ title, text: before }, ...chapters] : chapters };
}

const textOf = (lines: readonly string[], from: number, to?: number): string => {
  const text = lines.slice(from, to).join("\n").replace(LEADING_LINES, "");
  const behind = text.indexOf("\n", endOf(text, `${SPACES}\n`));
  const kept = behind < 0 ? text : text.slice(0, behind);
  return /[^ \t\u3000]/u.test(kept) ? kept : "";
};
/** Where the last characters of these begin; a pattern for them takes n² steps. */
const endOf = (text: string, characters: string): number => {
  let end = text.length;
  while (end && characters.includes(text[end - 1]!)) end--;
  return end;
};
/** `Title ##` is closed by its marks. */
const withoutMarks = (title: string): string => {
  const closed = title.slice(0, endOf(title, " \t"));
  const open = closed.slice(0, endOf(closed, "#"));
  return /[ \t]$/u.test(open) ? open.slice(0, endOf(open, " \t")) : closed;
};

function markdown(lines: readonly string[]): Heading[] {
  let code = false;
  return lines.flatMap((line, at): Heading[] => {
    if (FENCE.test(line)) code = !code;
    const [, marks, title] = (!code && MARKDOWN.exec(line)) || [];
    return marks ? [[at, marks.length, withoutMarks(title!)]] : [];
  });
}

const novel = (lines: readonly string[], kind: RegExp): Heading[] =>
  lines.flatMap((line, at): Heading[] => (kind.test(line) ? [[at, 1, line.slice(0, endOf(line, SPACES)).trimStart()]] : []));

/** Those of the highest level that has two, or else of the highest. */
function highest(found: readonly Heading[]): readonly Heading[] {
  const levels = found.map(([, level]) => level).sort();
  const level = levels.find((one, at) => one === levels[at + 1]) ?? levels[0];
  return found.filter((one) => one[1] === level);
}
