"""Many documents: project search by many clients at once, and a rebuild that keeps its vectors.

``python -m bench documents [documents] [chunks]`` (default 1,000 and 200,000) makes so many tables
with so many chunks in all, half English and half Chinese, and switches project search on. Then one
client asks 200 hybrid questions, and 16 ask others: what is late, refused or answered by less than
all legs is counted. At the end the index is rebuilt: vectors are read back and none is embedded.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import quantiles

import httpx2

from bench._large_index import questions, text_of
from bench._project import Project, new_project
from local.options import StackOptions
from local.stack import Stack
from local.state import State

CLIENTS, QUESTIONS = 16, 200
CHARS_PER_CHUNK = 820
NO_SCHEDULE_S = 3_600.0
REBUILD_S = 3_600.0
LATE = "late"


def main() -> None:
    """Start, fill, ask, rebuild, print."""
    parser = argparse.ArgumentParser(prog="python -m bench documents", description=__doc__)
    parser.add_argument("documents", nargs="?", type=int, default=1_000)
    parser.add_argument("chunks", nargs="?", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state")
        quiet = StackOptions(schedule_every_s=NO_SCHEDULE_S)
        with Stack(state, dict(os.environ), quiet, report=lambda _: None) as stack:  # noqa: TID251 - handed on
            print(
                f"{options.documents:,} documents on {platform.machine()}, {os.cpu_count()} cores"
            )
            project, _ = new_project(stack)
            _fill(project, options.documents, options.chunks)
            project.wait_until_warm(_search_route(project), questions("warm", 1)[0])
            for clients in (1, CLIENTS):
                _ask(project, clients)
            _rebuild(project)


def _fill(project: Project, documents: int, chunks: int) -> None:
    size = chunks * CHARS_PER_CHUNK // documents
    for number in range(documents):
        data = {"texts": [text_of(2 * number + piece, size // 2) for piece in range(2)]}
        body = {"project_id": project.project_id, "name": f"document {number}", "data": data}
        project.post("/api/v1/tables", **body)
    route = _index_route(project)
    began = time.perf_counter()
    project.post(route)
    made = project.wait_until_ready(route)
    _print_speed("indexed", made, began)


def _ask(project: Project, clients: int) -> None:
    with ThreadPoolExecutor(clients) as pool:
        began = time.perf_counter()
        asked = [
            pool.submit(_asked, project, query)
            for query in questions(f"documents {clients}", QUESTIONS)
        ]
        answers = [each.result() for each in asked]
        seconds = time.perf_counter() - began
    cuts = quantiles([milliseconds for milliseconds, _ in answers], n=100)
    kinds = Counter(kind for _, kind in answers)
    print(
        f"{QUESTIONS} questions, {clients} at once: {QUESTIONS / seconds:.1f} a second,"
        f" p50 {cuts[49]:.0f}, p95 {cuts[94]:.0f}, p99 {cuts[98]:.0f} ms; {_listed(kinds)}",
        flush=True,
    )


def _asked(project: Project, query: str) -> tuple[float, str]:
    """Returns the milliseconds of a question, and how it ended."""
    began = time.perf_counter()
    try:
        answer = project.http.post(_search_route(project), json={"query": query})
    except httpx2.TimeoutException:
        return (time.perf_counter() - began) * 1000, LATE
    spent = (time.perf_counter() - began) * 1000
    if answer.status_code != 200:
        return spent, f"{answer.status_code} {answer.json().get('code')}"
    return spent, ", ".join(answer.json()["retrieval"]["degraded"]) or "whole"


def _rebuild(project: Project) -> None:
    began = time.perf_counter()
    project.post(f"/api/v1/projects/{project.project_id}/reindex")
    # The chunks that it tells are those of the generation that answers meanwhile.
    made = project.wait_until_ready(_index_route(project), stuck_s=REBUILD_S)
    _print_speed("rebuilt", made, began)


def _search_route(project: Project) -> str:
    return f"/api/v1/projects/{project.project_id}/search"


def _index_route(project: Project) -> str:
    return f"/api/v1/projects/{project.project_id}/search-index"


def _print_speed(what: str, chunks: int, began: float) -> None:
    seconds = time.perf_counter() - began
    print(
        f"{what}: {chunks:,} chunks in {seconds:.0f} s, {chunks / seconds:,.0f} a second",
        flush=True,
    )


def _listed(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


if __name__ == "__main__":
    main()
