"""Keys, and the MCP instances with their bindings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.domain.access import ApiKey, Binding, KeyOwner, McpInstance, NewApiKey
from context_search.domain.model import Principal, SearchTool


class Keys(Protocol):
    """API keys, by their hash. Those of a deleted MCP instance are gone with it."""

    def add(self, owner: KeyOwner, new: NewApiKey) -> ApiKey:
        """Stores a key; it expires after its lifetime or at ``ends_by``, whichever comes first."""
        ...

    def principal_of(self, key_hash: bytes, *, noted_every_s: float) -> Principal | None:
        """Returns whose key this is, while it is neither revoked nor expired.

        The key of an MCP instance counts only while the instance is enabled. That it was used is
        remembered at most once in ``noted_every_s``; nobody waits for that. A transaction by
        itself: nothing else may run in it.
        """
        ...

    def page(self, owner: KeyOwner, *, after: int, limit: int) -> list[ApiKey]:
        """Returns keys with ids above ``after``, ascending, revoked and expired ones too."""
        ...

    def find_live(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        """Returns a key that is neither revoked nor expired.

        Keeps others from changing it until the transaction ends.
        """
        ...

    def revoke(self, key_id: int) -> None:
        """Makes a key worthless at once."""
        ...

    def expire_within(self, key_id: int, seconds: float) -> None:
        """Lets a key expire in so many seconds, unless it does so earlier anyway."""
        ...


class McpInstances(Protocol):
    """MCP instances and what is bound to them."""

    def add(self, project_id: int, name: str) -> McpInstance:
        """Creates an enabled instance without any tool."""
        ...

    def find(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        """Returns an instance of that project."""
        ...

    def page(self, project_id: int, *, after: int, limit: int) -> list[McpInstance]:
        """Returns instances with ids above ``after``, ascending."""
        ...

    def change(self, mcp_id: int, *, name: str, status: bool) -> McpInstance:
        """Renames an instance, enables or disables it."""
        ...

    def remove(self, mcp_id: int) -> None:
        """Deletes an instance with its keys and bindings."""
        ...

    def bind(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        """Puts a tool into an instance; None when it is there already."""
        ...

    def set_status(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        """Enables or disables a binding; None when there is none."""
        ...

    def unbind(self, mcp_id: int, tool_id: int) -> bool:
        """Takes a tool out of an instance; returns whether it was there."""
        ...

    def bindings(
        self, mcp_id: int, *, after: int, limit: int
    ) -> Sequence[tuple[Binding, SearchTool]]:
        """Returns bindings of live tools with tool ids above ``after``, ascending."""
        ...
