"""How long a project's searches take while another one sends expensive management requests.

``python -m bench management [seconds] [--hasty]``: for so many seconds each (default 15) another
project sends, again and again and as many at once: 40 pages of matches of a pattern over 5 MB, 30
comparisons of lists of 300,000 numbers, 80 creates that want to wait for their index. A refused
caller asks again when the refusal says so; with --hasty at once.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import httpx2

from bench._project import Project, new_project, new_table
from local.stack import Stack
from local.state import State

WORDS = ["harbour", "winter", "garden", "meadow", "notary", "quarry", "railway", "tenant"]
STRINGS, STRING_CHARS = 100, 50_000
NUMBERS = 300_000
SMALL = {"chunk_threshold": 200}
Ask = Callable[[], httpx2.Response]


def main() -> None:
    """Start, measure alone and beside each load, print."""
    parser = argparse.ArgumentParser(prog="python -m bench management", description=__doc__)
    parser.add_argument("seconds", nargs="?", type=float, default=15.0)
    parser.add_argument("--hasty", action="store_true")
    arguments = parser.parse_args()
    seconds, hasty = arguments.seconds, arguments.hasty
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # PostgreSQL's account has to reach it
        state = State(Path(folder) / "state")
        with Stack(state, dict(os.environ), report=lambda _: None) as stack:  # noqa: TID251 - handed on
            print(f"{platform.machine()}, {os.cpu_count()} cores, {seconds:g} s for each load")
            search = _searches(stack)
            greedy, _ = new_project(stack)
            loads = {
                "40 pages of matches": (40, _matches(stack, greedy)),
                "30 comparisons": (30, _comparisons(stack, greedy)),
                "80 creates that wait": (80, _creates(stack, greedy)),
            }
            _timed(search, seconds / 3)  # warms up
            for name, (at_once, ask) in loads.items():
                alone = median(_timed(search, seconds / 3))
                beside, answered = _beside(
                    search, ask if hasty else _patient(ask), at_once, seconds
                )
                print(
                    f"{name}: p50 {1e3 * alone:.0f} ms alone, {1e3 * beside:.0f} ms beside them:"
                    f" {beside / alone:.1f} times; answered {dict(sorted(answered.items()))}"
                )


def _text(characters: int, seed: int) -> str:
    choose = random.Random(seed)
    return " ".join(choose.choice(WORDS) for _ in range(characters // 6))[:characters]


def _searches(stack: Stack) -> Callable[[], float]:
    """Returns what asks a tool of a project of its own, and says how many seconds that took."""
    project, _ = new_project(stack)
    table = new_table(stack, project, json.dumps([_text(2_000, seed) for seed in range(100)]))
    tool = _create(project, table).json()["tool_id"]
    project.wait_until_ready(f"/api/v1/tools/{tool}/search-index", at_least=1)
    route = f"/api/v1/tools/{tool}/search"
    project.wait_until_warm(route, "harbour winter", pause_s=0.5)

    def search() -> float:
        began = time.monotonic()
        project.http.post(route, json={"query": "harbour winter"}).raise_for_status()
        return time.monotonic() - began

    return search


def _create(project: Project, table_id: int, wait: int = 0) -> httpx2.Response:
    body = {"project_id": project.project_id, "table_id": table_id, "name": "bench"}
    route = f"/api/v1/tools/search?wait={wait}"
    return project.http.post(route, json={**body, "search_config": SMALL})


def _matches(stack: Stack, project: Project) -> Ask:
    strings = [f"{_text(STRING_CHARS, seed)} needle{seed:03d}" for seed in range(STRINGS)]
    new_table(stack, project, json.dumps(strings))
    route = f"/api/v1/projects/{project.project_id}/replace"
    made = project.post(f"{route}/preview", find=r"needle\d+", replace_with="pin", regex=True)
    return lambda: project.http.get(f"{route}/{made['plan_id']}/matches")


def _comparisons(stack: Stack, project: Project) -> Ask:
    table = new_table(stack, project, "[]")
    route = f"/api/v1/tables/{table}"
    for first in range(2):
        numbers = [first, *range(NUMBERS)]
        project.http.put(f"{route}/data", json=numbers).raise_for_status()
    older = project.http.get(route).json()["revision"] - 1
    return lambda: project.http.get(f"{route}/versions/{older}/diff")


def _creates(stack: Stack, project: Project) -> Ask:
    table = new_table(stack, project, json.dumps([_text(2_000, seed) for seed in range(50)]))
    return lambda: _create(project, table, wait=25)


def _patient(ask: Ask) -> Ask:
    def asked() -> httpx2.Response:
        response = ask()
        if response.status_code == 429:
            time.sleep(response.json()["retryAfterMs"] / 1_000)
        return response

    return asked


def _timed(search: Callable[[], float], seconds: float) -> list[float]:
    ends_at, spent = time.monotonic() + seconds, list[float]()
    while time.monotonic() < ends_at:
        spent.append(search())
    return spent


def _beside(
    search: Callable[[], float], ask: Ask, at_once: int, seconds: float
) -> tuple[float, Counter[int]]:
    """Returns the median of searches meanwhile, and how often each status was answered."""
    ends_at, answered = time.monotonic() + seconds, Counter[int]()

    def ask_on() -> None:
        while time.monotonic() < ends_at:
            with ThreadPoolExecutor(at_once) as pool:
                asked = [pool.submit(ask) for _ in range(at_once)]
            answered.update(each.result().status_code for each in asked)

    with ThreadPoolExecutor(1) as one:
        loud = one.submit(ask_on)
        spent = _timed(search, seconds)
        loud.result()
    return median(spent), answered


if __name__ == "__main__":
    main()
