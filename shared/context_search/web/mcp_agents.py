"""What an agent sees: Search Tools, and what its MCP instance has opted in to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from context_search.domain.access import McpInstance, McpKey
from context_search.mcp.contract import (
    ClientInput,
    InputRequired,
    ToolPage,
    ToolResult,
    UnknownToolError,
)
from context_search.services.access.mcp_instances import ManageMcps
from context_search.services.catalog.list_tools import RESERVED_NAMES
from context_search.web.mcp_tools import SearchToolbox, in_words_of_mcp

if TYPE_CHECKING:
    from context_search.web.mcp_replacing import ReplaceUseCases


@dataclass(frozen=True, slots=True)
class AgentToolbox:
    """The port ``Toolbox`` for an agent with a key of an MCP instance.

    The instance's row decides at each list, and at each call of a tool that replaces. What
    replaces is loaded when an instance has it: most never do.
    """

    principal: McpKey
    search: SearchToolbox
    mcps: ManageMcps
    replacing: Callable[[], ReplaceUseCases]

    @in_words_of_mcp
    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """See ``Toolbox``. The first page begins with the tools that replace."""
        page = self.search.list_tools(cursor=cursor)
        instance = self._instance()
        if cursor is not None or instance.replacing == "off":
            return page
        from context_search.web.mcp_replace_tools import tools_of  # noqa: PLC0415

        return ToolPage([*tools_of(instance.replacing), *page.tools], page.next_cursor)

    @in_words_of_mcp
    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult | InputRequired:
        """See ``Toolbox``."""
        if name not in RESERVED_NAMES:
            return self.search.call_tool(name, arguments, client)
        instance = self._instance()
        if instance.replacing == "off":
            raise UnknownToolError("there is no such tool")
        from context_search.web.mcp_replacing import AgentReplacing  # noqa: PLC0415

        replacing = AgentReplacing(self.principal, instance, client, self.replacing())
        return replacing.call(name, arguments)

    def _instance(self) -> McpInstance:
        return self.mcps.read(self.principal, self.principal.mcp_id)
