"""Which Search Tools a caller may use, under names that MCP clients accept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_search.domain.model import Principal, SearchTool
from context_search.ports.store import Store

PAGE = 100
_VALID = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")
_INVALID_RUN = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool with the name that agents call it by: unique within a project, stable."""

    name: str
    tool: SearchTool


def agent_name(tool: SearchTool) -> str:
    """Returns the tool's own name where clients accept it, otherwise a readable one with its id.

    Source: MCP 2026-07-28, server/tools, "Tool Names"; 64 is what common clients take.
    """
    if _VALID.match(tool.name) and not re.search(r"_\d+\Z", tool.name):
        return tool.name
    readable = _INVALID_RUN.sub("_", tool.name).strip("_")[:40]
    return f"{readable or 'search'}_{tool.id}"


@dataclass(frozen=True, slots=True)
class ListTools:
    """The live Search Tools of a project, or those bound to an MCP instance, by id."""

    store: Store

    def __call__(
        self, principal: Principal, *, after: int = 0
    ) -> tuple[list[NamedTool], int | None]:
        """Returns a page and, when there are more, the id to go on after."""
        with self.store.transaction(principal.project_id) as work:
            tools = work.tools.page(principal, after=after, limit=PAGE + 1)
            first = work.tools.first_of_names(principal, [tool.name for tool in tools])
        page = [NamedTool(_unique(tool, first), tool) for tool in tools[:PAGE]]
        return page, page[-1].tool.id if len(tools) > PAGE else None

    def find(self, principal: Principal, name: str) -> SearchTool | None:
        """Returns the tool that ``name`` stands for to this caller."""
        after: int | None = 0
        while after is not None:
            page, after = self(principal, after=after)
            for named in page:
                if named.name == name:
                    return named.tool
        return None


def _unique(tool: SearchTool, first: dict[str, int]) -> str:
    name = agent_name(tool)
    suffix = f"_{tool.id}"
    if first.get(tool.name, tool.id) == tool.id or name.endswith(suffix):
        return name
    return name[: 64 - len(suffix)] + suffix
