"""Searches of a large index through the whole local stack, over HTTP.

``python -m bench.search [chunks]`` (default 200,000) indexes a table of that many chunks through
the real pipeline, then asks 200 mixed questions of each kind, one after the other. ``backend`` is
turbopuffer's own share of a search, ``ours`` what is left without it and without the embedding.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx2

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.url import DatabaseUrl
from local.stack import Stack
from local.state import State

QUESTIONS = 200
STRING_CHARS = 500_000
CHARS_PER_CHUNK = 250
CHUNK_SIZE = 300
VOCABULARY = 60_000
CHINESE = "数据索引检索向量关键词文档片段系统存储查询结果模型语言处理更新删除服务请求"
Ask = Callable[[str], dict[str, Any]]


def main() -> None:
    """Start, fill, ask, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.search", description=__doc__)
    parser.add_argument("chunks", nargs="?", type=int, default=200_000)
    chunks = parser.parse_args().chunks
    words = Words()
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state")
        with Stack(state, dict(os.environ), report=lambda _: None) as stack:  # noqa: TID251 - handed on
            print(f"{chunks} chunks on {platform.machine()}, {os.cpu_count()} cores")
            tool = _fill(stack, words, chunks)
            _measure(tool, words)


class Words:
    """Texts and questions of Zipf-distributed words, one in five Chinese."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self._words = [
            "".join(self._random.choices(letters, k=self._random.randint(3, 10)))
            for _ in range(VOCABULARY)
        ]

    def _word(self) -> str:
        if self._random.random() < 0.2:
            return "".join(self._random.choices(CHINESE, k=self._random.randint(2, 4)))
        rank = int(VOCABULARY ** self._random.random()) - 1
        return self._words[rank]

    def text(self, characters: int) -> str:
        """Prose of so many characters, in paragraphs."""
        pieces: list[str] = []
        length = 0
        while length < characters:
            sentence = " ".join(self._word() for _ in range(12)) + (". " if length % 5 else ".\n\n")
            pieces.append(sentence)
            length += len(sentence)
        return "".join(pieces)[:characters]

    def questions(self) -> Iterator[str]:
        """Questions of two to six words."""
        for _ in range(QUESTIONS):
            yield " ".join(self._word() for _ in range(self._random.randint(2, 6)))


class Tool:
    """A Search Tool over HTTP."""

    def __init__(self, http: httpx2.Client, tool_id: int) -> None:
        self._http, self._id = http, tool_id

    def post(self, route: str, **body: object) -> dict[str, Any]:
        """Returns the answer of a route of the tool; raises for any but a 200."""
        response = self._http.post(f"/api/v1/tools/{self._id}/{route}", json=body)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    def chunks(self) -> tuple[str, int]:
        """Returns the status of the index and how many chunks answer."""
        state = self._http.get(f"/api/v1/tools/{self._id}/search-index").json()
        return state["status"], state["indexed_chunks_count"]


def _fill(stack: Stack, words: Words, chunks: int) -> Tool:
    http = httpx2.Client(base_url=stack.base_url, timeout=60)
    secret = {"x-internal-secret": stack.internal_secret}
    project = http.post("/api/v1/projects", headers=secret, json={"name": "bench"}).json()
    http.headers["authorization"] = f"Bearer {project['api_key']}"
    count = max(1, chunks * CHARS_PER_CHUNK // STRING_CHARS)
    table = http.post(
        "/api/v1/tables", json={"project_id": project["id"], "name": "bench", "data": {}}
    ).json()
    document = json.dumps({f"text {n}": words.text(STRING_CHARS) for n in range(count)})
    database = Database(DatabaseUrl.parse(stack.endpoints.database_url))
    with database.transaction() as tx:  # more than a request may carry
        statement = "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id"
        tx.run(statement, data=document, id=table["id"])
    database.close()
    made = http.post(
        "/api/v1/tools/search",
        json={
            "project_id": project["id"],
            "table_id": table["id"],
            "name": "bench",
            "search_config": {"chunk_size": CHUNK_SIZE, "chunk_overlap": 0},
        },
    ).json()
    tool = Tool(http, made["tool_id"])
    began = time.perf_counter()
    while (found := tool.chunks())[0] != "ready":
        time.sleep(0.5)
    seconds = time.perf_counter() - began
    print(f"indexed {found[1]} chunks in {seconds:.0f} s: {found[1] / seconds:,.0f} a second")
    return tool


def _measure(tool: Tool, words: Words) -> None:
    print(f"{'milliseconds':16} {'p50':>7} {'p95':>7} {'p99':>7}")
    tool.post("search", query="warm up")
    _print("search", [_timed(partial(tool.post, "search", query=q)) for q in words.questions()])
    _print("retrieve", [_timed(partial(tool.post, "retrieve", query=q)) for q in words.questions()])
    told = [tool.post("search/explain", query=q)["explain"] for q in words.questions()]
    spent = [each["milliseconds"] for each in told]
    for stage in ("embed", "turbopuffer", "read", "rank"):
        _print(f"  {stage}", [each[stage] for each in spent])
    _print("  ours", [each["total"] - each["turbopuffer"] - each["embed"] for each in spent])


def _timed(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1000


def _print(name: str, milliseconds: list[float]) -> None:
    cuts = quantiles(milliseconds, n=100)
    print(f"{name:14} {cuts[49]:7.1f} {cuts[94]:7.1f} {cuts[98]:7.1f}")


if __name__ == "__main__":
    main()
