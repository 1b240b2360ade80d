"""JSON web tokens behind the port ``AccessTokens``, checked by PyJWT.

Only this module and ``issuer_keys`` import PyJWT and cryptography (90 ms), so a process that never
sees a token does not. What is checked follows RFC 8725 and RFC 9068, section 4,
except for ``typ`` (docs/decisions/0021-tokens-in-the-function.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import jwt

from context_search.adapters.issuer_keys import ALGORITHMS, IssuerKeys
from context_search.domain.errors import UnauthenticatedError
from context_search.ports.outside import Clock

LEEWAY_S = 30.0
MAX_CHARS = 16_384
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (jwt.ExpiredSignatureError, "the token has expired"),
    (jwt.ImmatureSignatureError, "the token is not valid yet"),
    (jwt.InvalidAudienceError, "the token is for another audience"),
    (jwt.InvalidIssuerError, "the token is another issuer's"),
    (jwt.MissingRequiredClaimError, "the token lacks iss, aud or exp"),
)


class JwtTokens:
    """The port ``AccessTokens``."""

    def __init__(self, issuer: str, audience: str, clock: Clock) -> None:
        self._issuer = issuer
        self._audience = audience
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
                audience=self._audience,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError as error:
            raise UnauthenticatedError(_reason(error)) from error
        return claims


def _key_id(token: str) -> str:
    """Returns which key a token says it is signed with; nobody is asked for one that cannot be."""
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
