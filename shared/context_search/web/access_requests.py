"""The bodies of keys, MCP instances and bindings."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from context_search.domain.access import Permission
from context_search.services.access.keys import KeyOptions
from context_search.web.left_out import LeftOut, NotNull
from context_search.web.requests import Body, Id, Name

_YEAR_S = 31_536_000
_Scopes = Annotated[list[Permission], Field(min_length=1, max_length=3)]
Lifetime = Annotated[int, Field(ge=1, le=10 * _YEAR_S)]


class CreateMcpKeyBody(Body):
    """``POST …/mcps/{mcp_id}/keys``. Without ``expires_in`` (seconds) the key never expires."""

    name: Name | None = None
    expires_in: Annotated[Lifetime | LeftOut, NotNull] = None

    def options(self) -> KeyOptions:
        """Returns what is wanted."""
        return KeyOptions(self.name, self.expires_in)


class CreateKeyBody(CreateMcpKeyBody):
    """``POST …/projects/{project_id}/keys``. Without ``scopes`` it has those of the caller's."""

    scopes: Annotated[_Scopes | LeftOut, NotNull] = None

    def options(self) -> KeyOptions:
        """Returns what is wanted."""
        permissions = None if self.scopes is None else frozenset(self.scopes)
        return KeyOptions(self.name, self.expires_in, permissions)


class RotateKeyBody(Body):
    """``POST …/keys/{key_id}/rotate``: the old key is good for so many seconds more."""

    old_expires_in: Annotated[int, Field(ge=0, le=30 * 86_400)] = 3_600


class BindingBody(Body):
    """``POST …/bindings``"""

    tool_id: Id
    status: bool = True


class CreateMcpBody(Body):
    """``POST /api/v1/mcps``"""

    project_id: Id
    name: Name
    bindings: Annotated[list[BindingBody], Field(max_length=100)] = Field(default_factory=list)


class ChangeMcpBody(Body):
    """``PATCH /api/v1/mcps/{mcp_id}``: what is left out stays."""

    name: Name | None = None
    status: bool | None = None


class ChangeBindingBody(Body):
    """``PATCH …/bindings/{tool_id}``"""

    status: bool
