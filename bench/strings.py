"""Indexing very many short strings for project search, through the whole local stack.

``python -m bench.strings [strings] [--per-table N]`` (default 100,000) writes that many strings of
about 60 characters, into one table or into tables of N each, switches project search on and waits
until every string can be found.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import tempfile
import time
from pathlib import Path

from bench._project import new_project, new_table
from local.stack import Stack
from local.state import State

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    """Start, fill, wait, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.strings", description=__doc__)
    parser.add_argument("strings", nargs="?", type=int, default=100_000)
    parser.add_argument("--per-table", type=int)
    options = parser.parse_args()
    count, per_table = options.strings, options.per_table or options.strings
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state")
        with Stack(state, dict(os.environ), report=lambda _: None) as stack:  # noqa: TID251 - handed on
            strings = [_string(number) for number in range(count)]
            tables = [strings[at : at + per_table] for at in range(0, count, per_table)]
            seconds = _index(stack, tables)
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"{count:,} strings in {len(tables):,} tables on {machine}")
    print(f"indexed in {seconds:.0f} s: {count / seconds:,.0f} a second")


def _string(number: int) -> str:
    choose = random.Random(number)
    words = ("".join(choose.choices(LETTERS, k=choose.randint(3, 9))) for _ in range(9))
    return f"{' '.join(words)} {number}"


def _index(stack: Stack, tables: list[list[str]]) -> float:
    """Returns after how many seconds the strings of all tables were indexed."""
    project, _ = new_project(stack)
    for strings in tables:
        new_table(stack, project, json.dumps({"strings": strings}))
    route = f"/api/v1/projects/{project.project_id}/search-index"
    began = time.perf_counter()
    project.post(route)
    project.wait_until_ready(route, at_least=sum(map(len, tables)))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
