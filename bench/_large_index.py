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

from bench._project import Project, known_project, new_project, new_table
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
def _sentences(number: int, characters: int = STRING_CHARS) -> list[list[str]]:
    language, chance = _languages()[number % 2], random.Random(number)
    sentences: list[list[str]] = []
    length = 0
    while length < characters:
        sentences.append(language.sentence(chance))
        length += sum(map(len, sentences[-1])) + len(language.between) * _SENTENCE_WORDS
    return sentences


def text_of(number: int, characters: int = STRING_CHARS) -> str:
    """Returns a string of about so many characters: English for even numbers, else Chinese."""
    language = _languages()[number % 2]
    lines = [
        language.between.join(words) + language.stop for words in _sentences(number, characters)
    ]
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
    """What was made: a project, and its tools by name."""

    project: Project
    tools: Mapping[str, int]


def large_index(stack: Stack, state: State, chunks: int) -> LargeIndex:
    """Returns the index that the folder has, or makes it: 8 to 20 minutes for 200,000 chunks.

    Raises ValueError when the folder has one of another size, BenchError when nothing goes on.
    """
    kept = state.root / "bench.json"
    known = read_json(kept)
    if known is None:
        known = _make(stack, chunks)
        write_private(kept, known)
    if known["chunks"] != chunks:
        raise ValueError(f"{state.root} has {known['chunks']} chunks")
    return LargeIndex(known_project(stack, known["project_id"], known["key"]), known["tools"])


def _make(stack: Stack, chunks: int) -> dict[str, Any]:
    project, key = new_project(stack)
    strings = max(2, chunks * CHARS_PER_CHUNK // STRING_CHARS)
    document = json.dumps({f"text {n}": text_of(n) for n in range(strings)}, ensure_ascii=False)
    table_id = new_table(stack, project, document)
    tools = {}
    for name, config in TOOLS.items():
        body = {"project_id": project.project_id, "table_id": table_id, "search_config": config}
        tools[name] = project.post("/api/v1/tools/search", name=name, **body)["tool_id"]
        if name in _INDEXES:
            _report(name, project, f"/api/v1/tools/{tools[name]}/search-index")
    of_project = f"/api/v1/projects/{project.project_id}/search-index"
    project.post(of_project)
    _report("project", project, of_project)
    return {"chunks": chunks, "project_id": project.project_id, "key": key, "tools": tools}


def _report(name: str, project: Project, route: str) -> None:
    began = time.perf_counter()
    chunks = project.wait_until_ready(route)
    seconds = time.perf_counter() - began
    print(f"{name}: {chunks:,} chunks in {seconds:.0f} s, {chunks / seconds:,.0f} a second")
