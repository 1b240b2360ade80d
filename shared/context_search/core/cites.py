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
POINTER_BYTES = 8
DIGEST_BYTES = 6
_VERSION = 1
_LARGEST = 2**63 - 1
CiteStatus = Literal["current", "moved", "changed", "gone"]
"""What became of cited text: it stands there; it stands at another place of its string; it does
not stand in its string any more; the string is not there, or not seen, any more."""


@dataclass(frozen=True, slots=True)
class Cite:
    """Characters ``start`` to ``end`` of a string, as they were at a revision of its table.

    It is an address and no credential: who uses it must be allowed to see the string.
    ``pointer``: the first POINTER_BYTES of the sha256 of the string's pointer. ``digest``: the
    first DIGEST_BYTES of the sha256 of the text; empty where the reader may not see the text whole,
    because a digest would confirm guesses.
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

        ``text`` None: without its digest.
        """
        end = min(end, start + MAX_CITED_CHARS)
        digest = b"" if text is None else digest_of(text[:MAX_CITED_CHARS])
        pointer = pointer_sha256(json_pointer)[:POINTER_BYTES]
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
        if length > MAX_CITED_CHARS:
            raise _no_cite()
        cite = cls(table_id, pointer, revision, start, start + length, raw[at:])
        if len(cite.digest) not in (0, DIGEST_BYTES) or str(cite) != text:
            raise _no_cite()
        return cite

    def beginning(self, text: str) -> Cite:
        """Returns the cite of a text with which the cited one begins; it gets no digest anew."""
        digest = digest_of(text) if self.digest else b""
        return replace(self, end=self.start + len(text), digest=digest)

    @property
    def bare(self) -> Cite:
        """The same without its digest, for readers that may not see the text whole."""
        return replace(self, digest=b"")

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
