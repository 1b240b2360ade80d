"""Secrets that callers present: made once, shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

_PREFIX_LENGTH = 11


@dataclass(frozen=True, slots=True)
class NewKey:
    """256 random bits: ``text`` goes to the caller, ``prefix`` and ``hash`` are kept."""

    text: str = field(repr=False)

    @property
    def prefix(self) -> str:
        """The first characters, enough to tell keys apart in a list."""
        return self.text[:_PREFIX_LENGTH]

    @property
    def hash(self) -> bytes:
        """What is stored instead of the key."""
        return key_hash(self.text)


def new_key() -> NewKey:
    """Returns a key that nobody has seen before."""
    return NewKey("cs_" + secrets.token_urlsafe(32))


def key_hash(text: str) -> bytes:
    """Returns sha256 of a key: random keys of 256 bits need no salt and no slow hash."""
    return hashlib.sha256(text.encode()).digest()
