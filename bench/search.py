"""Searches of a large index through the whole local stack, over HTTP.

``python -m bench search [chunks] [--state FOLDER]`` (default 200,000) asks 200 questions of each
kind, one after the other, English and Chinese in turn. With a folder the index is kept there for
the next time; else it is made each time, which takes many minutes.

``http`` is what the client waits. ``backend`` is what turbopuffer or Postgres took for the ranked
lists and ``rest`` what else the search took but for the embedding of the question: both on the
clock, and from ``explain``, which works out every candidate. ``cpu`` is that of real searches in
this process: all of the thread that answers, of it the clients of others, and ``ours``.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench._large_index import LargeIndex, large_index, questions
from bench._search_cpu import SearchFunction, search_function
from local.options import StackOptions
from local.stack import Stack
from local.state import State

QUESTIONS = 200
PROJECT_QUESTIONS = 20
WARM_UP = 10
CANDIDATES = 5_000
FURTHER_PAGES = 20
NO_SCHEDULE_S = 3_600.0
BACKENDS = ("turbopuffer", "postgres")
Milliseconds = Mapping[str, float]


def main() -> None:
    """Start, fill, ask, print."""
    parser = argparse.ArgumentParser(prog="python -m bench search", description=__doc__)
    parser.add_argument("chunks", nargs="?", type=int, default=200_000)
    parser.add_argument("--state", type=Path)
    options = parser.parse_args()
    folder = nullcontext(options.state) if options.state else tempfile.TemporaryDirectory()
    with folder as where:
        state = State(Path(where) / "state")
        quiet = StackOptions(schedule_every_s=NO_SCHEDULE_S)
        with Stack(state, dict(os.environ), quiet, report=lambda _: None) as stack:  # noqa: TID251 - handed on
            print(f"{options.chunks} chunks on {platform.machine()}, {os.cpu_count()} cores")
            index = large_index(stack, state, options.chunks)
            _measure(index)
            with search_function(stack, state, index) as function:
                reported = _cpu(index, function)
            for name, milliseconds in reported.items():
                _print(name, milliseconds)


def _measure(index: LargeIndex) -> None:
    print(f"{'milliseconds':42} {'p50':>7} {'p95':>7} {'p99':>7}")
    for name, tool_id in index.tools.items():
        _measure_search(index, name, f"/api/v1/tools/{tool_id}/search")
    retrieve = f"/api/v1/tools/{index.tools['hybrid']}/retrieve"
    _warm_up(index, "retrieve", retrieve)
    _print("retrieve, http", _ask(index, retrieve, "retrieve", QUESTIONS))
    _measure_project(index)


def _cpu(index: LargeIndex, function: SearchFunction) -> Mapping[str, Sequence[float]]:
    reported: dict[str, Sequence[float]] = {}
    for name, tool_id in index.tools.items():
        route = f"/api/v1/tools/{tool_id}/search"
        function.costs_of(route, questions(f"warm {name}", WARM_UP))
        costs = function.costs_of(route, questions(name, QUESTIONS))
        reported |= {f"{name}, cpu, {part}": spent for part, spent in costs.items()}
    route = f"/api/v1/projects/{index.project.project_id}/search"
    function.costs_of(route, questions("warm project", WARM_UP), candidates=CANDIDATES)
    asked = questions("project", PROJECT_QUESTIONS)
    costs = function.costs_of(route, asked, candidates=CANDIDATES)
    return reported | {f"project 5,000, cpu, {part}": spent for part, spent in costs.items()}


def _warm_up(index: LargeIndex, name: str, route: str) -> None:
    index.project.wait_until_warm(route, questions("warm", 1)[0])
    _ask(index, route, f"warm {name}", WARM_UP)


def _measure_search(index: LargeIndex, name: str, route: str) -> None:
    _warm_up(index, name, route)
    _print(f"{name}, http", _ask(index, route, name, QUESTIONS))
    reported = [
        index.project.post(f"{route}/explain", query=query)["explain"]["milliseconds"]
        for query in questions(f"explain {name}", QUESTIONS)
    ]
    _print_stages(reported)


def _measure_project(index: LargeIndex) -> None:
    """First pages of 5,000 candidates a leg, and at most 20 further ones of each."""
    route = f"/api/v1/projects/{index.project.project_id}/search"
    _warm_up(index, "project", route)
    first: list[float] = []
    reported: list[Milliseconds] = []
    further: list[float] = []
    for query in questions("project", PROJECT_QUESTIONS):
        body: dict[str, Any] = {"query": query, "candidates": CANDIDATES}
        spent, page = _timed(partial(index.project.post, route, **body))
        first.append(spent)
        pages = 0
        while page["cursor"] and pages < FURTHER_PAGES:
            at = {**body, "cursor": page["cursor"]}
            spent, page = _timed(partial(index.project.post, route, **at))
            further.append(spent)
            pages += 1
    for query in questions("explain project", PROJECT_QUESTIONS):
        answer = index.project.post(route, query=query, candidates=CANDIDATES, explain=True)
        reported.append(answer["explain"]["milliseconds"])
    _print("project 5,000, first page", first)
    _print("project 5,000, further page", further)
    _print_stages(reported)


def _ask(index: LargeIndex, route: str, kind: str, count: int) -> list[float]:
    return [
        _timed(partial(index.project.post, route, query=query))[0]
        for query in questions(kind, count)
    ]


def _timed(ask: Callable[[], dict[str, Any]]) -> tuple[float, dict[str, Any]]:
    began = time.perf_counter()
    answer = ask()
    return (time.perf_counter() - began) * 1000, answer


def _print_stages(reported: Sequence[Milliseconds]) -> None:
    backend = [sum(each.get(name, 0.0) for name in BACKENDS) for each in reported]
    rest = [
        each["total"] - each.get("embed", 0.0) - spent
        for each, spent in zip(reported, backend, strict=True)
    ]
    for stage in sorted({name for each in reported for name in each} - {"total", *BACKENDS}):
        _print(f"  {stage}", [each.get(stage, 0.0) for each in reported])
    _print("  backend", backend)
    _print("  rest", rest)


def _print(name: str, milliseconds: Sequence[float]) -> None:
    cuts = quantiles(milliseconds, n=100)
    print(f"{name:42} {cuts[49]:7.1f} {cuts[94]:7.1f} {cuts[98]:7.1f}", flush=True)


if __name__ == "__main__":
    main()
