/** Where a text stops being JSON. Pure. */
export interface JsonError {
  readonly line: number;
  readonly column: number;
  /** The line itself, as much of it as is around the place. */
  readonly text: string;
}

const SPACE = /[ \t\r\n]*/y;
const TOKEN = /[{}[\],:]|"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y;
const AROUND = 60;

/** Null where the text is JSON. */
export function jsonError(text: string): JsonError | null {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const at = firstError(text);
    const start = text.lastIndexOf("\n", at - 1) + 1;
    const end = text.indexOf("\n", at);
    const from = Math.max(start, at - AROUND);
    return {
      line: text.slice(0, start).split("\n").length,
      column: [...text.slice(start, at)].length + 1,
      text: text.slice(from, Math.min(end < 0 ? text.length : end, at + AROUND)),
    };
  }
}

/** The first character that no JSON has there; the length where the text ends too early. */
function firstError(text: string): number {
  const open: string[] = [];
  let wanted: "value" | "valueOrEnd" | "key" | "keyOrEnd" | "colon" | "comma" | "end" = "value";
  for (let at = skip(text, 0); at < text.length; at = skip(text, at)) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined) return at;
    const closes = token === (open.at(-1) === "{" ? "}" : "]");
    if (wanted.endsWith("OrEnd") || wanted === "comma" ? closes : false) {
      open.pop();
      wanted = open.length ? "comma" : "end";
    } else if (wanted === "comma") {
      if (token !== ",") return at;
      wanted = open.at(-1) === "{" ? "key" : "value";
    } else if (wanted === "colon") {
      if (token !== ":") return at;
      wanted = "value";
    } else if (wanted.startsWith("key")) {
      if (token[0] !== '"') return at;
      wanted = "colon";
    } else if (wanted === "end" || "}],:".includes(token)) return at;
    else if (token === "{" || token === "[") {
      open.push(token);
      wanted = token === "{" ? "keyOrEnd" : "valueOrEnd";
    } else wanted = open.length ? "comma" : "end";
    at += token.length;
  }
  return text.length;
}

function skip(text: string, at: number): number {
  SPACE.lastIndex = at;
  return at + SPACE.exec(text)![0].length;
}
