"""Finding exact text over HTTP: bodies, answers, routes."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from pydantic import Field, model_validator

from context_search.mcp.jsonrpc import to_bytes
from context_search.reading.routes.read import Collection
from context_search.reading.rules.found_text import (
    DEFAULT_CONTEXT_CHARS,
    DEFAULT_LIMIT,
    MAX_CONTEXT_CHARS,
    MAX_CURSOR_CHARS,
    MAX_LIMIT,
    MAX_MATCH_CHARS,
    MAX_TEXT_CHARS,
    FoundMatch,
    FoundText,
    WantedMatches,
)
from context_search.web.callers import MaySearch, part
from context_search.web.fields import Absent, AnswerModel, Body, Count, KnownId, example
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["reading"])

MAX_ANSWER_BYTES = 2_000_000
MAX_POINTER_CHARS = 5_000
"""Maximum length of a pointer that stands in an answer; the cite leads to the others, too."""
_Sought = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARS)]


class FindTextBody(Body):
    """``POST /api/v1/find-text``: ``text``, or ``pattern``."""

    model_config = example(text="counted comets", limit=5)
    text: Annotated[_Sought | None, Field(description="Exact text to find.")] = None
    pattern: Annotated[
        _Sought | None,
        Field(
            description="Regular expression to find instead, as RE2 has them; ^ and $ are the "
            "ends of lines."
        ),
    ] = None
    collection: Annotated[
        Collection | None,
        Field(description="Where to look; in all collections if left out."),
    ] = None
    case_sensitive: Annotated[bool, Field(description="Whether A and a are different.")] = False
    whole_word: Annotated[
        bool, Field(description="Whether a match begins and ends at the edges of words.")
    ] = False
    context_chars: Annotated[
        int,
        Field(
            ge=0, le=MAX_CONTEXT_CHARS, description="How many characters to show on either side."
        ),
    ] = DEFAULT_CONTEXT_CHARS
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="How many matches to return.")] = (
        DEFAULT_LIMIT
    )
    cursor: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=MAX_CURSOR_CHARS,
            description="Where to go on, as the last result has it; all but limit and "
            "context_chars stay the same.",
        ),
    ] = None

    @model_validator(mode="after")
    def _says_what(self) -> FindTextBody:
        if (self.text is None) == (self.pattern is None):
            raise ValueError("give text or pattern, and not both")
        return self

    def wanted(self) -> WantedMatches:
        """Returns what is to be found."""
        return WantedMatches(**dict(self))


class FoundMatchAnswer(AnswerModel):
    """A match, with its place and what stands around it."""

    collection: Absent[str] = None
    table_id: KnownId
    pointer: Annotated[
        Absent[str],
        Field(description=f"Where its string stands. Not over {MAX_POINTER_CHARS} characters."),
    ] = None
    start: Count
    end: Annotated[Count, Field(description="One past its last character in the string.")]
    before: str
    match: Annotated[str, Field(description=f"Its first {MAX_MATCH_CHARS} characters.")]
    after: str
    cite: Annotated[str, Field(description="Address of the match, for read.")]

    @classmethod
    def of(cls, match: FoundMatch) -> FoundMatchAnswer:
        """Returns a match as it is shown."""
        pointer = match.json_pointer
        is_short = len(pointer) <= MAX_POINTER_CHARS
        return cls.about(match, pointer=pointer if is_short else None, cite=str(match.cite))


class FindTextAnswer(AnswerModel):
    """A page of matches in the order of the documents."""

    matches: list[FoundMatchAnswer]
    total: Annotated[
        Absent[Count], Field(description="How many there are, where all texts were looked at.")
    ] = None
    at_least: Annotated[
        Absent[Count], Field(description="How many were found, where not all were looked at.")
    ] = None
    cursor: Annotated[Absent[str], Field(description="Goes on; absent at the end.")] = None
    more: Annotated[Absent[str], Field(description="What is missing, and how to go on.")] = None

    @classmethod
    def of(cls, found: FoundText, *, max_bytes: int = MAX_ANSWER_BYTES) -> FindTextAnswer:
        """Returns as many matches of a page as fit, and the cursor behind them; at least one."""
        count = bisect_left(
            range(1, len(found.matches)),
            True,
            key=lambda number: _size(found.first(number + 1)) > max_bytes,
        )
        return cls._of(found.first(count + 1))

    @classmethod
    def _of(cls, found: FoundText) -> FindTextAnswer:
        return cls(
            matches=[FoundMatchAnswer.of(match) for match in found.matches],
            total=found.counted if found.is_all else None,
            at_least=None if found.is_all else found.counted,
            cursor=None if found.cursor is None else str(found.cursor),
            more=_more(found),
        )


def _size(found: FoundText) -> int:
    return len(to_bytes(FindTextAnswer._of(found).model_dump(mode="json")))


def _more(found: FoundText) -> str | None:
    said = []
    if found.cursor is not None:
        known = f"{found.counted}" if found.is_all else f"at least {found.counted}"
        shown = f"Matches {found.before + 1} to {found.before + len(found.matches)} of {known}."
        said.append(shown if found.matches else "No match yet; not all texts were looked at.")
        said.append("The same call with this cursor goes on.")
    if found.left_out:
        said.append(f"Strings that took too long: {found.left_out}; they were not looked through.")
    if found.unread:
        said.append(
            f"Large documents that are being indexed: {found.unread}; they were not looked at."
        )
    return " ".join(said) or None


if TYPE_CHECKING:  # loaded when it is asked for: most requests search
    from context_search.reading.find_text import FindText

    Use = Annotated[FindText, part("reading.find_text")]
else:
    Use = Annotated[object, part("reading.find_text")]


@router.post("/find-text")
async def find_text(body: FindTextBody, caller: MaySearch, use: Use) -> FindTextAnswer:
    """Returns where a text stands, or a pattern matches, in all that a search can return."""
    return FindTextAnswer.of(use.find(caller, body.wanted()))
