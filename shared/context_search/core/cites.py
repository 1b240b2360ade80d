"""Cites: short addresses of cited text, which say later whether it still stands there."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, replace
from typing import Literal

from context_search.core.errors import InvalidInputError
from context_search.core.ids import pointer_sha256

MAX_CITE_CHARS = 64
MAX_CITED_CHARS = 50_000
"""Maximum number of characters that a cite is of."""
MAX_START = 10**9
POINTER_BYTES = 8
DIGEST_BYTES = 6
_VERSION = 1
_LARGEST = 2**63 - 1
CiteStatus = Literal["current", "moved", "changed", "gone"]
"""What became of cited text: it stands there; it stands at another place of its string; it no
longer stands in its string; the string is no longer there, or no longer seen."""


@dataclass(frozen=True, slots=True)
class Cite:
    """Characters ``start`` to ``end`` of a string, as they were at a revision of its table.

    It is an address and no credential: who uses it must be allowed to see the string.
    ``pointer``: the first POINTER_BYTES of the sha256 of the string's pointer. ``digest``: the
    first DIGEST_BYTES of the sha256 of the text as the caller saw it: with a placeholder for what
    was hidden, because a digest of that would confirm guesses. Empty where nobody has read it.
    """

    table_id: int
    pointer: bytes
    revision: int
    start: int
    end: int
    digest: bytes

    @classmethod
    def of(
        cls, table_id: int, json_pointer: str, revision: int, start: int, text: str | None, end: int
    ) -> Cite:
        """Returns the cite of a text, or of the first MAX_CITED_CHARS of a longer one.

        ``text``: as the caller sees it. None: without its digest, as where only the beginning of a
        text with placeholders is cited.
        """
        is_cut = end - start > MAX_CITED_CHARS
        if text is not None and is_cut:
            text = text[:MAX_CITED_CHARS] if len(text) == end - start else None
        digest = b"" if text is None else digest_of(text)
        pointer = pointer_sha256(json_pointer)[:POINTER_BYTES]
        end = start + MAX_CITED_CHARS if is_cut else end
        return cls(table_id, pointer, revision, start, end, digest)

    def __str__(self) -> str:
        """Returns its text: 28 to 50 characters of base64url, the same for equal cites."""
        numbers = (self.table_id, self.revision, self.start, self.end - self.start)
        raw = bytes([_VERSION]) + self.pointer + b"".join(map(_varint, numbers)) + self.digest
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

    @classmethod
    def parse(cls, text: str) -> Cite:
        """Returns the cite of a text. Raises InvalidInputError for a text that is none."""
        raw = _decoded(text)
        if raw is None or raw[:1] != bytes([_VERSION]) or len(raw) < 1 + POINTER_BYTES:
            raise _no_cite()
        pointer, at = raw[1 : 1 + POINTER_BYTES], 1 + POINTER_BYTES
        numbers: list[int] = []
        for _ in range(4):
            number, at = _read_varint(raw, at)
            numbers.append(number)
        table_id, revision, start, length = numbers
        if length > MAX_CITED_CHARS or start > MAX_START:
            raise _no_cite()
        cite = cls(table_id, pointer, revision, start, start + length, raw[at:])
        if len(cite.digest) not in (0, DIGEST_BYTES) or str(cite) != text:
            raise _no_cite()
        return cite

    def beginning(self, text: str) -> Cite:
        """Returns the cite of a text with which the cited one begins."""
        text = text[:MAX_CITED_CHARS]
        return replace(self, end=self.start + len(text), digest=digest_of(text))

    @property
    def bare(self) -> Cite:
        """The same without its digest, for readers that may not see the text whole."""
        return replace(self, digest=b"")

    def shown_as(self, text: str) -> Cite:
        """Returns the cite of the text as a caller sees it from whom something in it is hidden."""
        return replace(self, digest=digest_of(text))

    def is_at(self, json_pointer: str) -> bool:
        """Says whether it is of a string at a pointer, as far as a cite tells."""
        return pointer_sha256(json_pointer)[:POINTER_BYTES] == self.pointer

    def is_of(self, text: str) -> bool:
        """Says whether a text is the cited one. False without a digest."""
        return bool(self.digest) and digest_of(text) == self.digest


def digest_of(text: str) -> bytes:
    """Returns what stands for a text in a cite."""
    return hashlib.sha256(text.encode()).digest()[:DIGEST_BYTES]


def _no_cite() -> InvalidInputError:
    return InvalidInputError("this is no cite: give one as a search, or read, has returned it")


def _decoded(text: str) -> bytes | None:
    if not text.isascii() or len(text) > MAX_CITE_CHARS:
        return None
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return None


def _varint(number: int) -> bytes:
    """Returns seven bits a byte, the lowest first; the highest bit of each says that one follows.

    As in https://protobuf.dev/programming-guides/encoding/#varints.
    """
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """Returns a number and where the next one begins. Raises InvalidInputError."""
    number = 0
    for shift in range(0, 63, 7):
        if at >= len(raw):
            break
        number |= (raw[at] & 0x7F) << shift
        at += 1
        if raw[at - 1] < 0x80:
            return min(number, _LARGEST), at
    raise _no_cite()
