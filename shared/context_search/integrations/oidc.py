"""JSON web tokens behind the port ``AccessTokens``, checked by PyJWT.

Only this module imports PyJWT and cryptography (90 ms), so a process that never sees a token does
not. What is checked follows RFC 8725 and RFC 9068, section 4, except for ``typ``
(docs/decisions/0021-tokens-in-the-function.md). The issuer's public keys are found by OpenID
Connect Discovery 1.0 and kept for a while.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt

from context_search.core.callers import is_safe_address
from context_search.core.errors import TokenIssuerUnavailableError, UnauthenticatedError
from context_search.integrations.ports import Clock

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Allowed signatures, all with a key pair: who can check one cannot make one (RFC 8725, 3.1)."""
LEEWAY_S = 30.0
MAX_CHARS = 16_384
FRESH_S = 600.0
"""Seconds after which the keys are read again, so that a withdrawn key becomes invalid."""
KEPT_S = 3600.0
"""Seconds for which known keys stay valid while the issuer does not answer."""
PAUSE_S = 60.0
"""Minimum seconds between two requests to the issuer while there are keys."""
RETRY_S = 5.0
"""Minimum seconds between two requests to the issuer while there are no keys."""
TIMEOUT_S = 3.0
MAX_BYTES = 1_000_000
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "the token has expired"),
    (jwt.ImmatureSignatureError, "the token is not valid yet"),
    (jwt.InvalidAudienceError, "the token is for another audience"),
    (jwt.InvalidIssuerError, "the token is another issuer's"),
    (jwt.MissingRequiredClaimError, "the token lacks iss, aud or exp"),
)


class JwtTokens:
    """The port ``AccessTokens``."""

    def __init__(self, issuer: str, audiences: Sequence[str], clock: Clock) -> None:
        self._issuer = issuer
        self._audiences = audiences
        self._keys = IssuerKeys(issuer, clock)

    def claims_of(self, token: str) -> Mapping[str, object]:
        """The algorithm is one of ours and the key's, never just the token's."""
        if len(token) > MAX_CHARS:
            raise UnauthenticatedError("the token is too long")
        key = self._keys.find(_key_id(token))
        if key is None:
            raise UnauthenticatedError("the token is signed by no known key")
        try:
            claims: dict[str, object] = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                issuer=self._issuer,
                audience=self._audiences,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError as error:
            raise UnauthenticatedError(_reason(error)) from error
        return claims


class IssuerKeys:
    """The signing keys of one issuer by key id; safe for threads, which wait for one another."""

    def __init__(self, issuer: str, clock: Clock) -> None:
        self._issuer = issuer
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = self._next_at = float("-inf")
        self._failure: str | None = None

    def find(self, key_id: str) -> jwt.PyJWK | None:
        """Returns a key, None for an id that is not among the issuer's.

        A key that the issuer has begun to use less than a minute after we last asked is not known
        before that minute is over. Raises TokenIssuerUnavailableError when the last attempt to
        read the keys failed and those that are kept do not have this one.
        """
        with self._lock:
            now = self._clock.monotonic()
            is_wanted = key_id not in self._keys or now - self._read_at > FRESH_S
            if is_wanted and now >= self._next_at:
                self._refresh(now)
            key = self._keys.get(key_id)
            if key is None and self._failure is not None:
                wait_s = max(1.0, self._next_at - now)
                raise TokenIssuerUnavailableError(self._failure, retry_after_s=wait_s)
            return key

    def _refresh(self, now: float) -> None:
        try:
            self._keys = self._read_keys()
            self._read_at, self._failure = now, None
        except TokenIssuerUnavailableError as error:
            self._failure = error.message
            if now - self._read_at > KEPT_S:
                self._keys = {}
        self._next_at = now + (PAUSE_S if self._keys else RETRY_S)

    def _read_keys(self) -> dict[str, jwt.PyJWK]:
        discovery = f"{self._issuer.removesuffix('/')}/.well-known/openid-configuration"
        with httpx2.Client(timeout=TIMEOUT_S) as client:
            metadata = self._read(client, discovery)
            if metadata.get("issuer") != self._issuer:
                raise TokenIssuerUnavailableError("the token issuer calls itself something else")
            address = metadata.get("jwks_uri")
            if not isinstance(address, str) or not self._may_hold_keys(address):
                raise TokenIssuerUnavailableError("the token issuer names no https address of keys")
            return _usable(self._read(client, address))

    def _may_hold_keys(self, address: str) -> bool:
        """Plain http, on this machine, is for an issuer that is there itself."""
        is_plain = urlsplit(address).scheme == "http"
        return is_safe_address(address) and not (is_plain and self._issuer.startswith("https:"))

    def _read(self, client: httpx2.Client, address: str) -> dict[str, Any]:
        """Returns a JSON object. A redirect is a failure: the address is the one that was given."""
        deadline = self._clock.monotonic() + TIMEOUT_S
        body = b""
        try:
            with client.stream("GET", address, headers={"accept": "application/json"}) as response:
                if response.status_code != 200:
                    reason = f"the token issuer answered {response.status_code}"
                    raise TokenIssuerUnavailableError(reason)
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > MAX_BYTES or self._clock.monotonic() > deadline:
                        raise TokenIssuerUnavailableError("the token issuer's answer has no end")
            found = json.loads(body)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise TokenIssuerUnavailableError("the token issuer cannot be reached") from error
        except (ValueError, RecursionError) as error:
            raise TokenIssuerUnavailableError("the token issuer's answer is not JSON") from error
        if not isinstance(found, dict):
            raise TokenIssuerUnavailableError("the token issuer's answer is not a JSON object")
        return found


def _usable(key_set: dict[str, Any]) -> dict[str, jwt.PyJWK]:
    members = key_set.get("keys")
    keys = [_readable(each) for each in members] if isinstance(members, list) else []
    found = {
        key.key_id: key
        for key in keys
        if key is not None
        and isinstance(key.key_id, str)
        and key.public_key_use in (None, "sig")
        and key.algorithm_name in ALGORITHMS
    }
    if not found:
        raise TokenIssuerUnavailableError("the token issuer has no key that is usable")
    return found


def _readable(member: Any) -> jwt.PyJWK | None:
    """Returns a key, None for a member that is none: the others are good all the same.

    PyJWT does so for its own errors, but a member of a wrong type raises whatever it raises.
    """
    try:
        return jwt.PyJWK(member)
    except Exception:  # noqa: BLE001 - of any JSON value
        return None


def _key_id(token: str) -> str:
    """Returns the id of the key that a token names. Refuses a token before a key is fetched."""
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise UnauthenticatedError("the token is malformed") from error
    if header.get("alg") not in ALGORITHMS:
        raise UnauthenticatedError("the token is signed in a way that is not taken")
    if not header.get("kid"):
        raise UnauthenticatedError("the token names no key")
    return str(header["kid"])


def _reason(error: jwt.PyJWTError) -> str:
    known = (reason for kind, reason in _REASONS if isinstance(error, kind))
    return next(known, "the token is not genuine")
