"""``context-search status`` and ``project-index``: how far indexes are, and what is stuck."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from context_search_cli.client import Response
from context_search_cli.command import Session, Timeout, Wait, Yes, command, confirmed, group
from context_search_cli.failures import Code, EndedError, UsageError
from context_search_cli.output import Output, number
from context_search_cli.waiting import wait_for

app = typer.Typer()
project_index = group("project-index", "The index over all tables of the project.")
SETTLED = {"ready", "degraded", "evicted", "error", "stalled"}
"""States in which nothing goes on that would end by itself."""
NOT_SEARCHED = "too short, too long, or given up"
STALLED = "strings wait, and no worker moves one: docs/operations.md, nothing moves"
NODE_COLUMNS = ("string", "characters", "state", "tries", "reason", "next attempt")


@command(app, "status")
def status(
    session: Session,
    *,
    tool: Annotated[
        int | None, typer.Argument(metavar="[TOOL]", min=1, help="Of one tool; else of all.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow until it is settled.")] = False,
    exit_when_ready: Annotated[
        bool, typer.Option("--exit-when-ready", help="Follow; 0 only if it became ready.")
    ] = False,
    timeout: Timeout = 3600,
) -> None:
    """Show how far an index is; of all tools without an id."""
    if tool is None:
        if watch or exit_when_ready:
            raise UsageError(
                "--watch and --exit-when-ready follow one tool: context-search status TOOL"
                " --watch (ids: context-search tools list)"
            )
        _all(session)
        return
    if watch or exit_when_ready:
        state = wait_until_settled(session, tool, timeout)
    else:
        state = session.client.get(_path(tool))
    session.out.result(state, lambda: show_state(session.out, state.body))
    if exit_when_ready and state["status"] != "ready":
        raise EndedError(Code.FAILED)


@command(project_index, "on")
def on(
    session: Session,
    *,
    filterable: Annotated[
        list[str] | None, typer.Option(help="A field to filter by; repeat for more.")
    ] = None,
    wait: Wait = False,
    timeout: Timeout = 3600,
) -> None:
    """Switch project search on."""
    path = f"{session.project}/search-index"
    state = session.client.ask(path, {"filterable": filterable} if filterable else None)
    if wait:
        state = _settled(session, path, timeout)
    session.out.result(state, lambda: show_state(session.out, state.body))


@command(project_index, "off")
def off(session: Session, *, yes: Yes = False) -> None:
    """Switch project search off; its index is deleted."""
    confirmed(session, "Delete the index of the project?", yes=yes)
    session.client.delete(f"{session.project}/search-index")
    session.out.result({"project_search": "off"}, lambda: session.out.line("project search is off"))


@command(project_index, "status")
def of_project(session: Session) -> None:
    """Show how far the project's index is."""
    state = session.client.get(f"{session.project}/search-index")
    session.out.result(state, lambda: show_state(session.out, state.body))


def wait_until_settled(session: Session, tool: int, timeout_s: float) -> Response:
    """Follows a tool's index until nothing goes on. Raises CommandError when the time is over."""
    return _settled(session, _path(tool), timeout_s)


def _settled(session: Session, path: str, timeout_s: float) -> Response:
    return wait_for(
        session,
        lambda: session.client.get(path),
        is_over=lambda state: state["status"] in SETTLED or _is_stuck(state.body.get("rebuild")),
        reported=lambda state: far(state.body),
        share=lambda state: indexed_share(state.body),
        timeout_s=timeout_s,
    )


def _is_stuck(rebuild: dict[str, Any] | None) -> bool:
    """Whether a generation never takes over by itself, because a string is given up, say."""
    return rebuild is not None and rebuild["status"] in SETTLED


def indexed_share(state: dict[str, Any]) -> float | None:
    """The share of the strings, 0..1; None before anybody knows how many there are.

    Chunks would not do: they are counted only when their string is cut.
    """
    nodes = _built(state)["nodes"]
    count = sum(nodes.values())
    return nodes.get("indexed", 0) / count if count else None


def far(state: dict[str, Any]) -> str:
    """How far an index is, in one line; counts, no percentage."""
    reported = f"{state['status']}: {_counts(_built(state))}"
    return (
        f"{reported}; {number(state['indexed_chunks_count'])} answer"
        if "rebuild" in state
        else reported
    )


def _built(state: dict[str, Any]) -> dict[str, Any]:
    """What is being built: the next generation where there is one, else what answers.

    Of the next only what is cut by now is counted. It will have about as many chunks as the last.
    """
    built: dict[str, Any] = state.get("rebuild", state)
    return built | {"chunks_count": max(built["chunks_count"], state["chunks_count"])}


def _counts(state: dict[str, Any]) -> str:
    nodes = state["nodes"]
    strings = f"{number(nodes.get('indexed', 0))} of {number(sum(nodes.values()))} strings"
    return f"{_chunks(state)} chunks, {strings}"


def _chunks(state: dict[str, Any]) -> str:
    return f"{number(state['indexed_chunks_count'])} of {number(state['chunks_count'])}"


def _strings(state: dict[str, Any]) -> str:
    """How many strings are in which state: ``21 indexed, 10 skipped``."""
    states = sorted(state["nodes"].items())
    return ", ".join(f"{number(count)} {name}" for name, count in states) or "0"


def _rebuild(state: dict[str, Any]) -> str | None:
    """Which generation comes, and how far it is."""
    rebuild = state.get("rebuild")
    if rebuild is None:
        return None
    if rebuild["state"] == "queued":
        return f"generation {rebuild['generation']} waits for its turn"
    error = rebuild["last_error"]
    stuck = f", {rebuild['status']}" if _is_stuck(rebuild) else ""
    why = f": {error['code']}" if stuck and error else ""
    return f"generation {rebuild['generation']} at {_counts(_built(state))}{stuck}{why}"


def show_state(out: Output, state: dict[str, Any]) -> None:
    """Prints an index, and why strings are not in it; those on their way are only counted."""
    error, left_out = state["last_error"], state.get("not_searched")
    out.fields(
        {
            "tool": state.get("tool_id"),
            "status": state["status"],
            "chunks": _chunks(state),
            "strings": _strings(state),
            "not searched": f"{number(left_out)}: {NOT_SEARCHED}" if left_out else None,
            "rebuild": _rebuild(state),
            "indexed at": state["indexed_at"],
            "next attempt": _next_attempt(state),
            "why": STALLED if state["status"] == "stalled" else None,
            "last error": error and f"{error['code']}: {error['message']}",
            "hint": state.get("hint"),
        }
    )
    waiting = [each for each in state.get("not_indexed") or [] if not _is_on_its_way(each)]
    if waiting:
        out.line()
        out.rows(NODE_COLUMNS, [cells_of_node(node) for node in waiting], "")
    tool = state.get("tool_id")
    hidden = state.get("not_indexed_count", 0) - len(waiting)
    if hidden > 0:
        which = f": context-search tools nodes {tool}" if tool else ""
        out.note(f"and {number(hidden)} more that are not indexed{which}")
    if state["nodes"].get("quarantined") and tool:
        out.note(f"when that is mended: context-search tools retry {tool}")
        if any(_is_of_model(each) for each in waiting):
            out.note(
                "an index keeps the model that it was made with: if the deployment has another one"
                f" now, context-search tools rebuild {tool}"
            )
    for refused in state.get("refused") or []:
        out.line(f"table {refused['table_id']}: {refused['code']}: {refused['message']}")


def _is_on_its_way(node: dict[str, Any]) -> bool:
    """Whether a string waits for its turn, or is worked on, and has never failed."""
    return node["state"] in {"queued", "claimed"} and not node["attempts"]


def _is_of_model(node: dict[str, Any]) -> bool:
    """Whether a string was given up because of the embedding model."""
    code = (node.get("last_error") or {}).get("code")
    return node["state"] == "quarantined" and str(code).startswith("EMBEDDING_")


def cells_of_node(node: dict[str, Any]) -> list[object]:
    """What ``NODE_COLUMNS`` have of a string of an index: its state and the reason."""
    return [
        *(node[name] for name in ("json_pointer", "char_count", "state", "attempts")),
        (node.get("last_error") or {}).get("code"),
        _next_attempt(node),
    ]


def _next_attempt(state: dict[str, Any]) -> str | None:
    """When a string is tried next; one whose time has come waits for a worker."""
    at: str | None = state.get("next_attempt_at")
    if at is not None and datetime.fromisoformat(at) <= datetime.now(UTC):
        return "waits for its turn"
    return at


def _all(session: Session) -> None:
    found = session.client.pages("/api/v1/tools", "tools", limit=0, page=100)
    session.out.listed(
        "tools",
        found,
        ("id", "name", "table_id", "status", "chunks", "strings"),
        "no Search Tool yet: context-search tools create TABLE",
        cells=lambda row: [
            *(row[name] for name in ("id", "name", "table_id", "status")),
            _chunks(row["search_index"]),
            _strings(row["search_index"]),
        ],
    )


def _path(tool: int) -> str:
    return f"/api/v1/tools/{tool}/search-index"
