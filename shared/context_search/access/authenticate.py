"""Who is calling?"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from context_search.core.callers import (
    ApiKey,
    KeyOwner,
    McpKey,
    Principal,
    ProjectKey,
    Token,
    caller_of_claims,
    in_order,
    key_hash,
    looks_like_token,
)
from context_search.core.errors import UnauthenticatedError
from context_search.integrations.ports import AccessTokens
from context_search.store import Store, UnitOfWork

USE_NOTED_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class KeyAuthenticator:
    """Finds out whose a project or MCP key is. Raises UnauthenticatedError."""

    store: Store

    def caller_of(self, key: str | None) -> ProjectKey | McpKey:
        """Returns whose key it is, and notes about once a minute that it is in use."""
        if not key or not key.isascii():
            raise UnauthenticatedError("a bearer key is required")
        with self.store.for_all("find out who is calling") as work:
            caller = work.keys.caller_of(key_hash(key), noted_every_s=USE_NOTED_EVERY_S)
        if caller is None:
            raise UnauthenticatedError("the key is not known")
        return caller


@dataclass(frozen=True, slots=True)
class TokenAuthenticator:
    """Finds out who presents a JSON web token: like a project key with its scopes.

    ``tokens`` is asked for at the first token: what checks them takes long to import.
    """

    store: Store
    tokens: Callable[[], AccessTokens]
    project_claim: str
    subject_key: str = field(repr=False)

    def caller_of(self, token: str) -> Token:
        """Raises UnauthenticatedError, also for an unknown project; TokenIssuerUnavailableError."""
        claims = self.tokens().claims_of(token)
        caller = replace(self._caller(claims), subject=self._hash_of(claims))
        with self.store.for_project(caller.project_id) as work:
            if not work.projects.exists(caller.project_id):
                raise UnauthenticatedError("the token's project is not known")
        return caller

    def secret_of(self, token: str) -> str:
        """Returns a secret derived from the token's subject and scopes.

        A subject's next token with the same scopes leads to the same secret, and so to the same
        kept answers. Tokens live for minutes, so a repeated request may come with another token.
        Other scopes give another secret, because a kept answer may hold a key with all of the
        scopes. A token without ``sub`` stands for itself.
        """
        claims = self.tokens().claims_of(token)
        subject = claims.get("sub")
        if not isinstance(subject, str):
            return token
        caller = self._caller(claims)
        scopes = ",".join(in_order(caller.permissions))
        whose = f"{caller.project_id} {scopes} {subject}"
        return hmac.digest(self.subject_key.encode(), whose.encode(), "sha256").hex()

    def _hash_of(self, claims: Mapping[str, object]) -> str | None:
        """What stands for a subject where changes are kept: 16 hex digits, of this deployment."""
        subject = claims.get("sub")
        if not isinstance(subject, str):
            return None
        return hmac.digest(self.subject_key.encode(), f"actor {subject}".encode(), "sha256").hex()[
            :16
        ]

    def _caller(self, claims: Mapping[str, object]) -> Token:
        return caller_of_claims(claims, self.project_claim)


@dataclass(frozen=True, slots=True)
class BearerAuthenticator:
    """Finds out who presents what follows ``Bearer``: a key, or a token where those are taken."""

    keys: KeyAuthenticator
    tokens: TokenAuthenticator | None = None

    def caller_of(self, presented: str | None) -> Principal:
        """Raises what the two raise. Where no tokens are taken, a token is an unknown key."""
        tokens = self._tokens_for(presented)
        if tokens is None:
            return self.keys.caller_of(presented)
        return tokens.caller_of(presented or "")

    def secret_of(self, presented: str) -> str:
        """Returns the secret that this caller's kept answers are sealed with.

        Raises like ``caller_of``.
        """
        tokens = self._tokens_for(presented)
        return presented if tokens is None else tokens.secret_of(presented)

    def _tokens_for(self, presented: str | None) -> TokenAuthenticator | None:
        return self.tokens if presented and looks_like_token(presented) else None


@dataclass(frozen=True, slots=True)
class InternalSecrets:
    """The shared secrets of internal callers; two are valid while one is being rotated.

    ``instead_of`` tells which secrets have taken the place of those that do not match.
    """

    secrets: tuple[str, ...] = field(repr=False)
    instead_of: Callable[[tuple[str, ...]], tuple[str, ...] | None] = lambda _: None

    def check(self, presented: str | None) -> None:
        """Raises UnauthenticatedError unless the secret is right."""
        if presented and (
            _matches(presented, self.secrets)
            or _matches(presented, self.instead_of(self.secrets) or ())
        ):
            return
        raise UnauthenticatedError("the internal secret is missing or wrong")


def _matches(presented: str, secrets: tuple[str, ...]) -> bool:
    given = presented.encode()
    # Every secret is compared, so that the time does not tell which one was close.
    matches = [hmac.compare_digest(given, secret.encode()) for secret in secrets]
    return any(matches)


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller with the name of its project; ``key`` None: a token.

    ``has_project_index``: the whole project can be searched.
    """

    caller: Principal
    project_name: str | None
    key: ApiKey | None
    has_project_index: bool


def identity_of(work: UnitOfWork, caller: Principal) -> Identity:
    """Returns who is calling."""
    name = work.projects.name(caller.project_id)
    key = None
    if isinstance(caller, ProjectKey) and caller.key_id is not None:
        key = work.keys.find(KeyOwner(caller.project_id), caller.key_id)
    return Identity(caller, name, key, work.indexes.of_project(caller.project_id) is not None)
