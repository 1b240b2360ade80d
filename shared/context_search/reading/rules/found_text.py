"""What a search for exact text has found: a page of matches, and the cursor of the next one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

from context_search.core.cites import POINTER_BYTES, Cite
from context_search.core.errors import CursorInvalidError
from context_search.core.ids import pointer_sha256

MAX_CURSOR_CHARS = 64
MAX_TEXT_CHARS = 1_000
"""Maximum length of a text or a pattern that is looked for."""
DEFAULT_CONTEXT_CHARS, MAX_CONTEXT_CHARS = 80, 500
DEFAULT_LIMIT, MAX_LIMIT = 20, 100
MAX_MATCH_CHARS = 500
"""Maximum number of characters of a match that are shown."""
MAX_ID = 2**63 - 1
_VERSION = 1
_DIGEST_BYTES = 4
_CURSOR = struct.Struct(f">BQ{POINTER_BYTES}sII{_DIGEST_BYTES}s")
_BEGINNING = bytes(POINTER_BYTES)
_MOST_COUNTED = 2**32 - 1


@dataclass(frozen=True, slots=True)
class WantedMatches:
    """A ``text``, or a ``pattern`` of RE2, to look for; exactly one of them is given.

    ``collection`` None: in everything that the caller sees. With ``whole_word`` a match begins and
    ends at the edges of words, also one of a pattern. ``context_chars`` are shown on both sides.
    """

    text: str | None = None
    pattern: str | None = None
    collection: str | None = None
    case_sensitive: bool = False
    whole_word: bool = False
    context_chars: int = DEFAULT_CONTEXT_CHARS
    limit: int = DEFAULT_LIMIT
    cursor: str | None = None

    @property
    def digest(self) -> bytes:
        """Returns what stands for the question in a cursor; pages may have other sizes."""
        question = [
            self.text, self.pattern, self.collection, self.case_sensitive, self.whole_word
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(question).encode()).digest()[:_DIGEST_BYTES]


@dataclass(frozen=True, slots=True)
class FindCursor:
    """Where a search goes on: at ``offset`` of a string, with so many matches ``before``.

    ``pointer``: the first bytes of the sha256 of the string's pointer; of no string where the
    table begins. ``question``: the digest of what is looked for.
    """

    table_id: int
    pointer: bytes
    offset: int
    before: int
    question: bytes

    @classmethod
    def at(
        cls, table_id: int, json_pointer: str | None, offset: int, before: int, question: bytes
    ) -> FindCursor:
        """Returns the cursor of a place; ``json_pointer`` None: where the table begins."""
        pointer = _BEGINNING if json_pointer is None else _key(json_pointer)
        return cls(table_id, pointer, offset, min(before, _MOST_COUNTED), question)

    def __str__(self) -> str:
        packed = _CURSOR.pack(
            _VERSION, self.table_id, self.pointer, self.offset, self.before, self.question
        )
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    @classmethod
    def parse(cls, text: str, question: bytes) -> FindCursor:
        """Returns the cursor of a text. Raises CursorInvalidError: none, or another question's."""
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            version, *parts = _CURSOR.unpack(raw)
        except (ValueError, binascii.Error, struct.error):
            raise cursor_invalid() from None
        cursor = cls(*parts)
        is_ours = cursor.table_id <= MAX_ID and str(cursor) == text
        if version != _VERSION or cursor.question != question or not is_ours:
            raise cursor_invalid()
        return cursor

    @property
    def is_beginning(self) -> bool:
        """Whether it stands before all strings of its table."""
        return self.pointer == _BEGINNING

    def is_at(self, json_pointer: str) -> bool:
        """Says whether it stands in the string at a pointer."""
        return _key(json_pointer) == self.pointer


def cursor_invalid() -> CursorInvalidError:
    """Returns the error of a cursor that leads nowhere."""
    return CursorInvalidError(
        "cursor: it is of another question, or its string is no longer there; begin again"
        " without a cursor"
    )


def _key(json_pointer: str) -> bytes:
    return pointer_sha256(json_pointer)[:POINTER_BYTES]


@dataclass(frozen=True, slots=True)
class FoundMatch:
    """A match, ``start`` to ``end`` of the string at a pointer, with some text around it.

    ``match`` has at most MAX_MATCH_CHARS. ``collection``: the first that shows the string; None
    where only project search does.
    """

    collection: str | None
    table_id: int
    json_pointer: str
    start: int
    end: int
    before: str
    match: str
    after: str
    cite: Cite


@dataclass(frozen=True, slots=True)
class FoundText:
    """A page of matches in document order.

    ``before`` counts those of earlier pages, ``counted`` all that were found so far with those of
    this page and behind it. ``is_all``: there are no others. ``cursor`` None: this is the last
    page. ``left_out`` counts strings that took too long and were not looked through to their ends,
    ``unread`` tables whose documents are too large to be read while they are indexed.
    """

    matches: Sequence[FoundMatch]
    before: int
    counted: int
    is_all: bool
    cursor: FindCursor | None
    question: bytes
    left_out: int = 0
    unread: int = 0

    def first(self, count: int) -> FoundText:
        """Returns the first matches of the page, and the cursor that goes on behind them."""
        if count >= len(self.matches):
            return self
        next_one = self.matches[count]
        cursor = FindCursor.at(
            next_one.table_id,
            next_one.json_pointer,
            next_one.start,
            self.before + count,
            self.question,
        )
        return replace(self, matches=self.matches[:count], cursor=cursor)
