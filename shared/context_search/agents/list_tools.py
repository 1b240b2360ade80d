"""Which Search Tools a caller may use, under names that MCP clients accept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from anyascii import anyascii

from context_search.core.callers import McpKey, Principal
from context_search.core.errors import DatabaseUnavailableError
from context_search.core.model import ALL_TOOLS, SearchTool, ToolsQuery
from context_search.core.pages import page_of
from context_search.searching.rules.searched import SeenFields
from context_search.store import Store, UnitOfWork

TOOLS_PER_PAGE = 20
"""Number of tools on a page. Each comes with its schemas, about 3 kB, and an agent reads them
all.
"""
SEEN_STRINGS = 1_000
"""Number of strings of a tool's scope whose fields tell agents what they may filter by."""
SEEN_AMONG = 10_000
"""Number of strings of an index that these are looked for among."""
SEEN_S = 0.5
_LENGTH = 64
_VALID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
REPLACE_NAMES = frozenset({"replace_preview", "replace_execute", "replace_undo"})
READING_NAMES = frozenset({"search", "fetch", "read", "find_text", "outline"})
RESERVED_NAMES = REPLACE_NAMES | READING_NAMES
"""Names of the tools that replace and read. No Search Tool is called so."""
_INVALID_RUN = re.compile(r"[^A-Za-z0-9]+")
_ENDS_IN_ID = re.compile(r"_([0-9]{1,18})\Z")


@dataclass(frozen=True, slots=True)
class NamedTool:
    """A tool with the name that agents call it by: unique within a project, stable."""

    name: str
    tool: SearchTool


@dataclass(frozen=True, slots=True)
class ListTools:
    """The live Search Tools of a project, or those bound to an MCP instance, by id."""

    store: Store

    def page(
        self, principal: Principal, *, after: int = 0, limit: int = TOOLS_PER_PAGE
    ) -> tuple[list[NamedTool], int | None]:
        """Returns a page and, when there are more, the id to go on after."""
        with self.store.for_project(principal.project_id) as work:
            tools = _page(work, principal, after=after, limit=limit + 1)
            names = unique_names(work, tools)
        page = page_of(tools, lambda tool: tool.id, limit)
        return [NamedTool(names[tool.id], tool) for tool in page.rows], page.next_after

    def names(self, principal: Principal, *, most: int) -> list[str]:
        """Returns the names of the first tools, at most so many."""
        names: list[str] = []
        after: int | None = 0
        while after is not None and len(names) < most:
            page, after = self.page(principal, after=after)
            names += [each.name for each in page]
        return names[:most]

    def seen_fields(self, tools: Sequence[SearchTool]) -> Mapping[int, SeenFields]:
        """Returns by its id what is seen of the fields of each tool that agents may filter with.

        Nothing of a tool, and of those after it, when the database is too busy to look.
        """
        found = {tool.id: SeenFields() for tool in tools if tool.search.agents_fields}
        with suppress(DatabaseUnavailableError):
            for tool in (tool for tool in tools if tool.id in found):
                with self.store.for_project(tool.project_id) as work:
                    found[tool.id] = work.live_chunks.seen_fields(
                        tool, most=SEEN_STRINGS, among=SEEN_AMONG, timeout_s=SEEN_S
                    )
        return found

    def find(self, principal: Principal, name: str) -> SearchTool | None:
        """Returns the tool that ``name`` stands for to this caller.

        The name with the id goes on standing for its tool when the plain one gets free.
        """
        if not _VALID.match(name):  # agents are told no such name, and Postgres takes no NUL
            return None
        ends_in_id = _ENDS_IN_ID.search(name)
        with self.store.for_project(principal.project_id) as work:
            if ends_in_id:
                tool_id = int(ends_in_id[1])
            else:
                lower = name.lower()
                tool_id = work.tools.first_of_names(principal.project_id, [lower]).get(lower, 0)
            found = _page(work, principal, after=tool_id - 1, limit=1) if tool_id else []
        if not found or found[0].id != tool_id:
            return None
        expected = _with_id(found[0]) if ends_in_id else plain_name(found[0])
        return found[0] if name == expected else None


def _page(work: UnitOfWork, principal: Principal, *, after: int, limit: int) -> list[SearchTool]:
    wanted = ToolsQuery(mcp_id=principal.mcp_id) if isinstance(principal, McpKey) else ALL_TOOLS
    return work.tools.page(principal.project_id, wanted, after=after, limit=limit)


def plain_name(tool: SearchTool) -> str | None:
    """Returns the tool's own name where clients accept it and it cannot be taken for one with id.

    MCP takes dots, too, and 128 characters (2026-07-28, server/tools, "Tool Names"); the models
    behind the clients take 64 of ``[a-zA-Z0-9_-]``.
    """
    is_plain = _VALID.match(tool.name) and not _ENDS_IN_ID.search(tool.name)
    is_free = tool.name.lower() not in RESERVED_NAMES
    return tool.name if is_plain and is_free else None


def unique_names(work: UnitOfWork, tools: Sequence[SearchTool]) -> Mapping[int, str]:
    """Returns for each id of tools of one project the name that agents call it by.

    A plain name belongs to the oldest tool that has it, in upper or lower case, whatever is bound
    where.
    """
    if not tools:
        return {}
    plain = {tool.id: name for tool in tools if (name := plain_name(tool))}
    first = work.tools.first_of_names(
        tools[0].project_id, [name.lower() for name in plain.values()]
    )
    mine = {tool_id for tool_id, name in plain.items() if first.get(name.lower()) == tool_id}
    return {tool.id: plain[tool.id] if tool.id in mine else _with_id(tool) for tool in tools}


def _with_id(tool: SearchTool) -> str:
    suffix = f"_{tool.id}"
    if plain := plain_name(tool):
        return plain[: _LENGTH - len(suffix)] + suffix
    readable = _INVALID_RUN.sub("_", anyascii(tool.name)).strip("_")[:40]
    return f"{readable or 'search'}{suffix}"
