"""Answers that only the caller who got them can have again.

What is stored of an answer is useless without the caller's own secret: a key of 256 random bits,
of which the database holds a hash. Cipher: AES-256-GCM with a random nonce of 96 bits; each key
seals one answer, or the same request's again.
"""

from __future__ import annotations

import hmac
import secrets

_NONCE_BYTES = 12  # NIST SP 800-38D, 8.2.2


class BrokenSealError(ValueError):
    """What is to be opened was sealed with another key or in another way, or was changed."""


def sealing_key(secret: str, purpose: str) -> bytes:
    """Returns a key that belongs to one secret and one purpose."""
    return hmac.digest(secret.encode(), purpose.encode(), "sha256")


def seal(text: bytes, key: bytes) -> bytes:
    """Returns ``text`` encrypted."""
    # Imported here: few requests have an Idempotency-Key.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, text, None)


def unseal(sealed: bytes, key: bytes) -> bytes:
    """Returns what was sealed with the same key. Raises BrokenSealError."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
    except (InvalidTag, ValueError):
        raise BrokenSealError("not sealed with this key") from None
