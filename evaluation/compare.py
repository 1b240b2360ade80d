"""Two Search Tools of a running deployment on the same judged questions."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from context_search.ranking.measures import (
    DEPTH,
    MEASURES,
    Comparison,
    Measure,
    TextRange,
    Verdict,
    compared,
    score,
)
from evaluation.jsonl import Row, UnreadableError, range_of, read_rows, rows_of, text_of
from evaluation.judged import Question

TIMEOUT_S = 60.0
TRIES = 5
PASSING = (429, 503)
Ask = Callable[[int, str], list[TextRange]]


class NotMeasuredError(Exception):
    """The deployment gave no answer that says something about a configuration."""


class Deployment:
    """Asks Search Tools over HTTP with a project's key; what will pass is asked again."""

    def __init__(self, url: str, key: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._sleep = sleep
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_S)

    def __call__(self, tool_id: int, question: str) -> list[TextRange]:
        """Returns where the hits of a tool stand. Raises NotMeasuredError."""
        reply = self._reply(tool_id, {"query": question, "top_k": DEPTH})
        try:
            spans, degraded = _answer(reply.json())
        except (KeyError, TypeError, ValueError) as error:
            raise NotMeasuredError(f"this is no answer of a Search Tool: {error!r}") from error
        if degraded:
            raise NotMeasuredError(f"tool {tool_id} answered degraded: {', '.join(degraded)}")
        return spans

    def _reply(self, tool_id: int, body: dict[str, object]) -> httpx.Response:
        for _ in range(TRIES):
            try:
                reply = self._http.post(f"/api/v1/tools/{tool_id}/search", json=body)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise NotMeasuredError(f"no answer: {type(error).__name__}") from None
            if reply.status_code not in PASSING:
                break
            self._sleep(float(reply.headers.get("Retry-After", 1)))
        if reply.status_code != httpx.codes.OK:
            raise NotMeasuredError(f"tool {tool_id} answered {reply.status_code}: {reply.text}")
        return reply


def _answer(body: Any) -> tuple[list[TextRange], list[str]]:
    chunks = [result["chunk"] for result in body["results"]]
    spans = [TextRange(c["json_pointer"], c["char_start"], c["char_end"]) for c in chunks]
    return spans, list(body["retrieval"]["degraded"])


@dataclass(frozen=True, slots=True)
class Outcome:
    """Both tools by measure, over so many questions, and the measure that decides."""

    questions: int
    by_measure: Mapping[Measure, Comparison]
    measure: Measure

    @property
    def verdict(self) -> Verdict:
        """What the deciding measure says of the candidate."""
        return self.by_measure[self.measure].verdict

    def lines(self) -> Iterator[str]:
        """Yields a table and the verdict."""
        yield f"{self.questions} questions"
        yield f"{'':12}{'base':>8}{'candidate':>11}   difference [95 %]"
        for name, both in self.by_measure.items():
            found = both.difference
            difference = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
            yield f"{name:12}{both.base:8.3f}{both.candidate:11.3f}   {difference}"
        yield f"candidate is {self.verdict} in {self.measure}"


def read_judged(path: Path) -> list[Question]:
    """Returns the questions of a JSONL file.

    A line is ``{"query", "relevant": [{"json_pointer", "char_start", "char_end"}]}``, with absolute
    pointers; one that nothing answers is left out. Raises UnreadableError with the number of a
    line that is of another shape.
    """
    read = read_rows(path, _question)
    questions = [each for each in read if each.gold]
    if not questions:
        raise UnreadableError(f"{path} has no questions")
    if left := len(read) - len(questions):
        print(f"{left} without a range left out", file=sys.stderr)
    return questions


def _question(row: Row) -> Question:
    gold = tuple(TextRange(_pointer_of(each), *range_of(each)) for each in rows_of(row, "relevant"))
    query = text_of(row, "query")
    if not query.strip():
        raise ValueError("query is blank")
    return Question(query, gold)


def _pointer_of(row: Row) -> str:
    pointer = text_of(row, "json_pointer")
    if not re.fullmatch(r"(?:/(?:[^~/]|~[01])*)*", pointer):
        raise ValueError(f"json_pointer {pointer!r} is no JSON pointer: it begins with /")
    return pointer


def compare(
    ask: Ask, judged: Sequence[Question], base: int, candidate: int, *, measure: str = "ndcg@10"
) -> Outcome:
    """Asks two tools, named by their ids, every question. Raises NotMeasuredError."""
    deciding = next((each for each in MEASURES if each == measure), None)
    if deciding is None:
        raise NotMeasuredError(f"the measure is one of {', '.join(MEASURES)}")
    before, after = (
        [score(question.gold, ask(tool_id, question.text)) for question in judged]
        for tool_id in (base, candidate)
    )
    return Outcome(len(judged), compared(before, after), deciding)
