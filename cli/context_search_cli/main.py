"""The command line as a whole."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from context_search_cli import (
    __version__,
    doctor,
    evaluating,
    keys,
    login,
    mcp,
    ops,
    replace,
    search,
    status,
    tables,
    tools,
    usage,
)
from context_search_cli.command import World, failed, printer
from context_search_cli.failures import UsageError


class Root(TyperGroup):
    """All commands. A line that cannot be read as one of them fails as a command does."""

    def main(self, *args: Any, **given: Any) -> NoReturn:
        """Runs the command and ends the process with its exit code."""
        words = list(sys.argv[1:] if given.get("args") is None else given["args"])
        try:
            code = super().main(*args, **{**given, "standalone_mode": False})
        except typer.TyperException as refusal:
            if refusal.format_message():
                options = words[: words.index("--")] if "--" in words else words
                world = given.get("obj") or World.of_process()
                out = printer(world, as_json="--json" in options, quiet=False)
                code = failed(_usage(refusal), out)
            else:  # a group without a command has shown its help
                code = refusal.exit_code
        sys.exit(code)


def _usage(refusal: typer.TyperException) -> UsageError:
    """What the parser says, and whose help says more."""
    error = UsageError(refusal.format_message())
    if context := getattr(refusal, "ctx", None):
        error.advise(f"what it takes: {context.command_path} --help")
    return error


app = typer.Typer(
    name="context-search",
    cls=Root,
    help="Search Tools for agents over the long strings of JSON documents. "
    "Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 unavailable, try again, "
    "6 not allowed.",
    no_args_is_help=True,
    # A traceback with local variables would show keys.
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for each in (
    *(login.app, doctor.app, tables.app, tools.app, search.app, status.app, usage.app),
    *(status.project_index, replace.app, evaluating.app, keys.app, mcp.app, ops.app),
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
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was started with that one closed
            nothing = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - it stays open
            setattr(sys, name, nothing)
    app(prog_name="context-search")
