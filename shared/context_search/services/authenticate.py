"""Who is calling?"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

from context_search.domain.access_tokens import looks_like_token, principal_of_claims
from context_search.domain.errors import UnauthenticatedError
from context_search.domain.model import Principal
from context_search.ports.access_tokens import AccessTokens
from context_search.ports.store import Store
from context_search.services.keys import key_hash

USE_NOTED_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Turns a project or MCP key into a principal. Raises UnauthenticatedError."""

    store: Store

    def __call__(self, key: str | None) -> Principal:
        """Returns whose key it is, and notes about once a minute that it is in use."""
        if not key or not key.isascii():
            raise UnauthenticatedError("a bearer key is required")
        with self.store.transaction() as work:
            principal = work.keys.principal_of(key_hash(key), noted_every_s=USE_NOTED_EVERY_S)
        if principal is None:
            raise UnauthenticatedError("the key is not known")
        return principal


@dataclass(frozen=True, slots=True)
class AuthenticateToken:
    """Turns a JSON web token into the principal that a project key with its scopes would be.

    ``tokens`` is asked for at the first token: what checks them takes long to import.
    """

    store: Store
    tokens: Callable[[], AccessTokens]
    project_claim: str

    def __call__(self, token: str) -> Principal:
        """Raises UnauthenticatedError, also for an unknown project; TokenIssuerUnavailableError."""
        principal = principal_of_claims(self.tokens().claims_of(token), self.project_claim)
        with self.store.transaction(principal.project_id) as work:
            if not work.projects.exists(principal.project_id):
                raise UnauthenticatedError("the token's project is not known")
        return principal


@dataclass(frozen=True, slots=True)
class AuthenticateBearer:
    """Turns what follows ``Bearer`` into a principal: a key, or a token where those are taken."""

    keys: Authenticate
    tokens: AuthenticateToken | None = None

    def __call__(self, presented: str | None) -> Principal:
        """Raises what the two raise. Where no tokens are taken, one is an unknown key."""
        if self.tokens is not None and presented and looks_like_token(presented):
            return self.tokens(presented)
        return self.keys(presented)


@dataclass(frozen=True, slots=True)
class AuthenticateInternal:
    """Checks the shared secret of internal callers; two are valid while one is being rotated."""

    secrets: tuple[str, ...] = field(repr=False)

    def __call__(self, presented: str | None) -> None:
        """Returns when the secret is right; raises UnauthenticatedError otherwise."""
        given = (presented or "").encode()
        # Every secret is compared, so that the time does not tell which one was close.
        matches = [hmac.compare_digest(given, secret.encode()) for secret in self.secrets]
        if not any(matches):
            raise UnauthenticatedError("the internal secret is missing or wrong")
