"""Who may do what: keys, tokens, secrets, and requests that come again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from context_search.access.authenticate import (
    BearerAuthenticator,
    InternalSecrets,
    KeyAuthenticator,
    TokenAuthenticator,
)
from context_search.access.idempotency import Idempotency
from context_search.live_settings import LiveSettings
from context_search.store import Store

if TYPE_CHECKING:
    from context_search.access.keys import ManageKeys
    from context_search.access.sign_in import SignIn
    from context_search.agents.mcp_instances import ManageBindings, ManageMcps
    from context_search.integrations.ports import AccessTokens


@dataclass(frozen=True)
class AccessParts:
    """The use cases of ``access``; ``live`` has the present secrets."""

    store: Store
    live: LiveSettings

    @property
    def known_keys(self) -> KeyAuthenticator:
        """Keys, and nothing but keys: what travels in a path."""
        return KeyAuthenticator(self.store)

    @property
    def bearers(self) -> BearerAuthenticator:
        """Bearer keys, and tokens where an issuer is configured."""
        return BearerAuthenticator(self.known_keys, self._known_tokens)

    @property
    def _known_tokens(self) -> TokenAuthenticator | None:
        known, tokens = self.live.settings.tokens, self._tokens
        if known is None or tokens is None:
            return None
        # One secret for two purposes: what is hashed begins differently.
        subject_key = f"subject {self.live.fresh_settings.query_hash_key}"
        return TokenAuthenticator(self.store, tokens, known.project_claim, subject_key)

    @cached_property
    def _tokens(self) -> Callable[[], AccessTokens] | None:
        known = self.live.settings.tokens
        if known is None:
            return None

        @cache
        def tokens() -> AccessTokens:
            from context_search.integrations.oidc import JwtTokens  # noqa: PLC0415

            return JwtTokens(known.issuer, known.audiences, self.live.clock)

        return tokens

    @property
    def token_issuer(self) -> str | None:
        """Whose tokens are taken beside keys."""
        return self.live.settings.tokens.issuer if self.live.settings.tokens else None

    @property
    def internal_secrets(self) -> InternalSecrets:
        """The shared secret."""
        return InternalSecrets(
            self.live.fresh_settings.internal_secrets,
            lambda refused: self.live.instead_of(
                refused, lambda settings: settings.internal_secrets
            ),
        )

    @property
    def idempotency(self) -> Idempotency:
        """Requests that come again."""
        return Idempotency(self.store)

    @cached_property
    def keys(self) -> ManageKeys:
        """The keys of projects and MCP instances."""
        from context_search.access.keys import ManageKeys  # noqa: PLC0415

        return ManageKeys(self.store, self.live.settings.project_bounds)

    @cached_property
    def sign_in(self) -> SignIn:
        """Browsers that sign in to the console without a key."""
        from context_search.access.sign_in import SignIn  # noqa: PLC0415

        return SignIn(self.store, self.live.settings.project_bounds)

    @cached_property
    def mcps(self) -> ManageMcps:
        """MCP instances."""
        from context_search.agents.mcp_instances import ManageMcps  # noqa: PLC0415

        return ManageMcps(self.store, self.known_keys, self.live.settings.project_bounds)

    @cached_property
    def bindings(self) -> ManageBindings:
        """The tools of MCP instances."""
        from context_search.agents.mcp_instances import ManageBindings  # noqa: PLC0415

        return ManageBindings(self.store)
