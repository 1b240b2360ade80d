"""The command line as a whole."""

from __future__ import annotations

from typing import Annotated

import typer

from context_search_cli import (
    __version__,
    doctor,
    keys,
    login,
    mcp,
    ops,
    replace,
    search,
    status,
    tables,
    tools,
)

app = typer.Typer(
    name="context-search",
    help="Search Tools for agents over the long strings of JSON documents. "
    "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 unavailable, try again, "
    "6 not allowed.",
    no_args_is_help=True,
    # A traceback with local variables would show keys.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for each in (
    *(login.app, doctor.app, tables.app, tools.app, search.app, status.app),
    *(status.project_index, replace.app, keys.app, mcp.app, ops.app),
):
    app.add_typer(each)


def _version(asked: bool) -> None:  # noqa: FBT001 - Typer calls it
    if asked:
        typer.echo(f"context-search {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Runs the command that the process was started with."""
    app(prog_name="context-search")
