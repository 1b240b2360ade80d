"""``context-search ops``: what operators do, with the internal secret of a file or a variable."""

from __future__ import annotations

from operator import itemgetter
from typing import Annotated, Any

import typer

from context_search_cli.client import Client, pages_of
from context_search_cli.command import (
    Limit,
    SecretFile,
    Session,
    Shared,
    Timeout,
    ToolId,
    Wait,
    Yes,
    command,
    confirmed,
    group,
)
from context_search_cli.keys import Output, hand_over
from context_search_cli.output import counted, number
from context_search_cli.tools import empty
from context_search_cli.waiting import wait_for

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


@command(projects, "list")
def list_projects(session: Session, *, limit: Limit = 100, secret_file: SecretFile = None) -> None:
    """List the projects of the deployment."""
    client = session.internal(secret_file)
    session.out.listed(
        "projects",
        client.pages("/internal/projects", "projects", limit=limit),
        ("id", "name", "tables", "tools", "building"),
        "no project yet: context-search ops projects create NAME",
        cells=itemgetter("id", "name", "tables_count", "tools_count", "building"),
    )


@command(app, "rebuild")
def rebuild(
    session: Session,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="Also what is built as today's settings say.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it takes.")] = False,
    wait: Wait = False,
    timeout: Timeout = 86_400,
    yes: Yes = False,
    secret_file: SecretFile = None,
) -> None:
    """Build the indexes of all projects anew beside those that answer, and switch."""
    client = session.internal(secret_file)
    if dry_run:
        estimate = _summed(session, client, every=every, dry_run=True)
        session.out.result(estimate, lambda: session.out.fields(estimate))
        return
    which = "every index" if every else "every index that is out of date"
    confirmed(session, f"Rebuild {which}, of all projects?", yes=yes)
    done = _summed(session, client, every=every, dry_run=False)
    if wait:
        wait_for(
            session,
            lambda: client.get("/internal/rebuild").body,
            is_over=lambda left: not left["building"] + left["queued"],
            reported=lambda left: f"{left['building']} being built, {left['queued']} waiting",
            timeout_s=timeout,
        )
    session.out.result(done, lambda: session.out.fields(done))


def _summed(session: Session, client: Client, *, every: bool, dry_run: bool) -> dict[str, Any]:
    """Goes through all pages, each of which may be asked for again, and adds them up."""
    total: dict[str, Any] = {}
    asked = {"outdated": not every, "dry_run": dry_run}
    counted_by = "indexes" if dry_run else "generations"
    with session.out.progress("0 indexes") as note:
        for page in pages_of(lambda at: client.ask("/internal/rebuild", **asked, cursor=at)):
            _ = page[counted_by]  # what has none is no answer of the API
            for name in (each for each in page.body if each != "cursor"):
                value, known = page[name], total.get(name, 0)
                amount = len(value) if isinstance(value, list) else value
                total[name] = None if None in {amount, known} else known + amount
            note(f"{total[counted_by]} indexes")
    return total


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
    shared: Shared = False,
    yes: Yes = False,
    secret_file: SecretFile = None,
) -> None:
    """Empty the index of any project's tool: nothing is found before it is built again."""
    client, path = session.internal(secret_file), f"/internal/tools/{tool}/chunks"
    empty(session, tool, lambda: client.delete(path, shared=shared), yes=yes)
