"""Documents in sections, so that a comparison reads what changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """Members of the object at ``pointer``, or elements of the array there from ``first`` on.

    ``text``: JSON of them, as an object or an array. Each value of a document is in one section,
    or is an object or array that is made of several.
    ``digest``: sha256 of all of it. No two sections of a document have the same.
    """

    pointer: str
    first: int
    text: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class ComparedSection:
    """What a generation has of a section.

    ``keys``: of each of its nodes the first ``KEY_BYTES`` of ``pointer_sha256``, one after the
    other. ``pointer_chars``: the length of their pointers, one for each chunk. ``short_strings``:
    how many of its strings are too short, for each scope of the comparison.
    """

    digest: bytes
    keys: bytes
    pointer_chars: int
    short_strings: Sequence[int]


@dataclass(frozen=True, slots=True)
class SectionChanges:
    """What a document is made of that a generation was not compared with, and what is gone.

    ``basis``: which comparison this follows, see ``Comparisons.basis``; None: all sections are new.
    ``kept_pointer_chars`` and ``kept_short_strings``: the sums of the sections that stay.
    """

    revision: int
    scopes: Sequence[str]
    basis: bytes | None
    new: Sequence[Section]
    gone: Sequence[ComparedSection]
    kept_pointer_chars: int
    kept_short_strings: Sequence[int]
