"""The border of the system: which JSON documents come in, and which strings in them are nodes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from context_search.core.errors import InvalidDocumentError
from context_search.core.filters import MAX_NUMBER
from context_search.core.json_number import (
    PLAIN_LENGTH,
    Numbers,
    integer,
    padding,
    stored_integer,
)
from context_search.core.json_pointer import ancestors, escape, resolve, split

MAX_DEPTH = 256
_PLAIN = 10**PLAIN_LENGTH
TOO_DEEP = f"the document is over {MAX_DEPTH} levels deep"


@dataclass(frozen=True, slots=True)
class StringNode:
    """One string of a document: its absolute pointer and its text (code points, unchanged)."""

    json_pointer: str
    text: str

    @property
    def content_hash(self) -> str:
        """sha256 (hex) of the UTF-8 of the text."""
        return content_hash(self.text)


def content_hash(text: str) -> str:
    """Returns sha256 (hex) of the UTF-8 of ``text``, the identity of a version of a node."""
    return hashlib.sha256(text.encode()).hexdigest()


def parse_json(body: bytes | bytearray, *, max_depth: int = MAX_DEPTH) -> object:
    """Returns the JSON value of a request body, with the border rules applied.

    UTF-8 (a byte order mark is dropped), at most ``max_depth`` levels, finite numbers of at most
    1,000 digits, no NUL and no lone surrogate in any string or key: what Postgres or an
    embedding provider would refuse later is refused here. Numbers keep their digits. No object has
    a key twice: others would see another value than we do.
    Raises InvalidDocumentError, which never quotes the document, and DocumentTooLargeError when
    its numbers become much longer than they were sent.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidDocumentError("the body is not UTF-8") from None
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=members,
            parse_int=integer,
            parse_float=Numbers().finite,
            parse_constant=refuse_constant,
        )
    except json.JSONDecodeError as error:
        raise InvalidDocumentError(f"the body is not JSON (at character {error.pos})") from None
    except RecursionError:
        raise InvalidDocumentError(TOO_DEEP) from None
    # An escape is the only way in for NUL and lone surrogates.
    _check_values(value, with_strings="\\u" in text, max_depth=max_depth)
    return value


def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Returns the object of these members. Raises InvalidDocumentError for a key that is twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidDocumentError("an object has the same key twice")
    return found


def refuse_constant(_: str) -> float:
    """Raises InvalidDocumentError: Python would read these."""
    raise InvalidDocumentError("NaN and Infinity are not JSON")


def check_depth(document: object) -> None:
    """Raises InvalidDocumentError for a document of over 256 levels.

    Two values within the limit may exceed it when one is put into the other.
    """
    _check_values(document, with_strings=False, max_depth=MAX_DEPTH)


def number_padding(document: object) -> int:
    """Returns by how many characters all numbers of a document exceed their shortest forms."""
    total = 0
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, Decimal):
            total += padding(value)
        elif isinstance(value, int) and not -_PLAIN < value < _PLAIN:
            total += padding(Decimal(value))
    return total


def _check_values(document: object, *, with_strings: bool, max_depth: int) -> None:
    level = [document]
    depth = 0
    while level:
        children: list[object] = []
        for value in level:
            if depth == max_depth and isinstance(value, dict | list):
                raise InvalidDocumentError(TOO_DEEP)
            if isinstance(value, dict):
                children.extend(value.values())
                if with_strings:
                    children.extend(value)
            elif isinstance(value, list):
                children.extend(value)
            elif with_strings and isinstance(value, str):
                check_string(value)
        depth += 1
        level = children


def check_string(text: str) -> None:
    """Raises InvalidDocumentError for a string that Postgres, or an embedding provider, refuses."""
    if "\x00" in text:
        raise InvalidDocumentError("a string holds the character U+0000")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidDocumentError("a string holds a lone surrogate") from None


def parse_exact(text: str) -> object:
    """Returns a document as Postgres holds it, with every digit of its numbers.

    Raises InvalidDocumentError for one that is deeper than Python reads.
    """
    return _parse(text, stored_integer, Decimal)


def parse_stored(text: str) -> object:
    """Returns a document as Postgres holds it, for walking its strings; numbers are dropped.

    Postgres stores numbers that Python refuses to read (over 4,300 digits). The walk does not need
    them. Raises InvalidDocumentError for one that is deeper than Python reads.
    """
    return _parse(text, _no_number, _no_number)


def parse_fielded(text: str) -> object:
    """Returns a document as Postgres holds it, for walking its strings and their fields.

    Of its numbers only those are left that a filter may compare with.
    Raises InvalidDocumentError for one that is deeper than Python reads.
    """
    return _parse(text, _short_number, _short_number)


def _parse(
    text: str, read_integer: Callable[[str], object], read_float: Callable[[str], object]
) -> object:
    try:
        value: object = json.loads(text, parse_int=read_integer, parse_float=read_float)
    except RecursionError:
        raise InvalidDocumentError(TOO_DEEP) from None
    return value


def _no_number(_: str) -> None:
    return None


def _short_number(text: str) -> Decimal | None:
    return Decimal(text) if len(text) <= MAX_NUMBER + len("-.") else None


# ---- RFC 7396 JSON Merge Patch.


def merge_patch(target: object, patch: object) -> object:
    """Returns ``target`` with ``patch`` applied; null removes a member.

    >>> merge_patch({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}})
    {'b': {'c': 2, 'd': 3}}
    """
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


# ---- Which strings of a document are nodes, and where they are.


def string_nodes(document: object, *, scope: str, threshold: int) -> Iterator[StringNode]:
    """Yields the strings of at least ``threshold`` code points in ``scope``, in document order.

    A scope that leads nowhere has no strings.
    """
    for string in strings_at(document, [scope]):
        if len(string.text) >= threshold:
            yield StringNode(string.json_pointer, string.text)


class FoundString(NamedTuple):
    """A string of a document; its pointer is made when it is asked for."""

    text: str
    token: str | int
    around: _Around | None

    @property
    def json_pointer(self) -> str:
        """The absolute pointer."""
        return _pointer(self.around, self.token)


def strings_at(document: object, pointers: Iterable[str]) -> Iterator[FoundString]:
    """Yields the strings at and below some pointers, each once, in document order.

    Walks without recursion. A pointer that leads nowhere has no strings.
    """
    for pointer, root in _outermost(document, pointers):
        waiting: list[tuple[_Around | None, str | int, object]] = [(None, pointer, root)]
        while waiting:
            around, token, value = waiting.pop()
            if isinstance(value, str):
                yield FoundString(value, token, around)
            elif isinstance(value, dict):
                inside = _Around(around, token)
                waiting.extend((inside, escape(key), value[key]) for key in reversed(value))
            elif isinstance(value, list):
                inside = _Around(around, token)
                waiting.extend((inside, at, value[at]) for at in range(len(value) - 1, -1, -1))


def strings_in(document: object) -> Iterator[str]:
    """Yields all strings of a document, in any order; quicker than ``strings_at``, which knows
    where they are.
    """
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _outermost(document: object, pointers: Iterable[str]) -> list[tuple[str, object]]:
    """Returns the values that pointers lead to, in document order; none is inside of another."""
    found: list[tuple[str, object]] = []
    given = set(pointers)
    for pointer in given:
        if given.isdisjoint(ancestors(pointer)[:-1]):
            with suppress(KeyError):
                found.append((pointer, resolve(document, split(pointer))))
    if len(found) > 1:
        known: dict[int, dict[str, int]] = {}
        found.sort(key=lambda each: _order_in(document, split(each[0]), known))
    return found


def _order_in(
    document: object, tokens: Iterable[str], known: dict[int, dict[str, int]]
) -> list[int]:
    """Returns which member or element each token is. ``known``: the keys of objects, by ``id``."""
    order: list[int] = []
    value = document
    for token in tokens:
        if isinstance(value, dict):
            if id(value) not in known:
                known[id(value)] = {key: at for at, key in enumerate(value)}
            order.append(known[id(value)][token])
        else:
            order.append(int(token))
        value = resolve(value, [token])
    return order


@dataclass(slots=True)
class _Around:
    """An object or array with strings below it. Its pointer is made when one of them is yielded.

    A key of 5 MB stands in the pointer of everything below it.
    """

    around: _Around | None
    token: str | int
    made: str | None = None

    def pointer(self) -> str:
        if self.made is None:
            at, tokens = self, []
            while at.made is None and at.around is not None:
                tokens.append(str(at.token))
                at = at.around
            start = str(at.token) if at.made is None else at.made
            self.made = "/".join([start, *reversed(tokens)])
        return self.made


def _pointer(around: _Around | None, token: str | int) -> str:
    return str(token) if around is None else f"{around.pointer()}/{token}"


# ---- A node's text from its chunks, which together are all of it.


def text_of_chunks(chunks: Iterable[tuple[int, str]]) -> str:
    """Returns the text that chunks were cut from, given their starts and texts in order.

    >>> text_of_chunks([(0, "abcd"), (2, "cdef")])
    'abcdef'
    """
    parts: list[str] = []
    length = 0
    for start, text in chunks:
        parts.append(text[length - start :])
        length = start + len(text)
    return "".join(parts)
