"""``python -m local.demo [--file my.json --ask "…"]``: from a JSON document to cited answers."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from context_search_cli.failures import CommandError
from local.demo.client import Api, ApiError, ask, create_project, import_document
from local.demo.documents import read_document, sample_document, sizes
from local.demo.replacing import replace_and_undo
from local.demo.show import nothing_to_find, show_answer, show_progress
from local.sign_in import console_address
from local.stack import Stack
from local.state import DEFAULT_STATE, StackError, State

QUESTIONS = [
    "How are exceptions handled with try, except and finally?",
    "表格里的数据改了以后，索引多久会跟上？",
    "How long until a deleted tool's vectors disappear?",  # only the Chinese text knows
]
REPLACEMENT = ("ExceptionGroup", "ErrorGroup")


@dataclass(frozen=True, slots=True)
class Walk:
    """What to search, what to ask, and what then becomes what."""

    document: object
    content: bytes
    questions: list[str]
    threshold: int
    replacement: tuple[str, str] | None = None


def main() -> int:
    """Returns 0 when every question was answered, 1 when something failed, 2 for bad input."""
    console = Console(highlight=False)
    try:
        arguments = _arguments()
        walk = walk_of(arguments)
    except (OSError, ValueError) as error:
        console.print(f"error: {error}", style="red", markup=False)
        return 2
    started = time.monotonic()
    state = State(arguments.state)
    try:
        if state.root.exists():
            state.wipe()
        with Stack(state, dict(os.environ), report=console.print) as stack:  # noqa: TID251 - handed on
            console.print(f"the stack serves after {time.monotonic() - started:.1f} s")
            api_key = take(walk, console, stack.base_url, stack.internal_secret)
            seconds = time.monotonic() - started
            if sys.stdin.isatty():
                _let_look(console, stack.base_url, api_key)
    except (StackError, ApiError, CommandError) as error:
        console.print(f"error: {error}", style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("stopped")
        return 1
    _say_what_next(console, seconds)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.demo", description=__doc__)
    parser.add_argument("--file", type=Path, help="a JSON document of your own, up to 250 MB")
    parser.add_argument("--ask", action="append", help="a question; may be given several times")
    parser.add_argument("--threshold", type=int, default=10_000, help="shortest string to index")
    parser.add_argument("--state", type=Path, default=DEFAULT_STATE / "demo")
    return parser.parse_args()


def walk_of(arguments: argparse.Namespace) -> Walk:
    """Returns what to do. Raises ValueError for a file without a question, or without JSON."""
    if arguments.file is None:
        questions = arguments.ask or QUESTIONS
        document = sample_document()
        content = json.dumps(document, ensure_ascii=False).encode()
        return Walk(document, content, questions, arguments.threshold, REPLACEMENT)
    if not arguments.ask:
        raise ValueError('say what to look for: make demo FILE=my.json ASK="…"')
    return Walk(*read_document(arguments.file), arguments.ask, arguments.threshold)


def take(walk: Walk, console: Console, base_url: str, internal_secret: str) -> str:
    """Makes a project, searches the document in it, and returns the project's key.

    Raises ApiError, CommandError.
    """
    strings, long_strings, longest = sizes(walk.document)
    console.print(
        f"  document: {len(walk.content) / 1e6:.1f} MB,"
        f" {strings:,} strings, {long_strings} of 10,000 characters or more,"
        f" the longest {longest:,}"
    )
    project = create_project(base_url, internal_secret)
    key = str(project["api_key"])
    table_id = import_document(base_url, key, walk.content)
    with closing(Api(base_url, key)) as api:
        hint = _index(console, api, _wanted(walk, project["id"], table_id))
        why = nothing_to_find(hint, longest=longest, threshold=walk.threshold)
        if why is not None:
            console.print(f"  {why}", style="yellow")
        mcp_url = f"{base_url}/mcp"
        console.print(f"asking over MCP, {mcp_url}")
        for answer in asyncio.run(ask(mcp_url, key, walk.questions, 3)):
            show_answer(console, answer)
        if walk.replacement is not None:
            find, replace_with = walk.replacement
            replace_and_undo(
                console, api, project["id"], table_id, find=find, replace_with=replace_with
            )
    return key


def _index(console: Console, api: Api, wanted: dict[str, Any]) -> str | None:
    """Makes the Search Tool and waits for its index; returns the hint of one without chunks."""
    tool = api.post("/api/v1/tools/search", wanted)
    # Of a document of over 5 MB a worker looks for them.
    found = len(tool["large_nodes_detected"])
    console.print(
        f"  Search Tool {tool['name']}{f' over {found} strings' if found else ''}:"
        f" {tool['status']}, namespace {tool['namespace']}"
    )
    state = show_progress(console, lambda: api.get(f"/api/v1/tools/{tool['tool_id']}/search-index"))
    console.print(f"  {state['status']}: {state['indexed_chunks_count']:,} chunks")
    return state.get("hint")


def _let_look(console: Console, base_url: str, api_key: str) -> None:
    """Whoever sits there may look at all of it in a browser before it stops."""
    console.print("\nin a browser (signs in once, within five minutes):")
    console.print(console_address(base_url, api_key), markup=False, soft_wrap=True)
    with suppress(EOFError):
        console.input("Enter stops it ")


def _wanted(walk: Walk, project_id: int, table_id: int) -> dict[str, Any]:
    return {
        "project_id": project_id,
        "table_id": table_id,
        "name": "search_demo",
        "description": "Searches the documentation of Python, of packages and of context-search.",
        "search_config": {"chunk_threshold": walk.threshold},
    }


def _say_what_next(console: Console, seconds: float) -> None:
    console.print()
    console.rule(style="dim")
    console.print(f"done in {seconds:.0f} s; everything is stopped. Try next:")
    console.print('  make demo FILE=my.json ASK="…"   your own document and question')
    console.print("  make serve                       keep it running for HTTP and MCP clients")


if __name__ == "__main__":
    sys.exit(main())
