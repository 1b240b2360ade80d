"""Edits of one string: finding them, showing them, and the string that they make."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from context_search.core.json_pointer import resolve, split
from context_search.text.graphemes import GraphemeClusters

SURROUNDING_CHARS = 40
"""Maximum number of characters that are shown before and after a match."""
SHOWN_CHARS = 200
"""Maximum number of characters that are shown of what was found, and of what it becomes."""
_HASHED_CHARS = 1 << 20


@dataclass(frozen=True, slots=True)
class Edit:
    """``found`` stands at ``start`` (code points of the string before any edit), and ``becomes``
    takes its place.
    """

    start: int
    found: str
    becomes: str

    @property
    def end(self) -> int:
        """Where the found text ends, exclusive."""
        return self.start + len(self.found)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many places were left alone, and why; ``too_slow`` counts strings."""

    inside_character: int = 0
    already_equal: int = 0
    empty: int = 0
    too_slow: int = 0

    def __add__(self, other: LeftOut) -> LeftOut:
        return LeftOut(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class StringEdits:
    """What a request changes in one string: edits from left to right, without overlaps."""

    edits: tuple[Edit, ...] = ()
    left_out: LeftOut = LeftOut()

    @property
    def growth(self) -> int:
        """By how many characters the edits that make the string longer do so."""
        return sum(max(0, len(edit.becomes) - len(edit.found)) for edit in self.edits)


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Returns ``text`` with the found parts of edits exchanged, and nothing else.

    The edits are some or all of one ``StringEdits``, in their order. Raises ValueError where an
    edit does not fit: its text is not there, or it overlaps the one before.
    """
    return "".join(_exchanged(text, edits))


def _exchanged(text: str, edits: Sequence[Edit]) -> Iterator[str]:
    done = 0
    for number, edit in enumerate(edits, start=1):
        if edit.start < done or not text.startswith(edit.found, edit.start):
            raise ValueError(f"edit {number} does not fit the text")
        yield text[done : edit.start]
        yield edit.becomes
        done = edit.end
    yield text[done:]


def string_hash(text: str) -> bytes:
    """Returns sha256 of the UTF-8 of a string, without a copy of the whole."""
    hasher = hashlib.sha256()
    for at in range(0, len(text), _HASHED_CHARS):
        hasher.update(text[at : at + _HASHED_CHARS].encode())
    return hasher.digest()


def string_at(document: object, json_pointer: str) -> str | None:
    """Returns the string at a pointer; None when there is none."""
    try:
        value = resolve(document, split(json_pointer))
    except KeyError:
        return None
    return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """An edit with what stands around it; no text of it is cut within a grapheme cluster.

    ``found`` and ``becomes`` are the beginnings of texts of ``found_chars`` and ``becomes_chars``
    characters.
    """

    start: int
    end: int
    before: str
    found: str
    becomes: str
    after: str
    found_chars: int
    becomes_chars: int

    @property
    def is_whole(self) -> bool:
        """Says whether both texts are there to their ends."""
        shown = len(self.found), len(self.becomes)
        return shown == (self.found_chars, self.becomes_chars)


def shown_edits(text: str, edits: Iterable[Edit]) -> Iterator[ShownEdit]:
    """Yields edits of ``text`` as they may be shown."""
    clusters = GraphemeClusters(text)
    for edit in edits:
        first = clusters.around(max(0, edit.start - SURROUNDING_CHARS))[1]
        last = clusters.around(min(len(text), edit.end + SURROUNDING_CHARS))[0]
        yield ShownEdit(
            edit.start,
            edit.end,
            text[first : edit.start],
            _beginning(edit.found),
            _beginning(edit.becomes),
            text[edit.end : last],
            len(edit.found),
            len(edit.becomes),
        )


def _beginning(text: str) -> str:
    if len(text) <= SHOWN_CHARS:
        return text
    # Whether a cluster ends there, a cluster's length of text behind it tells.
    return text[: GraphemeClusters(text[: 2 * SHOWN_CHARS]).around(SHOWN_CHARS)[0]]
