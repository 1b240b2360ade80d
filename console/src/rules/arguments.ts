/** A form from the input schema of a tool, and the arguments that somebody has filled in. Pure. */
type Schema = Readonly<Record<string, unknown>>;

export interface Argument {
  readonly name: string;
  /** `lines`: a list of strings, one a line. `json`: what has no field of its own. */
  readonly kind: "text" | "long" | "integer" | "number" | "choice" | "lines" | "json";
  readonly required: boolean;
  /** Whether an empty text is one. */
  readonly mayBeEmpty: boolean;
  readonly description: string;
  /** What it is where it is left out, as text. */
  readonly otherwise: string;
  readonly choices: readonly unknown[];
  readonly min: number | undefined;
  readonly max: number | undefined;
}
/** What is typed into one line; anything longer has several. */
const LINE = 2000;

export function argumentsOf(schema: Schema): Argument[] {
  const required = (schema["required"] ?? []) as readonly string[];
  return Object.entries((schema["properties"] ?? {}) as Record<string, Schema>).map(([name, given]) => {
    const of = withoutNull(given);
    const kind = kindOf(of);
    const isText = kind === "text" || kind === "long";
    const otherwise = given["default"] ?? null;
    return {
      name,
      kind,
      required: required.includes(name),
      mayBeEmpty: isText && !of["minLength"],
      description: String(given["description"] ?? of["description"] ?? ""),
      otherwise: otherwise === null ? "" : typeof otherwise === "string" ? otherwise : JSON.stringify(otherwise),
      choices: (of["enum"] as unknown[] | undefined) ?? (kind === "choice" ? [true, false] : []),
      min: numberOr(isText ? of["minLength"] : of["minimum"]),
      max: numberOr(isText ? of["maxLength"] : of["maximum"]),
    };
  });
}

const numberOr = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** A schema that also takes null is asked for as the other one. */
function withoutNull(schema: Schema): Schema {
  const kinds = (schema["anyOf"] ?? schema["oneOf"]) as readonly Schema[] | undefined;
  if (kinds) return kinds.find((one) => one["type"] !== "null") ?? schema;
  const type = schema["type"];
  return Array.isArray(type) ? { ...schema, type: type.find((one) => one !== "null") } : schema;
}

function kindOf(schema: Schema): Argument["kind"] {
  if (Array.isArray(schema["enum"]) || schema["type"] === "boolean") return "choice";
  if (schema["type"] === "string") return Number(schema["maxLength"] ?? Infinity) > LINE ? "long" : "text";
  if (schema["type"] === "integer" || schema["type"] === "number") return schema["type"];
  return schema["type"] === "array" && (schema["items"] as Schema | undefined)?.["type"] === "string" ? "lines" : "json";
}

/** What is sent; what was left empty is left out, unless the tool needs it. */
export function filledIn(fields: readonly Argument[], typed: (name: string) => string): Record<string, unknown> {
  const given = fields.map((field) => [field, typed(field.name)] as const).filter(([field, text]) => text !== "" || field.required);
  return Object.fromEntries(given.map(([field, text]) => [field.name, valueOf(field, text)]));
}

function valueOf({ kind, choices }: Argument, text: string): unknown {
  if (kind === "choice") return choices.find((choice) => String(choice) === text) ?? text;
  if (kind === "integer" || kind === "number") return Number(text);
  if (kind === "lines") return text.split("\n").filter(Boolean);
  if (kind !== "json") return text;
  try {
    return JSON.parse(text);
  } catch {
    // The tool says what is wrong with it.
    return text;
  }
}
