"""The use cases of those who call: keys, MCP instances, requests that come again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import TYPE_CHECKING

from context_search.bootstrap.project import ProjectWork
from context_search.services.access.authenticate import (
    Authenticate,
    AuthenticateBearer,
    AuthenticateInternal,
    AuthenticateToken,
)
from context_search.services.access.idempotency import AnswerOnce

if TYPE_CHECKING:
    from context_search.ports.outside import AccessTokens
    from context_search.web.routes.access.keys import KeyUseCases
    from context_search.web.routes.access.mcps import McpUseCases


class Access(ProjectWork):
    """Who may do what."""

    @property
    def authenticate_key(self) -> Authenticate:
        """Keys, and nothing but keys: what travels in a path."""
        return Authenticate(self.store)

    @property
    def authenticate(self) -> AuthenticateBearer:
        """Bearer keys, and tokens where an issuer is configured."""
        return AuthenticateBearer(self.authenticate_key, self._authenticate_token)

    @property
    def _authenticate_token(self) -> AuthenticateToken | None:
        known, tokens = self.settings.tokens, self._tokens
        if known is None or tokens is None:
            return None
        # One secret for two purposes: what is hashed begins differently.
        subject_key = f"subject {self.fresh_settings.query_hash_key}"
        return AuthenticateToken(self.store, tokens, known.project_claim, subject_key)

    @cached_property
    def _tokens(self) -> Callable[[], AccessTokens] | None:
        known = self.settings.tokens
        if known is None:
            return None

        @cache
        def tokens() -> AccessTokens:
            from context_search.adapters.jwt_tokens import JwtTokens  # noqa: PLC0415

            return JwtTokens(known.issuer, known.audience, self.clock)

        return tokens

    @property
    def token_issuer(self) -> str | None:
        """Whose tokens are taken beside keys."""
        return self.settings.tokens.issuer if self.settings.tokens else None

    @property
    def authenticate_internal(self) -> AuthenticateInternal:
        """The shared secret."""
        return AuthenticateInternal(
            self.fresh_settings.internal_secrets,
            lambda refused: self.instead_of(refused, lambda settings: settings.internal_secrets),
        )

    @property
    def answer_once(self) -> AnswerOnce:
        """Requests that come again."""
        return AnswerOnce(self.store)

    @cached_property
    def keys(self) -> KeyUseCases:
        """The use cases of keys."""
        from context_search.services.access import keys  # noqa: PLC0415
        from context_search.web.routes.access.keys import KeyUseCases  # noqa: PLC0415

        return KeyUseCases(
            create=keys.CreateKey(self.store),
            list=keys.ListKeys(self.store),
            revoke=keys.RevokeKey(self.store),
            rotate=keys.RotateKey(self.store),
        )

    @cached_property
    def mcps(self) -> McpUseCases:
        """The use cases of MCP instances."""
        from context_search.services.access import mcp_instances  # noqa: PLC0415
        from context_search.web.routes.access.mcps import McpUseCases  # noqa: PLC0415

        return McpUseCases(
            create=mcp_instances.CreateMcp(self.store),
            mcps=mcp_instances.Mcps(self.store),
            bindings=mcp_instances.Bindings(self.store),
            describe=mcp_instances.DescribeMcp(self.store, self.authenticate_key),
        )
