"""Judged sets: documents, questions, and where the answers stand.

A set is a folder with ``corpus.jsonl`` (``{"doc_id", "document"}`` a line) and ``queries.jsonl``
(``{"text", "lang", "relevant": [{"doc_id", "json_pointer", "char_start", "char_end"}]}``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from context_search.domain.json_pointer import escape
from evaluation.metrics import Span

SHIPPED = Path(__file__).parent / "sets"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and every span that answers it; pointers start at the set's document."""

    text: str
    gold: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """``document`` holds all documents of the set, each under its id."""

    name: str
    language: str
    document: dict[str, object]
    questions: tuple[Question, ...]


def read_sets(folder: Path) -> list[JudgedSet]:
    """Returns the sets below a folder, by name. Raises FileNotFoundError when it has none."""
    found = [read_set(path.parent) for path in sorted(folder.glob("*/queries.jsonl"))]
    if not found:
        raise FileNotFoundError(f"no */queries.jsonl in {folder}")
    return found


def read_set(folder: Path) -> JudgedSet:
    """Returns one set."""
    documents = {str(row["doc_id"]): row["document"] for row in _rows(folder / "corpus.jsonl")}
    rows = list(_rows(folder / "queries.jsonl"))
    questions = tuple(Question(str(row["text"]), _spans(row)) for row in rows)
    return JudgedSet(folder.name, str(rows[0]["lang"]), documents, questions)


def _spans(row: dict[str, object]) -> tuple[Span, ...]:
    spans = row["relevant"]
    assert isinstance(spans, list)  # noqa: S101 - a broken set should stop everything
    return tuple(_span(each) for each in spans)


def _span(row: dict[str, Any]) -> Span:
    pointer = f"/{escape(row['doc_id'])}{row['json_pointer']}"
    return Span(pointer, row["char_start"], row["char_end"])


def _rows(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)
