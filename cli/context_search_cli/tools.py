"""``context-search tools``: Search Tools and their indexes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Annotated, Any, Literal, TypedDict, Unpack

import typer

from context_search_cli.client import Response
from context_search_cli.command import (
    Limit,
    Session,
    Shared,
    TableId,
    Timeout,
    ToolId,
    Wait,
    Yes,
    command,
    confirmed,
    delete_named,
    filled,
    group,
    json_object,
)
from context_search_cli.failures import Code, CommandError, EndedError, UsageError
from context_search_cli.importing import DEFAULT_THRESHOLD, fitting_threshold
from context_search_cli.output import counted, number
from context_search_cli.ranking import Fusion, Strategy
from context_search_cli.status import (
    NODE_COLUMNS,
    cells_of_node,
    show_state,
    wait_until_settled,
)

app = group("tools", "Search Tools: make, change, index again.")
Name = Annotated[
    str | None, typer.Option("--name", callback=filled, help="What agents call it by.")
]
Description = Annotated[
    str | None, typer.Option("--description", help="By it agents choose the tool.")
]
_NAME_CHARS = 60
"""Of a name that is made of a table's; agents call tools by up to 64, and a number may follow."""
_RESERVED = frozenset({"replace_preview", "replace_execute", "replace_undo"})
Config = Annotated[
    str | None,
    typer.Option(metavar="JSON", help="Further settings, as docs/api.md has search_config."),
]


class Ranking(TypedDict):
    """How a tool ranks, each as ``search_config`` names it."""

    strategy: Annotated[Strategy | None, typer.Option(help="How it searches.")]
    fusion: Annotated[Fusion | None, typer.Option(help="How both legs are joined.")]
    top_k: Annotated[int | None, typer.Option(min=1, max=20, help="Hits by default.")]
    vector_weight: Annotated[
        float | None, typer.Option(min=0, max=1, help="What vectors count; else found.")
    ]
    bm25_weight: Annotated[
        float | None,
        typer.Option("--keyword-weight", min=0, max=1, help="What words count; else found."),
    ]
    recency_weight: Annotated[
        float | None, typer.Option(min=0, max=1, help="What recency counts; with linear.")
    ]


class Settings(Ranking):
    """The same with how a tool's index is made, which stays."""

    chunk_threshold: Annotated[
        int | None, typer.Option(min=1, help="The shortest string that is indexed.")
    ]
    chunk_size: Annotated[int | None, typer.Option(min=100, help="Characters.")]
    chunk_overlap: Annotated[int | None, typer.Option(min=0, help="Characters.")]
    storage: Annotated[
        Literal["full", "lean"] | None, typer.Option(help="lean: words in Postgres alone.")
    ]


@command(app, "create")
def create(
    session: Session,
    *,
    table: TableId,
    name: Name = None,
    description: Description = None,
    scope: Annotated[
        str, typer.Option("--scope", "--path", help="Only strings at this pointer and below.")
    ] = "",
    config: Config = None,
    wait: Wait = False,
    timeout: Timeout = 600,
    **given: Unpack[Settings],
) -> None:
    """Make a Search Tool over a table."""
    settings = _settings(config, given)
    body: dict[str, Any] = {
        "project_id": session.project_id,
        "table_id": table,
        "name": name or _default_name(session, table),
        "json_path": scope,
    }
    body |= {"description": description} if description is not None else {}
    body |= {"search_config": settings} if settings else {}
    if not session.out.quiet:
        _say_short(session, table, scope, settings.get("chunk_threshold", DEFAULT_THRESHOLD))
    made = session.client.create("/api/v1/tools/search", body)
    tool = int(made["tool_id"])
    if wait:
        try:
            state = wait_until_settled(session, tool, timeout)
        except (KeyboardInterrupt, CommandError):
            session.out.warn(f"tool {tool} is made and goes on: context-search status {tool}")
            raise
        made = Response(made.status, json.dumps(made.body | _settled(state.body)), made.etag)
    session.out.result(made, lambda: _show_made(session, made.body))
    _say_hint(session, made.body)
    if wait and not made["chunks_created"]:
        session.out.warn(f"nothing is indexed: context-search status {tool}")
        raise EndedError(Code.FAILED)


@command(app, "list")
def list_(
    session: Session,
    *,
    table: Annotated[int | None, typer.Option(min=1, help="Only of this table.")] = None,
    limit: Limit = 100,
) -> None:
    """List the Search Tools of the project."""
    columns = ("id", "name", "table_id", "scope", "status")
    session.out.listed(
        "tools",
        session.client.pages("/api/v1/tools", "tools", limit=limit, page=100, table_id=table),
        columns,
        "no Search Tool yet: context-search tools create TABLE",
        cells=lambda row: itemgetter(*columns)({**row, "scope": _scope(session, row)}),
    )


@command(app, "show")
def show(session: Session, *, tool: ToolId) -> None:
    """Show a Search Tool with its settings."""
    found = session.client.get(f"/api/v1/tools/{tool}")

    def show_fields() -> None:
        body = found.body
        index = body["metadata"]["search_index"]
        names = ("id", "name", "description", "table_id", "created_at")
        reported = {name: body[name] for name in names}
        reported |= {"scope": _scope(session, body), "status": index["status"]}
        session.out.fields(reported)
        session.out.fields(
            {f"  {name}": json.dumps(value) for name, value in body["search_config"].items()}
        )

    session.out.result(found, show_fields)


@command(app, "update")
def update(
    session: Session,
    *,
    tool: ToolId,
    name: Name = None,
    description: Description = None,
    calibrated: Annotated[
        bool, typer.Option("--calibrated", help="Weights as the index has found them.")
    ] = False,
    config: Config = None,
    **ranking: Unpack[Ranking],
) -> None:
    """Change name, description or ranking of a tool, if nobody has changed it meanwhile."""
    settings = _settings(config, ranking)
    if calibrated:
        settings |= {"vector_weight": None, "bm25_weight": None}
    body = {"name": name, "description": description, "search_config": settings or None}
    given = {key: value for key, value in body.items() if value is not None}
    if not given:
        raise UsageError("nothing to change: name an option")
    seen = session.client.get(f"/api/v1/tools/{tool}").etag
    changed = session.client.request(
        "PATCH",
        f"/api/v1/tools/{tool}",
        given,
        headers={"If-Match": seen} if seen else {},
        is_safe=True,
    )
    session.out.result(changed, lambda: session.out.made(tool, f"tool {tool} is changed"))
    if "where" in settings:
        for mcp in changed.body.get("replacing_mcps", ()):
            may = "replaces" if mcp["replace"] == "execute" else "proposes to replace"
            session.out.warn(
                f"MCP instance {mcp['id']} ({mcp['name']}) {may} in every string that tool {tool} "
                "returns with this where"
            )


@command(app, "delete")
def delete(session: Session, *, tool: ToolId, yes: Yes = False) -> None:
    """Delete a Search Tool. Its table stays."""
    instances, _ = session.client.pages("/api/v1/mcps", "mcps", limit=0)
    for each in instances:
        path = f"/api/v1/mcps/{each['id']}/bindings"
        bindings, _ = session.client.pages(path, "bindings", limit=0)
        if any(bound["tool_id"] == tool for bound in bindings):
            session.out.warn(f"MCP instance {each['id']} ({each['name']}) has tool {tool}")
    delete_named(session, f"/api/v1/tools/{tool}", f"tool {tool}", yes=yes)


@command(app, "nodes")
def nodes(
    session: Session,
    *,
    tool: ToolId,
    state: Annotated[
        Literal["queued", "claimed", "indexed", "quarantined", "skipped"] | None,
        typer.Option(help="Only strings in this state."),
    ] = None,
    limit: Limit = 200,
) -> None:
    """List the strings of a tool's index with their states and reasons."""
    path = f"/api/v1/tools/{tool}/search-index/nodes"
    session.out.listed(
        "nodes",
        session.client.pages(path, "nodes", limit=limit, page=200, state=state),
        NODE_COLUMNS,
        "every string is indexed",
        cells=cells_of_node,
    )


@command(app, "retry")
def retry(
    session: Session,
    *,
    tool: ToolId,
    pointer: Annotated[
        str | None, typer.Argument(metavar="[POINTER]", help="Of one string; else all.")
    ] = None,
) -> None:
    """Try quarantined strings again, after what was wrong is mended."""
    body = None if pointer is None else {"json_pointer": pointer}
    done = session.client.create(f"/api/v1/tools/{tool}/search-index/retry", body)

    def show() -> None:
        session.out.line(f"tried again: {counted(done['nodes'], 'string')}; {done['left']} left")

    session.out.result(done, show)
    if done["nodes"]:
        session.out.note(f"watch it: context-search status {tool} --watch")


@command(app, "rebuild")
def rebuild(
    session: Session,
    *,
    tool: ToolId,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it takes.")] = False,
    wait: Wait = False,
    timeout: Timeout = 3600,
) -> None:
    """Build the tool's index anew beside the one that answers, then switch."""
    path = f"/api/v1/tools/{tool}/search-index/rebuild"
    if dry_run:
        estimate = session.client.ask(path, dry_run=True)
        session.out.result(estimate, lambda: session.out.fields(estimate.body))
        return
    begun = session.client.create(path)
    if wait:
        state = wait_until_settled(session, tool, timeout)
        session.out.result(state, lambda: show_state(session.out, state.body))
        if state["status"] != "ready":  # what answers is not what was built
            raise EndedError(Code.FAILED)
        return
    session.out.result(
        begun,
        lambda: session.out.line(
            f"generation {begun['generation']} is {begun['state']}: context-search status {tool}"
        ),
    )


@command(app, "rollback")
def rollback(session: Session, *, tool: ToolId) -> None:
    """Let the generation before the last switch answer again."""
    done = session.client.create(f"/api/v1/tools/{tool}/search-index/rollback")
    session.out.result(
        done, lambda: session.out.line(f"generation {done['generation']} answers again")
    )


@command(app, "clear")
def clear(
    session: Session,
    *,
    tool: ToolId,
    shared: Shared = False,
    yes: Yes = False,
) -> None:
    """Empty the tool's index: nothing is found before it is built again."""
    path = f"/api/v1/tools/{tool}/search-index/clear"
    empty(session, tool, lambda: session.client.create(path, shared=shared), yes=yes)


def empty(session: Session, tool: int, clear: Callable[[], Response], *, yes: bool) -> None:
    """Asks, empties a tool's index, and says what is gone."""
    confirmed(session, f"Empty the index of tool {tool}? Nothing will be found in it.", yes=yes)
    done = clear()
    chunks, tools = counted(done["chunks"], "chunk"), ", ".join(map(str, done["tools"]))
    session.out.result(done, lambda: session.out.line(f"{chunks} gone, of tool {tools}"))


def _default_name(session: Session, table: int) -> str:
    """A name of the table's that agents call the tool by as it is (docs/mcp.md), and no other."""
    plain = plain_name(session.client.get(f"/api/v1/tables/{table}")["name"] or "", table)
    tools, _ = session.client.pages("/api/v1/tools", "tools", limit=0, page=100, q=plain)
    taken = {tool["name"].lower() for tool in tools} | _RESERVED
    names = (plain, *(f"{plain}-{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each.lower() not in taken)


def plain_name(name: str, table: int) -> str:
    """Return a table's name in the characters that agents' clients take.

    >>> [plain_name(name, 7) for name in ("faq", "my.table v1.2", "a_12", "2024", "知识库")]
    ['faq', 'my_table_v1-2', 'a-12', '2024', 'table-7']
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:_NAME_CHARS].rstrip("_")
    # With `_` before them, digits at the end stand for a tool's id.
    return re.sub("_+([0-9]+)$", r"-\1", plain) or f"table-{table}"


def _settings(config: str | None, options: Mapping[str, object]) -> dict[str, Any]:
    """What the options say, over what ``--config`` says. Raises UsageError."""
    further = {} if config is None else json_object("--config", config)
    return further | {name: value for name, value in options.items() if value is not None}


def _scope(session: Session, tool: dict[str, Any]) -> str:
    """Where a tool searches; a person is told that it is everywhere."""
    whole = "(all)" if session.out.is_terminal else ""
    return str(tool.get("json_path", tool.get("json_pointer"))) or whole


def _settled(state: dict[str, Any]) -> dict[str, Any]:
    found = {"status": state["status"], "chunks_created": state["indexed_chunks_count"]}
    return found | {name: state[name] for name in ("hint", "longest_string") if name in state}


def _show_made(session: Session, body: dict[str, Any]) -> None:
    chunks = body["chunks_created"]
    reported = f", {counted(chunks, 'chunk')}" if chunks is not None else ""
    tool = body["tool_id"]
    session.out.made(tool, f"tool {tool} ({body['name']}) made: {body['status']}{reported}")


def _say_hint(session: Session, body: dict[str, Any]) -> None:
    hints = {
        "scope_missing": "the document has nothing at this path",
        "nothing_indexed": "what is there is blank, or over the limits",
        "no_long_strings": "no string is long enough: make a tool with a lower --chunk-threshold",
    }
    if hint := body.get("hint"):
        longest = body.get("longest_string")
        reported = f" (the longest has {number(longest)} characters)" if longest is not None else ""
        session.out.warn(f"{hint}: {hints.get(hint, 'it will find nothing')}{reported}")
    elif body["status"] not in {"ready", "rebuilding"}:
        session.out.note(f"watch it: context-search status {body['tool_id']} --watch")


def _say_short(session: Session, table: int, scope: str, threshold: object) -> None:
    """Note how many strings a tool would leave out, and which threshold indexes most text."""
    if not isinstance(threshold, int):
        return  # the server refuses it
    try:
        path = f"/api/v1/tables/{table}/data/read"
        value = session.client.ask(path, {"json_pointer": scope}).value
    except CommandError:  # the document is larger than an answer, say; making the tool tells
        session.out.note(f"strings under {number(threshold)} characters are not indexed")
        return
    lengths = [len(text) for text in _texts(value)]
    if short := sum(length < threshold for length in lengths):
        reported = f"{counted(short, 'string')} under {number(threshold)} characters"
        reported += f" {'is' if short == 1 else 'are'} not indexed"
        if (fitting := fitting_threshold(lengths)) < threshold:
            reported += f"; --chunk-threshold {fitting} would index at least 90 % of the text"
        session.out.note(reported)


def _texts(value: object) -> Iterator[str]:
    """Every string in a JSON value that is not blank, however deep it lies."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            if each.strip():
                yield each
        elif isinstance(each, dict | list):
            left += each.values() if isinstance(each, dict) else each
