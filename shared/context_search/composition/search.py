"""What is searched over HTTP and MCP, and who may."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from context_search.agents.list_tools import ListTools
from context_search.agents.mcp_instances import ManageBindings, ManageMcps
from context_search.agents.routes.mcp import AgentUseCases
from context_search.composition.access import Access
from context_search.composition.parts import Parts

if TYPE_CHECKING:
    from context_search.agents.tools.toolboxes import ReplaceTools
    from context_search.composition.agents import AgentEditing
    from context_search.composition.reading import Reading
    from context_search.composition.searching import Searching


@dataclass
class SearchFunction:
    """The use cases of ``search``."""

    parts: Parts

    @cached_property
    def access(self) -> Access:
        """Who is calling."""
        return Access(self.parts)

    @cached_property
    def searching(self) -> Searching:
        """Searches over HTTP and MCP."""
        # At the first one: with the clients of models 33 modules that INIT goes without.
        from context_search.composition.searching import Searching  # noqa: PLC0415

        return Searching(self.parts)

    @cached_property
    def mcps(self) -> ManageMcps:
        """MCP instances."""
        bounds = self.parts.settings.project_bounds
        return ManageMcps(self.parts.store, self.access.known_keys, bounds)

    @cached_property
    def bindings(self) -> ManageBindings:
        """The tools of MCP instances."""
        return ManageBindings(self.parts.store)

    @property
    def agents(self) -> AgentUseCases:
        """The use cases of MCP."""
        return AgentUseCases(
            bearers=self.access.bearers,
            keys=self.access.known_keys,
            search=self.searching.of_tools,
            list_tools=ListTools(self.parts.store),
            store=self.parts.store,
            reading=lambda: self.reading.tools,
            replacing=self.replace_tools,
            redaction=self.searching.redaction,
            allowed_origins=self.parts.settings.allowed_origins,
            allowed_hosts=self.parts.settings.allowed_hosts,
        )

    @cached_property
    def reading(self) -> Reading:
        """What callers read with."""
        # Most requests search.
        from context_search.composition.reading import Reading  # noqa: PLC0415

        return Reading(self.parts, self.searching)

    def replace_tools(self) -> ReplaceTools:
        """What agents replace with where their instance has opted in."""
        return self._editing.replace_tools()

    @cached_property
    def _editing(self) -> AgentEditing:
        # 60 modules and 80 ms: most instances never replace.
        from context_search.composition.agents import AgentEditing  # noqa: PLC0415

        return AgentEditing(self.parts)
