"""How long a project waits for its strings while another one keeps the workers busy.

``python -m bench.neighbour [seconds] [--strings N] [--long N]``: one project is written to from
five threads for so many seconds (default 30; three tables, four indexes each, project search), or
gets N short strings at once for project search, or N strings of five million characters in chunks
of 100. Then another project has ten strings indexed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from bench._project import Project, new_project, new_table
from local.queues import sqs_client
from local.stack import Stack
from local.state import State

WRITERS = 5
TABLES = 3
CHUNK_SIZES = (400, 500, 600, 700)
STRINGS = 10
LONG = 5_000_000
WORDS = [
    "harbour",
    "winter",
    "garden",
    "meadow",
    "notary",
    "quarry",
    "railway",
    "tenant",
    "valley",
    "orchard",
    "ledger",
]


def main() -> None:
    """Start, keep busy, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.neighbour", description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=30.0)
    parser.add_argument("--strings", type=int, default=0)
    parser.add_argument("--long", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # PostgreSQL's account has to reach it
        state = State(Path(folder) / "state")
        with Stack(state, dict(os.environ), report=lambda _: None) as stack:  # noqa: TID251 - handed on
            alone = _indexed_after(stack)
            if arguments.strings:
                busy = _fill(stack, arguments.strings)
            elif arguments.long:
                busy = _fill_long(stack, arguments.long)
            else:
                busy = _write(stack, arguments.seconds)
            print(f"{busy} on {platform.machine()}, {os.cpu_count()} cores")
            print(f"messages in the queue: {_in_queue(stack):,}")
            beside = _indexed_after(stack)
    print(f"ten strings of a neighbour: {alone:.1f} s alone, {beside:.1f} s then")


def _text(characters: int, seed: int) -> str:
    choose = random.Random(seed)
    return " ".join(choose.choice(WORDS) for _ in range(characters // 7))[:characters]


def _tool(project: Project, table_id: int, chunk_size: int, **more: int) -> str:
    """Returns the route to the status of a new tool."""
    tool = project.post(
        "/api/v1/tools/search",
        project_id=project.project_id,
        table_id=table_id,
        name="bench",
        search_config={"chunk_threshold": 200, "chunk_size": chunk_size, **more},
    )
    return f"/api/v1/tools/{tool['tool_id']}/search-index"


def _write(stack: Stack, seconds: float) -> str:
    project, _ = new_project(stack)
    tables = []
    for number in range(TABLES):
        data = {f"k{each}": _text(3_000, 100 * number + each) for each in range(STRINGS)}
        made = project.post("/api/v1/tables", project_id=project.project_id, name="busy", data=data)
        tables.append(int(made["id"]))
    tools = [_tool(project, table, size) for table in tables for size in CHUNK_SIZES]
    whole = f"/api/v1/projects/{project.project_id}/search-index"
    project.post(whole)
    for route in [*tools, whole]:
        project.wait_until_ready(route)
    stop, seeds = time.monotonic() + seconds, count(1_000)

    def write() -> int:
        done = 0
        while time.monotonic() < stop:
            seed = next(seeds)
            path = f"/api/v1/tables/{tables[seed % TABLES]}/data?pointer=/k{seed % STRINGS}"
            project.http.put(path, json=_text(3_000, seed)).raise_for_status()
            done += 1
        return done

    with ThreadPoolExecutor(WRITERS) as pool:
        writes = sum(future.result() for future in [pool.submit(write) for _ in range(WRITERS)])
    return f"{writes:,} writes, {writes / seconds:.0f} a second,"


def _fill(stack: Stack, strings: int) -> str:
    project, _ = new_project(stack)
    route = f"/api/v1/projects/{project.project_id}/search-index"
    new_table(stack, project, json.dumps({"s": [f"{number:05x}" for number in range(strings)]}))
    project.post(route)
    while not project.http.get(route).json().get("indexed_chunks_count"):
        time.sleep(0.5)
    return f"{strings:,} short strings"


def _fill_long(stack: Stack, strings: int) -> str:
    project, _ = new_project(stack)
    tools = []
    for number in range(strings):
        data = {"long": _text(LONG, number)}
        made = project.post("/api/v1/tables", project_id=project.project_id, name="l", data=data)
        tools.append(_tool(project, int(made["id"]), 100, chunk_overlap=0))
    while not any(project.http.get(tool).json().get("indexed_chunks_count") for tool in tools):
        time.sleep(0.5)
    return f"{strings} strings of {LONG:,} characters"


def _indexed_after(stack: Stack) -> float:
    """Returns after how many seconds the strings of a new project are indexed."""
    project, _ = new_project(stack)
    data = {f"k{number}": _text(15_000, number) for number in range(STRINGS)}
    made = project.post("/api/v1/tables", project_id=project.project_id, name="b", data=data)
    began = time.perf_counter()
    route = _tool(project, int(made["id"]), 700)
    project.wait_until_ready(route, at_least=STRINGS)
    return time.perf_counter() - began


def _in_queue(stack: Stack) -> int:
    client = sqs_client(stack.endpoints.emulator_url)
    found = client.get_queue_attributes(
        QueueUrl=stack.endpoints.queue_url,
        AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
    )
    return sum(int(each) for each in found["Attributes"].values())


if __name__ == "__main__":
    main()
