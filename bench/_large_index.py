"""A large table with its indexes in the local stack: made once, kept in the stack's folder.

Half of its strings are English-like, half Chinese-like: words of a Zipf distribution. Questions
are two to six words in a row from one of the strings.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import httpx2

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.url import DatabaseUrl
from local.stack import Stack
from local.state import State, read_json, write_private

STRING_CHARS = 500_000
CHARS_PER_CHUNK = 250
QUESTION_STRINGS = 4
_CUT = {"chunk_size": 300, "chunk_overlap": 0}
TOOLS: Mapping[str, Mapping[str, object]] = {
    "hybrid": _CUT,
    "keyword": {**_CUT, "strategy": "keyword"},
    "semantic": {**_CUT, "strategy": "semantic"},
    "lean keyword": {**_CUT, "strategy": "keyword", "storage": "lean"},
}
_INDEXES = ("hybrid", "lean keyword")
_SENTENCE_WORDS = 12
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class _Language:
    words: list[str]
    weights: list[float]
    between: str
    stop: str

    def sentence(self, chance: random.Random) -> list[str]:
        return chance.choices(self.words, cum_weights=self.weights, k=_SENTENCE_WORDS)


def _zipf(count: int) -> list[float]:
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


@lru_cache
def _languages() -> tuple[_Language, _Language]:
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    english = ["".join(chance.choices(letters, k=chance.randint(3, 10))) for _ in range(60_000)]
    han = [chr(0x4E00 + 5 * n) for n in range(3_000)]
    chance.shuffle(han)
    # Flatter than words: the commonest character of Chinese is every 25th.
    usual = list(accumulate(1 / (rank + 10) for rank in range(len(han))))
    chinese = [
        "".join(chance.choices(han, cum_weights=usual, k=chance.randint(1, 3)))
        for _ in range(30_000)
    ]
    return (
        _Language(english, _zipf(len(english)), " ", ". "),
        _Language(chinese, _zipf(len(chinese)), "", "。"),
    )


@lru_cache(maxsize=2 * QUESTION_STRINGS)
def _sentences(number: int) -> list[list[str]]:
    language, chance = _languages()[number % 2], random.Random(number)
    sentences: list[list[str]] = []
    length = 0
    while length < STRING_CHARS:
        sentences.append(language.sentence(chance))
        length += sum(map(len, sentences[-1])) + len(language.between) * _SENTENCE_WORDS
    return sentences


def _text(number: int) -> str:
    language = _languages()[number % 2]
    lines = [language.between.join(words) + language.stop for words in _sentences(number)]
    return "\n\n".join("".join(lines[at : at + 6]) for at in range(0, len(lines), 6))


def questions(kind: str, count: int) -> list[str]:
    """Returns questions, English and Chinese in turn; other ones for each ``kind``."""
    chance = random.Random(kind)
    asked = []
    for number in range(count):
        language = _languages()[number % 2]
        words = chance.choice(_sentences(number % 2 + 2 * chance.randrange(QUESTION_STRINGS)))
        first, length = chance.randrange(6), chance.randint(2, 6)
        asked.append(language.between.join(words[first : first + length]))
    return asked


@dataclass(frozen=True, slots=True)
class LargeIndex:
    """What was made: a project, its key, its tools by name."""

    http: httpx2.Client
    project_id: int
    tools: Mapping[str, int]

    def post(self, route: str, **body: object) -> dict[str, Any]:
        """Returns the answer of a route; raises for any but a success."""
        response = self.http.post(route, json=body)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    def wait_until_ready(self, route: str) -> int:
        """Returns how many chunks an index has, once it is ready."""
        while (state := self.http.get(route).json())["status"] != "ready":
            time.sleep(_POLL_S)
        return int(state["indexed_chunks_count"])


def large_index(stack: Stack, state: State, chunks: int) -> LargeIndex:
    """Returns the index that the folder has, or makes it: 8 to 20 minutes for 200,000 chunks.

    Raises ValueError when the folder has one of another size.
    """
    kept = state.root / "bench.json"
    known = read_json(kept)
    if known is None:
        known = _make(stack, chunks)
        write_private(kept, known)
    if known["chunks"] != chunks:
        raise ValueError(f"{state.root} has {known['chunks']} chunks")
    http = httpx2.Client(
        base_url=stack.base_url, timeout=60, headers={"authorization": f"Bearer {known['key']}"}
    )
    return LargeIndex(http, known["project_id"], known["tools"])


def _make(stack: Stack, chunks: int) -> dict[str, Any]:
    http = httpx2.Client(base_url=stack.base_url, timeout=60)
    secret = {"x-internal-secret": stack.internal_secret}
    project = http.post("/api/v1/projects", headers=secret, json={"name": "bench"}).json()
    http.headers["authorization"] = f"Bearer {project['api_key']}"
    made = LargeIndex(http, project["id"], {})
    table = made.post("/api/v1/tables", project_id=project["id"], name="bench", data={})
    _write_document(stack, table["id"], max(2, chunks * CHARS_PER_CHUNK // STRING_CHARS))
    tools = {}
    for name, config in TOOLS.items():
        body = {"project_id": project["id"], "table_id": table["id"], "search_config": config}
        tools[name] = made.post("/api/v1/tools/search", name=name, **body)["tool_id"]
        if name in _INDEXES:
            _report(name, made, f"/api/v1/tools/{tools[name]}/search-index")
    of_project = f"/api/v1/projects/{project['id']}/search-index"
    made.post(of_project)
    _report("project", made, of_project)
    return {
        "chunks": chunks,
        "project_id": project["id"],
        "key": project["api_key"],
        "tools": tools,
    }


def _write_document(stack: Stack, table_id: int, strings: int) -> None:
    document = json.dumps({f"text {n}": _text(n) for n in range(strings)}, ensure_ascii=False)
    database = Database(DatabaseUrl.parse(stack.endpoints.database_url))
    with database.transaction(statement_timeout_ms=0) as tx:  # more than a request may carry
        statement = "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id"
        tx.run(statement, data=document, id=table_id)
    database.close()


def _report(name: str, made: LargeIndex, route: str) -> None:
    began = time.perf_counter()
    chunks = made.wait_until_ready(route)
    seconds = time.perf_counter() - began
    print(f"{name}: {chunks:,} chunks in {seconds:.0f} s, {chunks / seconds:,.0f} a second")
