"""MCP instances, their keys and their bindings, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.core.callers import Binding, Confirmation, McpChanges, McpInstance, Replacing
from context_search.core.model import SearchTool


class McpInstances(Protocol):
    """MCP instances and what is bound to them."""

    def add(
        self,
        project_id: int,
        name: str,
        *,
        replacing: Replacing = "off",
        confirmation: Confirmation = "client",
        redacts: bool = False,
    ) -> McpInstance:
        """Creates an enabled instance without any tool."""
        ...

    def find(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        """Returns an instance of that project."""
        ...

    def lock(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        """Returns an instance and keeps others from changing it until the transaction ends."""
        ...

    def page(self, project_id: int, *, after: int, limit: int) -> list[McpInstance]:
        """Returns instances with ids above ``after``, ascending."""
        ...

    def replacing_in(self, tool_id: int, *, limit: int) -> list[McpInstance]:
        """Returns enabled instances whose agents may replace and see that tool, by id."""
        ...

    def change(self, mcp_id: int, changes: McpChanges) -> McpInstance:
        """Changes an instance; what stays as it is stays so while others change it, too."""
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
