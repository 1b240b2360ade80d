"""Judged sets: documents, questions, and where the answers stand.

A set is a folder with ``corpus.jsonl`` (``{"doc_id", "document"}`` a line) and ``queries.jsonl``
(``{"text", "lang", "relevant": [{"doc_id", "json_pointer", "char_start", "char_end"}]}``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from context_search.core.errors import InvalidPointerError
from context_search.core.json_pointer import escape, resolve, split
from context_search.ranking.measures import TextRange
from evaluation.jsonl import Row, UnreadableError, range_of, read_rows, rows_of, text_of

SHIPPED = Path(__file__).parent / "sets"
QUERIES = "queries.jsonl"
SEED = 7
Documents = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and every span that answers it; pointers start at the set's document."""

    text: str
    gold: tuple[TextRange, ...]


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """``document`` holds all documents of the set, each under its id.

    ``unjudged`` counts questions without a relevant range; nothing can be measured with them.
    """

    name: str
    language: str
    document: Documents
    questions: tuple[Question, ...]
    unjudged: int = 0

    def sample(self, size: int | None) -> JudgedSet:
        """Returns the set with so many of its questions, always the same; None: all of them."""
        if size is None or size >= len(self.questions):
            return self
        chosen = sorted(random.Random(SEED).sample(range(len(self.questions)), size))  # noqa: S311
        return replace(self, questions=tuple(self.questions[each] for each in chosen))


def read_sets(folder: Path, queries: str = QUERIES) -> list[JudgedSet]:
    """Returns the sets below a folder, by name, or the one that it is. Raises UnreadableError.

    ``queries`` names the file with the questions; folders without one are left out.
    """
    paths = sorted(folder.glob(f"*/{queries}")) or list(folder.glob(queries))
    if not paths:
        raise UnreadableError(f"no */{queries} in {folder}")
    return [read_set(path.parent, queries) for path in paths]


def read_set(folder: Path, queries: str = QUERIES) -> JudgedSet:
    """Returns one set. Raises UnreadableError."""
    documents = _documents(folder / "corpus.jsonl")
    path = folder / queries
    rows = read_rows(path, lambda row: (row.get("lang"), _question(row, documents)))
    questions = tuple(question for _, question in rows if question.gold)
    if not questions:
        raise UnreadableError(f"{path} has no question with a relevant range")
    name = folder.resolve().name + ("" if queries == QUERIES else f" {Path(queries).stem}")
    language = next((lang for lang, _ in rows if isinstance(lang, str)), "no language")
    return JudgedSet(name, language, documents, questions, len(rows) - len(questions))


def _documents(path: Path) -> dict[str, object]:
    documents: dict[str, object] = {}
    for doc_id, document in read_rows(path, _document):
        if doc_id in documents:
            raise UnreadableError(f"{path}: doc_id {doc_id!r} is there twice")
        documents[doc_id] = document
    return documents


def _document(row: Row) -> tuple[str, object]:
    if "document" not in row:
        raise ValueError("document is missing")
    return text_of(row, "doc_id"), row["document"]


def _question(row: Row, documents: Documents) -> Question:
    spans = tuple(_span(each, documents) for each in rows_of(row, "relevant"))
    return Question(text_of(row, "text"), spans)


def _span(row: Row, documents: Documents) -> TextRange:
    doc_id, pointer = text_of(row, "doc_id"), text_of(row, "json_pointer")
    start, end = range_of(row)
    try:
        text = resolve(documents[doc_id], split(pointer))
    except (KeyError, InvalidPointerError) as error:
        raise ValueError(f"the corpus has no {pointer!r} in {doc_id!r}: {error}") from error
    if not isinstance(text, str) or end > len(text):
        raise ValueError(f"{pointer!r} in {doc_id!r} is no text of {end} characters")
    return TextRange(f"/{escape(doc_id)}{pointer}", start, end)
