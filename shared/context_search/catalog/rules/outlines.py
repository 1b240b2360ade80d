"""Documents of any size, piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

ValueKind = Literal["object", "array", "string", "number", "boolean", "null"]
"""Kind of a JSON value, as ``jsonb_typeof`` has it."""


SHOWN_CHARS = 120
"""Maximum length of the text that is shown of a scalar among others."""


@dataclass(frozen=True, slots=True)
class TextWindow:
    """Characters ``start`` to ``end`` of a string that has ``total``; offsets are code points.

    ``text`` None: the value is no string. ``content_hash``: sha256 of the whole string in UTF-8,
    hexadecimal.
    """

    revision: int
    start: int
    end: int
    total: int
    content_hash: str
    text: str | None


@dataclass(frozen=True, slots=True)
class ChildValue:
    """A member of an object, or an element of an array, without what lies below it.

    ``position``: among its siblings, from 0. ``length``: members, elements, characters of a string,
    or of a number as it is written; None for others. ``size``: bytes as Postgres holds it.
    ``text``: the first SHOWN_CHARS of a scalar; None for others. ``title``: the first SHOWN_CHARS
    of the member ``title`` of an object, else of ``name``; None where neither is a text.
    """

    position: int
    key: str
    kind: ValueKind
    length: int | None
    size: int
    text: str | None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Children:
    """A value of a document, and some of what is directly below it.

    ``next_after``: from which position on there is more; None: there is none.
    """

    revision: int
    kind: ValueKind
    length: int | None
    children: Sequence[ChildValue]
    next_after: int | None

    @classmethod
    def page(
        cls,
        revision: int,
        kind: ValueKind,
        length: int | None,
        found: Sequence[ChildValue],
        *,
        limit: int,
        most_chars: int,
    ) -> Children:
        """Returns the first of what was found: so many, with keys of so many characters together.

        A key that is longer comes alone.
        """
        chars = accumulate(len(child.key) for child in found)
        fitting = sum(upto <= most_chars for upto in chars)
        kept = min(limit, max(fitting, 1))
        behind = found[kept].position if kept < len(found) else None
        return cls(revision, kind, length, found[:kept], behind)


@dataclass(frozen=True, slots=True)
class Beginnings:
    """The beginnings of strings of a table by their pointers, and what it is called."""

    table_name: str
    texts: Mapping[str, str]
