"""The configuration that each MCP client takes, as docs/mcp.md shows it."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from context_search_cli.failures import UsageError

NAME = "context-search"
Entry = dict[str, Any]
ClientName = Literal[
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini",
    "windsurf",
    "inspector",
    "curl",
]


@dataclass(frozen=True, slots=True)
class Connection:
    """What a client has to know: the address of ``/mcp`` and a key."""

    url: str
    key: str

    @property
    def bearer(self) -> str:
        """The value of the header."""
        return f"Bearer {self.key}"


@dataclass(frozen=True, slots=True)
class FileClient:
    """A client that reads a JSON file: servers by name below ``member``.

    ``place`` is the file, below the home folder if ``is_at_home``, else below the project's.
    """

    member: str
    entry: Callable[[Connection], Entry]
    place: str | None
    is_at_home: bool = False

    def text(self, connection: Connection) -> str:
        """What is to be pasted."""
        return json.dumps({self.member: {NAME: self.entry(connection)}}, indent=2)

    def merged(self, existing: str, connection: Connection) -> str:
        """A file with our server in it, all else as it was. Raises UsageError."""
        try:
            content = json.loads(existing) if existing.strip() else {}
        except ValueError:
            content = None
        servers = content.setdefault(self.member, {}) if isinstance(content, dict) else None
        if not isinstance(servers, dict):
            raise UsageError("the file is no plain JSON object: paste by hand what is printed")
        servers[NAME] = self.entry(connection)
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class TomlClient:
    """Codex: a TOML file with a table for each server."""

    place: str | None = ".codex/config.toml"
    is_at_home: bool = True

    def text(self, connection: Connection) -> str:
        """What is to be pasted."""
        return (
            f"[mcp_servers.{NAME}]\n"
            f"url = {json.dumps(connection.url)}\n"
            f"http_headers = {{ Authorization = {json.dumps(connection.bearer)} }}"
        )

    def merged(self, existing: str, connection: Connection) -> str:
        """A file with our table at its end, all else byte for byte. Raises UsageError."""
        try:
            servers = tomllib.loads(existing).get("mcp_servers", {})
        except tomllib.TOMLDecodeError:
            raise UsageError("the file is no TOML: paste by hand what is printed") from None
        if NAME in servers:
            raise UsageError(f"the file has a server {NAME}: change it by hand")
        gap = "" if not existing else "\n" if existing.endswith("\n") else "\n\n"
        return f"{existing}{gap}{self.text(connection)}\n"


@dataclass(frozen=True, slots=True)
class CommandClient:
    """A client that is started by a command, and has no file."""

    words: Callable[[Connection], list[str]]

    def text(self, connection: Connection) -> str:
        """The command line."""
        return shlex.join(self.words(connection))


def _with_headers(name: str, **more: str) -> Callable[[Connection], Entry]:
    def entry(connection: Connection) -> Entry:
        headers = {"Authorization": connection.bearer}
        return {**more, name: connection.url, "headers": headers}

    return entry


def _through_a_program(connection: Connection) -> Entry:
    words = ["-y", "mcp-remote", connection.url, "--header", "Authorization:${AUTHORIZATION}"]
    return {"command": "npx", "args": words, "env": {"AUTHORIZATION": connection.bearer}}


def _inspector(connection: Connection) -> list[str]:
    header = f"Authorization: {connection.bearer}"
    words = ["npx", "@modelcontextprotocol/inspector", "--cli", connection.url]
    return [*words, "--transport", "http", "--header", header, "--method", "tools/list"]


def _curl(connection: Connection) -> list[str]:
    headers = [
        f"Authorization: {connection.bearer}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2025-11-25",
    ]
    body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    return ["curl", connection.url, *(w for h in headers for w in ("-H", h)), "-d", body]


CLIENTS: dict[ClientName, FileClient | TomlClient | CommandClient] = {
    "claude-code": FileClient("mcpServers", _with_headers("url", type="http"), ".mcp.json"),
    "claude-desktop": FileClient("mcpServers", _through_a_program, None),
    "cursor": FileClient("mcpServers", _with_headers("url"), ".cursor/mcp.json"),
    "vscode": FileClient("servers", _with_headers("url", type="http"), ".vscode/mcp.json"),
    "codex": TomlClient(),
    "gemini": FileClient(
        "mcpServers", _with_headers("httpUrl"), ".gemini/settings.json", is_at_home=True
    ),
    "windsurf": FileClient(
        "mcpServers",
        _with_headers("serverUrl"),
        ".codeium/windsurf/mcp_config.json",
        is_at_home=True,
    ),
    "inspector": CommandClient(_inspector),
    "curl": CommandClient(_curl),
}


def file_of(client: FileClient | TomlClient, folder: Path, home: Path, given: Path | None) -> Path:
    """The file that a client reads, through links. Raises UsageError where nobody knows it."""
    if given is None and client.place is None:
        raise UsageError("this client's file differs between systems: --file FILE")
    path = given or (home if client.is_at_home else folder) / str(client.place)
    return path.resolve()
