"""Who is calling over HTTP: keys, tokens, the shared secret, and requests that come again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING

from context_search.access.authenticate import (
    BearerAuthenticator,
    InternalSecrets,
    KeyAuthenticator,
    TokenAuthenticator,
)
from context_search.access.idempotency import Idempotency
from context_search.access.keys import ManageKeys
from context_search.composition.parts import Parts
from context_search.settings import TokenSettings

if TYPE_CHECKING:
    from context_search.integrations.ports import AccessTokens


@dataclass(frozen=True)
class Access:
    """What a function tells callers by, with the secrets as they are now."""

    parts: Parts

    @cached_property
    def known_keys(self) -> KeyAuthenticator:
        """Keys, and nothing but keys: what travels in a path."""
        return KeyAuthenticator(self.parts.postgres)

    @property
    def bearers(self) -> BearerAuthenticator:
        """Bearer keys, and tokens where an issuer is configured."""
        known = self.parts.settings.tokens
        return BearerAuthenticator(self.known_keys, self._known_tokens(known) if known else None)

    def _known_tokens(self, known: TokenSettings) -> TokenAuthenticator:
        # One secret for two purposes: what is hashed begins differently.
        subject_key = f"subject {self.parts.fresh_settings.query_hash_key}"
        return TokenAuthenticator(
            self.parts.postgres, self._tokens, known.project_claim, subject_key
        )

    def _tokens(self) -> AccessTokens:
        return self._jwt_tokens

    @cached_property
    def _jwt_tokens(self) -> AccessTokens:
        # PyJWT and cryptography take 60 ms, and where an issuer is configured keys come, too.
        from context_search.integrations.oidc import JwtTokens  # noqa: PLC0415

        settings = self.parts.settings
        return JwtTokens(settings.jwt_issuer or "", settings.jwt_audience, self.parts.clock)

    @cached_property
    def keys(self) -> ManageKeys:
        """The keys of projects and MCP instances."""
        return ManageKeys(self.parts.store, self.parts.settings.project_bounds)

    @property
    def token_issuer(self) -> str | None:
        """Whose tokens are taken beside keys."""
        return self.parts.settings.tokens.issuer if self.parts.settings.tokens else None

    @property
    def internal_secrets(self) -> InternalSecrets:
        """The shared secret."""
        return InternalSecrets(
            self.parts.fresh_settings.internal_secrets,
            partial(self.parts.instead_of, attrgetter("internal_secrets")),
        )

    @cached_property
    def idempotency(self) -> Idempotency:
        """Requests that come again."""
        return Idempotency(self.parts.store)
