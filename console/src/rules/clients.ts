/** What is pasted into an agent's client to connect it: docs/mcp.md, Clients. Pure. */
export interface Client {
  readonly name: string;
  /** Where it goes; a command line has none. */
  readonly file?: string;
  readonly text: (server: string, url: string, key: string) => string;
}
type Shape = (url: string, header: string) => unknown;

const json = (root: string, shape: Shape): Client["text"] => (server, url, key) =>
  JSON.stringify({ [root]: { [server]: shape(url, `Bearer ${key}`) } }, null, 2);
const withHeaders = (name: string, more: object = {}): Shape => (url, header) => ({ ...more, [name]: url, headers: { Authorization: header } });

export const clients: readonly Client[] = [
  { name: "Claude Code", text: (server, url, key) => `claude mcp add --transport http ${server} ${url} --header "Authorization: Bearer ${key}"` },
  { name: ".mcp.json", file: ".mcp.json", text: json("mcpServers", withHeaders("url", { type: "http" })) },
  { name: "Cursor", file: ".cursor/mcp.json", text: json("mcpServers", withHeaders("url")) },
  { name: "VS Code", file: ".vscode/mcp.json", text: json("servers", withHeaders("url", { type: "http" })) },
  { name: "Codex", file: "config.toml", text: (server, url, key) => `[mcp_servers.${server}]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer ${key}" }` },
  { name: "Gemini CLI", file: "~/.gemini/settings.json", text: json("mcpServers", withHeaders("httpUrl")) },
  { name: "Windsurf", file: "~/.codeium/windsurf/mcp_config.json", text: json("mcpServers", withHeaders("serverUrl")) },
  {
    name: "Claude Desktop",
    file: "claude_desktop_config.json",
    text: json("mcpServers", (url, header) => ({
      command: "npx",
      args: ["-y", "mcp-remote", url, "--header", "Authorization:${AUTHORIZATION}"],
      env: { AUTHORIZATION: header },
    })),
  },
  { name: "Inspector", text: (_, url, key) => `npx @modelcontextprotocol/inspector --cli ${url} --transport http --header "Authorization: Bearer ${key}" --method tools/list` },
];

/** A name that every one of these takes for a server, shells and TOML included. */
export const serverName = (name: string): string => name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "") || "context-search";
