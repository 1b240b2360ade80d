"""``context-search mcp``: what agents connect to, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from context_search_cli.client import Response
from context_search_cli.command import Limit, Session, ToolId, command, group
from context_search_cli.config import read_secret, write_private
from context_search_cli.failures import CommandError, ProblemError, UsageError
from context_search_cli.keys import Output, hand_over
from context_search_cli.mcp_clients import CLIENTS, ClientName, CommandClient, Connection, file_of
from context_search_cli.output import one_line

app = group("mcp", "MCP instances: what agents connect to.")
REVISIONS = ("2025-11-25", "2026-07-28")
PLACEHOLDER = "KEY"
AgentKey = Annotated[
    Path | None,
    typer.Option("--agent-key", metavar="FILE", help="The instance's key; else your own."),
]
Replace = Literal["off", "propose", "execute"]
Confirm = Literal["client", "required"]
Tools = Annotated[
    Literal["named", "single", "connector"] | None,
    typer.Option(help="A tool by each name (default), one search over all, or search and fetch."),
]
Reading = Annotated[
    Literal["on", "off"] | None,
    typer.Option(help="Whether agents may read on, find exact text, list what is there."),
]
Texts = Annotated[
    Literal["ours", "anyone"] | None, typer.Option(help="Who writes what its tools find.")
]


@command(app, "create")
def create(
    session: Session,
    *,
    name: Annotated[str, typer.Argument(help="For people.")],
    tool: Annotated[
        list[int] | None, typer.Option(min=1, help="A Search Tool for it; repeat.")
    ] = None,
    replace: Annotated[Replace, typer.Option(help="Whether agents may replace.")] = "off",
    confirm: Annotated[Confirm, typer.Option(help="Who asks before it is done.")] = "required",
    redact: Annotated[
        bool, typer.Option("--redact", help="Hide keys and personal data from its agents.")
    ] = False,
    tools: Tools = None,
    reading: Reading = None,
    texts: Texts = None,
    output: Output = None,
) -> None:
    """Make an instance; its key, which opens nothing but MCP, is shown this once."""
    body = {
        "project_id": session.project_id,
        "name": name,
        "bindings": [{"tool_id": each} for each in tool or []],
        "replace": replace,
        "confirm": confirm,
        "redact": redact,
        **_given(tools=tools, reading=reading, texts=texts),
    }
    hand_over(session, session.client.create("/api/v1/mcps", body), output, "instance")


@command(app, "list")
def list_(session: Session, *, limit: Limit = 100) -> None:
    """List the instances of the project."""
    columns = "id name status tools reading texts replace confirm redact created_at"
    found = session.client.pages("/api/v1/mcps", "mcps", limit=limit)
    empty = "no instance yet: context-search mcp create NAME"
    session.out.listed("mcps", found, columns.split(), empty)


@command(app, "change")
def change(
    session: Session,
    *,
    instance: Annotated[int, typer.Argument(metavar="INSTANCE", min=1)],
    name: Annotated[str | None, typer.Option(help="For people.")] = None,
    replace: Annotated[Replace | None, typer.Option(help="Whether agents may replace.")] = None,
    confirm: Annotated[Confirm | None, typer.Option(help="Who asks before it is done.")] = None,
    redact: Annotated[
        bool | None, typer.Option(help="Hide keys and personal data from its agents.")
    ] = None,
    tools: Tools = None,
    reading: Reading = None,
    texts: Texts = None,
) -> None:
    """Change what an instance offers its agents. What is not said stays."""
    said = _given(name=name, replace=replace, confirm=confirm, redact=redact)
    said |= _given(tools=tools, reading=reading, texts=texts)
    if not said:
        raise UsageError("nothing is to be changed: name an option")
    changed = session.client.request("PATCH", f"/api/v1/mcps/{instance}", said, is_safe=True)
    session.out.result(changed, lambda: session.out.fields(changed.body))


def _given(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


@command(app, "bind")
def bind(
    session: Session,
    *,
    instance: Annotated[int, typer.Argument(metavar="INSTANCE", min=1)],
    tool: ToolId,
    off: Annotated[bool, typer.Option("--off", help="Hide a tool that is bound.")] = False,
    on: Annotated[bool, typer.Option("--on", help="Show a tool that is bound.")] = False,
) -> None:
    """Give an instance a tool, or hide or show one that it has."""
    if on and off:
        raise UsageError("--on or --off, not both")
    path = f"/api/v1/mcps/{instance}/bindings"
    try:
        if on or off:
            done = session.client.request("PATCH", f"{path}/{tool}", {"status": on}, is_safe=True)
        else:
            done = session.client.create(path, {"tool_id": tool})
    except ProblemError as refused:
        give = f"context-search mcp bind {instance} {tool}"
        if refused.status == 404 and (on or off):
            refused.advise(f"only a tool that the instance has is shown or hidden; give it: {give}")
        if refused.status == 409 and not (on or off):
            refused.advise(f"if the instance has it, show or hide it: {give} --on (or --off)")
        raise
    state = "shown" if done["status"] else "hidden"
    text = f"instance {instance}: {done['name']} is {state}"
    session.out.result(done, lambda: session.out.made(tool, text))


@command(app, "config")
def config(
    session: Session,
    *,
    client: Annotated[ClientName, typer.Option(help="Which client.")],
    agent_key: AgentKey = None,
    show_key: Annotated[
        bool, typer.Option("--show-key", help=f"Print the key instead of {PLACEHOLDER}.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Put it into the client's file.")] = False,
    file: Annotated[Path | None, typer.Option(help="That file, if it is elsewhere.")] = None,
) -> None:
    """Print what a client's configuration needs, ready to be pasted, or write it."""
    form = CLIENTS[client]
    key = _agent_key(session, agent_key)
    url = f"{session.endpoint.url}/mcp"
    if not write:
        text = form.text(Connection(url, key if show_key else PLACEHOLDER))
        session.out.result(
            {"client": client, "configuration": text}, lambda: session.out.line(text)
        )
        return
    if isinstance(form, CommandClient):
        raise UsageError(f"{client} has no file: run what is printed without --write")
    home = Path(session.world.environment.get("HOME") or Path.home())
    path = file_of(form, session.world.folder, home, file)
    try:
        existing = path.read_text(encoding="utf-8") if path.exists() else ""
        merged = form.merged(existing, Connection(url, key))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, merged)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be changed: {type(error).__name__}") from None
    session.out.result(
        {"client": client, "file": str(path)}, lambda: session.out.line(f"written: {path}")
    )
    session.out.note("it holds a key now, readable by you alone: do not commit it")


@command(app, "try")
def try_(session: Session, *, agent_key: AgentKey = None) -> None:
    """Ask /mcp for its tools, as an agent's client does, in both revisions."""
    key = _agent_key(session, agent_key)
    reported = {revision: list_tools(session, key, revision) for revision in REVISIONS}
    tools = reported[REVISIONS[-1]]

    def show() -> None:
        rows = [[tool["name"], one_line(tool.get("description", ""))[:200]] for tool in tools]
        session.out.rows(("name", "description"), rows, "no tool is bound: context-search mcp bind")

    session.out.result({"tools": tools, "revisions": list(reported)}, show)
    session.out.note(f"/mcp answers in {' and '.join(REVISIONS)}")


def list_tools(session: Session, key: str, revision: str) -> list[dict[str, Any]]:
    """What ``tools/list`` says. Raises CommandError where it is refused."""
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {
        "Authorization": f"Bearer {key}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
    }
    if revision == REVISIONS[-1]:
        headers["Mcp-Method"] = request["method"]
        meta = "io.modelcontextprotocol"
        request["params"] = {
            "_meta": {f"{meta}/protocolVersion": revision, f"{meta}/clientCapabilities": {}}
        }
    reply = session.client.request("POST", "/mcp", request, headers=headers, is_safe=True)
    return _tools(reply, revision)


def _tools(reply: Response, revision: str) -> list[dict[str, Any]]:
    if "result" not in reply.body:
        error = reply.body.get("error", {})
        raise CommandError(f"/mcp refuses {revision}: {error.get('message')}", code="MCP_REFUSED")
    tools: list[dict[str, Any]] = reply.body["result"]["tools"]
    return tools


def _agent_key(session: Session, file: Path | None) -> str:
    if file is not None:
        return read_secret(file)
    session.out.note("with your own key; mcp create makes one that opens nothing but MCP")
    return str(session.endpoint.key)
