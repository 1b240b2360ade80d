"""Judged sets: questions of an owner with the passages that answer them, as JSON Lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from context_search.core.documents import parse_json
from context_search.core.errors import InvalidInputError, PayloadTooLargeError
from context_search.core.json_pointer import split

MAX_BYTES = 1_000_000
MAX_SETS = 50
"""Maximum number of judged sets of a project."""
MAX_QUESTION = 2_000
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A stored set: its ``lines`` as they were sent, and how many ``questions`` they are."""

    name: str
    version: int
    questions: int
    bytes: int
    updated_at: datetime
    lines: str = field(default="", repr=False)


def count_questions(lines: str) -> int:
    """Returns how many questions a set has, each on a line that is not blank.

    A line is ``{"query": text, "relevant": [{"json_pointer", "char_start", "char_end"}]}``; other
    members are its owner's. Offsets are code points, ends exclusive. Raises InvalidInputError that
    names the line, and PayloadTooLargeError over 1,000,000 bytes.
    """
    if len(lines.encode()) > MAX_BYTES:
        raise PayloadTooLargeError(f"a judged set may have {MAX_BYTES} bytes")
    questions = 0
    # Not splitlines(): JSON may hold U+2028 and its like as they are.
    for number, line in enumerate(lines.split("\n"), start=1):
        if line.strip():
            try:
                _check(parse_json(line.encode(), max_depth=_MAX_DEPTH))
            except InvalidInputError as error:
                raise InvalidInputError(f"line {number}: {error.message}") from error
            questions += 1
    return questions


def _check(row: object) -> None:
    if not isinstance(row, dict):
        raise InvalidInputError("it is no JSON object")
    query, relevant = row.get("query"), row.get("relevant")
    if not isinstance(query, str) or not 1 <= len(query) <= MAX_QUESTION:
        raise InvalidInputError(f"query must be text of 1 to {MAX_QUESTION} characters")
    if not isinstance(relevant, list):
        raise InvalidInputError("relevant must be an array of ranges")
    for each in relevant:
        _check_range(each)


def _check_range(given: object) -> None:
    place = given if isinstance(given, dict) else {}
    pointer, start, end = (place.get(name) for name in ("json_pointer", "char_start", "char_end"))
    if not isinstance(pointer, str):
        raise InvalidInputError("a range needs json_pointer, char_start and char_end")
    split(pointer)
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise InvalidInputError("char_start and char_end are no range of characters")
