"""A request that comes again with the same ``Idempotency-Key`` is answered and not repeated.

After draft-ietf-httpapi-idempotency-key-header. The key belongs to the caller's credentials, and
only who got an answer can have it again: what is stored is useless without the caller's own secret,
a key of 256 random bits of which the database holds a hash. Cipher: AES-256-GCM with a random nonce
of 96 bits; each key seals one answer, or the same request's again.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from context_search.access.rules.idempotency_keys import RequestKey, SavedResponse
from context_search.core.errors import (
    DatabaseUnavailableError,
    IdempotencyKeyInUseError,
    IdempotencyKeyReusedError,
    TooManyIdempotencyKeysError,
)
from context_search.store import Store

KEPT_S = 86_400.0
LEASE_S = 60.0
"""Lease of a request in seconds: longer than any request may take (29 s)."""
MAX_KEYS = 10_000
MAX_ANSWER_BYTES = 1_000_000
_NONCE_BYTES = 12  # NIST SP 800-38D, 8.2.2


@dataclass(frozen=True, slots=True)
class IdempotentRequest:
    """A request with its key: who sent it, by which secret, and what it asks for."""

    project_id: int
    secret: str = field(repr=False)
    key: str = field(repr=False)
    route: str
    body: bytes = field(repr=False)

    @property
    def request_key(self) -> RequestKey:
        """Returns the key of the request's row. Only the holder of the secret can compute it."""
        return RequestKey(self.project_id, sealing_key(self.secret, f"found by {self.key}"))

    @property
    def sealing_key(self) -> bytes:
        """Returns the key that the answer is sealed with."""
        return sealing_key(self.secret, f"sealed for {self.key}")

    @property
    def hash(self) -> bytes:
        """Returns the hash of the route and the body, byte for byte."""
        return hashlib.sha256(self.route.encode() + b"\n" + self.body).digest()


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Requests that may come again: each is executed once.

    Answers are kept for 24 hours, sealed. An error is not kept: the same request may be sent
    again. If the function dies in the middle, the key is free again after a minute.
    """

    store: Store

    def answer(
        self, request: IdempotentRequest, execute: Callable[[], bytes]
    ) -> tuple[bytes, bool]:
        """Executes a request or returns its kept answer. The flag says whether it was kept.

        Raises what ``execute`` raises; IdempotencyKeyReusedError when the key came with another
        request, IdempotencyKeyInUseError while that is being executed, and
        TooManyIdempotencyKeysError over 10,000 keys in 24 hours.
        """
        key, holder = request.request_key, secrets.token_hex(8)
        earlier = self._claim(request, key, holder)
        if earlier is not None:
            return _replayed(request, earlier), True
        try:
            answer = execute()
        except BaseException:
            self._release(key, holder)
            raise
        if len(answer) > MAX_ANSWER_BYTES:
            self._release(key, holder)
        else:
            self._keep(key, holder, seal(answer, request.sealing_key))
        return answer, False

    def _claim(
        self, request: IdempotentRequest, key: RequestKey, holder: str
    ) -> SavedResponse | None:
        with self.store.for_project(key.project_id) as work:
            earlier = work.idempotency_keys.claim(
                key, request_hash=request.hash, holder=holder, lease_s=LEASE_S, kept_s=KEPT_S
            )
            is_full = work.idempotency_keys.count(key.project_id, at_most=MAX_KEYS + 1) > MAX_KEYS
            if earlier is None and is_full:
                raise TooManyIdempotencyKeysError(
                    f"over {MAX_KEYS} idempotency keys in 24 hours", retry_after_s=3_600
                )
            return earlier

    def _keep(self, key: RequestKey, holder: str, sealed: bytes) -> None:
        with suppress(DatabaseUnavailableError), self.store.for_project(key.project_id) as work:
            work.idempotency_keys.keep(key, holder=holder, answer=sealed)

    def _release(self, key: RequestKey, holder: str) -> None:
        with suppress(DatabaseUnavailableError), self.store.for_project(key.project_id) as work:
            work.idempotency_keys.release(key, holder=holder)


def _replayed(request: IdempotentRequest, earlier: SavedResponse) -> bytes:
    if earlier.request_hash != request.hash:
        raise IdempotencyKeyReusedError("this Idempotency-Key came with another request")
    if earlier.answer is None:
        raise IdempotencyKeyInUseError("this request is being executed", retry_after_s=1)
    try:
        return unseal(earlier.answer, request.sealing_key)
    except BrokenSealError:
        # Kept by a release that sealed in another way, or changed by somebody: it is no answer.
        raise IdempotencyKeyReusedError("the answer to this Idempotency-Key is lost") from None


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
