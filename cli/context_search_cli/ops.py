"""``context-search ops``: what operators do, with the internal secret of a file or a variable."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from context_search_cli.command import SecretFile, Session, ToolId, Yes, command, confirmed, group
from context_search_cli.keys import Output, hand_over
from context_search_cli.output import counted, number

app = group("ops", "Operator's work, with the internal secret.")
projects = group("projects", "Projects.")
app.add_typer(projects)


@command(projects, "create")
def create_project(
    session: Session,
    *,
    name: Annotated[str, typer.Argument(help="What you call the tenant.")],
    output: Output = None,
    secret_file: SecretFile = None,
) -> None:
    """Make a project; its first key is shown this once."""
    made = session.internal(secret_file).create("/api/v1/projects", {"name": name})
    hand_over(session, made, output, "project")


@command(app, "integrity")
def integrity(session: Session, *, secret_file: SecretFile = None) -> None:
    """Show the last comparison of each index with turbopuffer."""
    report = session.internal(secret_file).get("/internal/integrity")
    columns = ("namespace", "at", "checked", "missing", "orphans", "repaired")

    def show() -> None:
        rows: list[dict[str, Any]] = report["namespaces"]
        session.out.rows(columns, [[row[name] for name in columns] for row in rows], "none yet")
        sweep = report["sweep"]
        session.out.note(f"the oldest comparison is {number(sweep['oldest_seconds'])} s old")

    session.out.result(report, show)


@command(app, "redrive")
def redrive(
    session: Session,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Of each at most.")] = 100,
    secret_file: SecretFile = None,
) -> None:
    """Send dead letters again and let quarantined strings of all projects be tried again."""
    done = session.internal(secret_file).ask("/internal/index/redrive", limit=limit)
    text = (
        f"tried again: {counted(done['messages'], 'message')}, {counted(done['nodes'], 'string')}"
    )
    session.out.result(done, lambda: session.out.line(text))


@command(app, "clear")
def clear(
    session: Session,
    *,
    tool: ToolId,
    shared: Annotated[
        bool, typer.Option("--shared", help="Also where other tools use the index.")
    ] = False,
    yes: Yes = False,
    secret_file: SecretFile = None,
) -> None:
    """Empty the index of any project's tool: nothing is found before it is built again."""
    confirmed(session, f"Empty the index of tool {tool}? Nothing will be found in it.", yes=yes)
    done = session.internal(secret_file).delete(f"/internal/tools/{tool}/chunks", shared=shared)
    text = f"{counted(done['chunks'], 'chunk')} gone, for the tools {done['tools']}"
    session.out.result(done, lambda: session.out.line(text))
