"""What is different between two JSON documents: place by place, in document order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from context_search.core.json_pointer import escape
from context_search.core.json_text import to_json

SHOWN_CHARS = 200
"""Maximum number of characters of a difference that are shown, on each side."""
Kind = Literal["added", "removed", "changed"]


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text: where it begins, how long it is, and its first characters.

    ``start`` and ``chars`` count code points.
    """

    start: int
    chars: int
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that is not what it was; what is around it is.

    ``json_pointer`` leads there in the newer document, of a removed value in the older one.
    ``in_string``: both are strings, and the excerpts are what they have not in common at their
    beginnings and ends; else they are of JSON texts. An added value has no ``before``.
    """

    json_pointer: str
    kind: Kind
    in_string: bool
    before: TextPart | None
    after: TextPart | None


def differences(before: object, after: object, pointer: str = "") -> Iterator[Difference]:
    """Returns the differences of two values, as ``parse_exact`` gives them.

    Members are compared by their names; of arrays, what is between their common head and tail is
    compared element by element. Numbers are equal when their values are.
    Raises RecursionError for documents that are too deep.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _of_objects(before, after, pointer)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _of_arrays(before, after, pointer)
    elif isinstance(before, str) and isinstance(after, str):
        if before != after:
            yield Difference(pointer, "changed", True, *_of_strings(before, after))
    elif not _same(before, after):
        yield Difference(pointer, "changed", False, _json(before), _json(after))


def _of_objects(
    before: dict[str, object], after: dict[str, object], pointer: str
) -> Iterator[Difference]:
    for name, value in before.items():
        here = f"{pointer}/{escape(name)}"
        if name in after:
            yield from differences(value, after[name], here)
        else:
            yield _removed(here, value)
    for name, value in after.items():
        if name not in before:
            yield _added(f"{pointer}/{escape(name)}", value)


def _of_arrays(
    before: Sequence[object], after: Sequence[object], pointer: str
) -> Iterator[Difference]:
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and _same(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shorter - head and _same(before[-1 - tail], after[-1 - tail]):
        tail += 1
    ends = (len(before) - tail, len(after) - tail)
    for at in range(head, min(ends)):
        yield from differences(before[at], after[at], f"{pointer}/{at}")
    for at in range(min(ends), ends[0]):
        yield _removed(f"{pointer}/{at}", before[at])
    for at in range(min(ends), ends[1]):
        yield _added(f"{pointer}/{at}", after[at])


def _same(one: object, other: object) -> bool:
    """Equality of JSON: to Python, true is 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            _same(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _of_strings(before: str, after: str) -> tuple[TextPart, TextPart]:
    head, tail = common_ends(before, after)
    return _between(before, head, tail), _between(after, head, tail)


def _between(text: str, head: int, tail: int) -> TextPart:
    end = len(text) - tail
    return TextPart(head, end - head, text[head : min(end, head + SHOWN_CHARS)])


def _removed(pointer: str, value: object) -> Difference:
    return Difference(pointer, "removed", False, _json(value), None)


def _added(pointer: str, value: object) -> Difference:
    return Difference(pointer, "added", False, None, _json(value))


def _json(value: object) -> TextPart:
    text = to_json(value)
    return TextPart(0, len(text), text[:SHOWN_CHARS])


_MOST_AT_ONCE = 1 << 16


def common_ends(one: str, other: str) -> tuple[int, int]:
    """Returns the lengths of the common head and, of what is behind it, the common tail.

    Together they are at most as long as the shorter text.
    """
    head = _head(one, other)
    most = min(len(one), len(other)) - head
    tail, step = 0, _MOST_AT_ONCE
    while step:
        while tail + step <= most and _end_alike(one, other, tail, tail + step):
            tail += step
        step //= 2
    return head, tail


def _head(one: str, other: str) -> int:
    """Compared in slices: character by character takes minutes for long strings."""
    head, step = 0, _MOST_AT_ONCE
    while step:
        while head + step <= min(len(one), len(other)) and other.startswith(
            one[head : head + step], head
        ):
            head += step
        step //= 2
    return head


def _end_alike(one: str, other: str, done: int, chars: int) -> bool:
    """Whether the last ``chars`` characters are the same, given that the last ``done`` are."""
    return other.startswith(one[len(one) - chars : len(one) - done], len(other) - chars)
