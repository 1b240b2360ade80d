"""Answers that only the caller who got them can have again.

What is stored of an answer is useless without the caller's own secret: a key of 256 random bits,
of which the database holds a hash. Cipher: SHAKE-256 of key and nonce as the key stream (FIPS 202:
an extendable-output function; without its input its output cannot be told from random bits), a
nonce of 256 random bits for every answer.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

_NONCE_BYTES = 32


def sealing_key(secret: str, purpose: str) -> bytes:
    """Returns a key that belongs to one secret and one purpose."""
    return hmac.digest(secret.encode(), purpose.encode(), "sha256")


def seal(text: bytes, key: bytes) -> bytes:
    """Returns ``text`` encrypted."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + _xor(text, _stream(key, nonce, len(text)))


def unseal(sealed: bytes, key: bytes) -> bytes:
    """Returns what was sealed with the same key."""
    nonce, text = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    return _xor(text, _stream(key, nonce, len(text)))


def _stream(key: bytes, nonce: bytes, length: int) -> bytes:
    return hashlib.shake_256(key + nonce).digest(length)


def _xor(left: bytes, right: bytes) -> bytes:
    number = int.from_bytes(left, "big") ^ int.from_bytes(right, "big")
    return number.to_bytes(len(left), "big")
