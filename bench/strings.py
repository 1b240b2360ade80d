"""Indexing very many short strings for project search, through the whole local stack.

``python -m bench.strings [strings]`` (default 100,000) writes a table of that many strings of about
60 characters, switches project search on and waits until every string can be found.
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

import httpx2

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.url import DatabaseUrl
from local.stack import Stack
from local.state import State

POLL_S = 2.0
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    """Start, fill, wait, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.strings", description=__doc__)
    parser.add_argument("strings", nargs="?", type=int, default=100_000)
    count = parser.parse_args().strings
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state")
        with Stack(state, dict(os.environ), report=lambda _: None) as stack:  # noqa: TID251 - handed on
            seconds = _index(stack, [_string(number) for number in range(count)])
    print(f"{count:,} strings on {platform.machine()}, {os.cpu_count()} cores")
    print(f"indexed in {seconds:.0f} s: {count / seconds:,.0f} a second")


def _string(number: int) -> str:
    choose = random.Random(number)
    words = ("".join(choose.choices(LETTERS, k=choose.randint(3, 9))) for _ in range(9))
    return f"{' '.join(words)} {number}"


def _index(stack: Stack, strings: list[str]) -> float:
    """Returns after how many seconds all of them were indexed."""
    http = httpx2.Client(base_url=stack.base_url, timeout=60)
    secret = {"x-internal-secret": stack.internal_secret}
    project = http.post("/api/v1/projects", headers=secret, json={"name": "bench"}).json()
    http.headers["authorization"] = f"Bearer {project['api_key']}"
    body = {"project_id": project["id"], "name": "bench", "data": {}}
    table = http.post("/api/v1/tables", json=body).json()
    database = Database(DatabaseUrl.parse(stack.endpoints.database_url))
    with database.transaction() as tx:  # more than a request may carry
        statement = "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id"
        tx.run(statement, data=json.dumps({"strings": strings}), id=table["id"])
    database.close()
    route = f"/api/v1/projects/{project['id']}/search-index"
    began = time.perf_counter()
    http.post(route).raise_for_status()
    while True:
        state = http.get(route).json()
        if state["status"] == "ready" and state["indexed_chunks_count"] == len(strings):
            return time.perf_counter() - began
        time.sleep(POLL_S)


if __name__ == "__main__":
    main()
