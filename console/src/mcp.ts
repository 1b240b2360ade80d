/** What an agent's client asks an MCP instance, with a key of it: what there is, and a call. */
import { exactJson, Problem, type ProblemFields, request } from "./api";

export interface AgentTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}
export interface Offered {
  readonly instructions: string;
  readonly tools: readonly AgentTool[];
}
export interface Called {
  /** The text that the model gets, as it came. */
  readonly text: string;
  /** The same, read; text that is no JSON stays text. */
  readonly read: unknown;
  /** Why the tool has refused; that is a result, too. */
  readonly problem: Problem | null;
}
interface RpcError {
  readonly message: string;
  readonly data?: Partial<ProblemFields>;
}
interface Answer<T> {
  readonly result?: T;
  readonly error?: RpcError;
}

/** Errors of JSON-RPC have their code and message in another place than problems, with status 200, too. */
async function rpc<T>(key: string, method: string, params: object): Promise<T> {
  const body = { jsonrpc: "2.0", id: 1, method, params };
  const { data, status } = await request<Answer<T>>("POST", "/mcp", { body, key }).catch((error: unknown) => {
    const told = error instanceof Problem && (error.fields["error"] as RpcError | undefined);
    throw told ? refused({ ...error.fields, ...told.data }, told.message) : error;
  });
  if (data.error) throw refused({ status, ...data.error.data }, data.error.message);
  return data.result!;
}

const refused = (fields: Partial<ProblemFields>, detail: string): Problem => new Problem({ status: 0, code: "INVALID_INPUT", retryable: false, ...fields, detail });

/** The whole list, page by page, and what the server says of itself. */
export async function offered(key: string): Promise<Offered> {
  const { instructions } = await rpc<{ instructions?: string }>(key, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "console", version: "1" } });
  const tools: AgentTool[] = [];
  for (let cursor: string | undefined, first = true; first || cursor; first = false) {
    const page: { tools: AgentTool[]; nextCursor?: string } = await rpc(key, "tools/list", cursor ? { cursor } : {});
    tools.push(...page.tools);
    cursor = page.nextCursor;
  }
  return { instructions: instructions ?? "", tools };
}

export async function call(key: string, name: string, given: object): Promise<Called> {
  interface Result {
    readonly content: readonly { readonly text?: string }[];
    readonly isError?: boolean;
  }
  const { content, isError } = await rpc<Result>(key, "tools/call", { name, arguments: given });
  const text = content.map((part) => part.text ?? "").join("\n");
  const read = parsed(text);
  const { message, ...fields } = Object(read) as { message?: string };
  return { text, read, problem: isError ? refused({ ...fields, tool: name }, message ?? text) : null };
}

function parsed(text: string): unknown {
  try {
    return exactJson(text);
  } catch {
    return text;
  }
}
