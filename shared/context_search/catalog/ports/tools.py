"""Search Tools, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.core.config import SearchConfig
from context_search.core.model import Index, Scope, SearchTool, ToolRecord, ToolSettings


@dataclass(frozen=True, slots=True)
class UnservedTool:
    """A tool of type ``search`` that no index serves: a program of its owner made it.

    Nothing of it has been checked; ``search_config`` is what its column holds, as JSON text.
    """

    id: int
    table_id: int | None
    json_path: str | None
    search_config: str | None


@dataclass(frozen=True, slots=True)
class Unowned:
    """Tools of type ``search`` that no index serves and no project has, and so no other list.

    ``tools`` are the first of them by id, with their names.
    """

    count: int
    tools: Sequence[tuple[int, str | None]]


@dataclass(frozen=True, slots=True)
class ToolPage:
    """Search Tools by id, and the id to go on after when there are more to look at."""

    rows: Sequence[SearchTool]
    next_after: int | None


class Tools(Protocol):
    """Search Tools.

    Invisible are those that are deleted, or whose table is, and those whose table or index is not
    in their project: another program has moved one of them.
    """

    def add(
        self,
        *,
        project_id: int,
        name: str,
        description: str | None,
        scope: Scope,
        search: SearchConfig,
    ) -> int:
        """Creates a Search Tool and returns its id."""
        ...

    def find(self, tool_id: int, *, project_id: int | None) -> SearchTool | None:
        """Returns a live Search Tool; ``project_id`` None is for trusted internal callers."""
        ...

    def change(self, tool_id: int, settings: ToolSettings) -> None:
        """Writes the settings of a Search Tool; what else its row holds stays."""
        ...

    def find_with_index(
        self, tool_id: int, *, project_id: int | None
    ) -> tuple[SearchTool, Index] | None:
        """Returns a live Search Tool and the index that serves it. Every search calls it."""
        ...

    def page(
        self,
        project_id: int,
        *,
        mcp_id: int | None = None,
        table_id: int | None = None,
        after: int,
        limit: int,
    ) -> list[SearchTool]:
        """Returns live Search Tools with ids above ``after``, ascending.

        Of an MCP, those bound; of one table, if it is named.
        """
        ...

    def named(
        self,
        project_id: int,
        part_of_name: str,
        *,
        table_id: int | None = None,
        after: int,
        limit: int,
        among: int,
    ) -> ToolPage:
        """Returns those of ``page`` whose names hold a text, in upper or lower case.

        Looks at ``among`` names at most, so a page may be short or empty while there is more.
        """
        ...

    def first_of_names(self, project_id: int, names: Sequence[str]) -> dict[str, int]:
        """Returns for each name the lowest id of the project's live tools that have it.

        Names are in lower case; those of tools match whatever case their ASCII letters are in.
        """
        ...

    def records(self, tool_ids: Sequence[int]) -> dict[int, ToolRecord]:
        """Returns what the main service keeps with tools; of missing ones nothing."""
        ...

    def unserved(self, project_id: int, *, after: int, limit: int) -> list[UnservedTool]:
        """Returns tools with ids above ``after``, ascending, that are there and have no index.

        A tool that names no project is of its table's.
        """
        ...

    def of_no_project(self, *, limit: int) -> Unowned:
        """Returns unserved tools that name no project that is there, and whose table has none."""
        ...

    def take_over(self, tool_id: int, *, project_id: int) -> bool:
        """Makes an unserved tool one of the project; False when it is gone, or served by now."""
        ...

    def fields_of_index(self, index_id: int) -> list[str]:
        """Returns the names of the fields that live tools of an index filter by, each once."""
        ...

    def of_index(self, index_id: int, *, tool_id: int | None = None) -> list[SearchTool]:
        """Returns the live tools that an index serves, by id; ``tool_id`` asks for that one only.

        Keeps others from writing their summaries until the transaction ends.
        """
        ...

    def mark_unsettled(self, index_id: int) -> None:
        """Makes ``ready`` in the summaries of an index' tools ``indexing``: it changes."""
        ...

    def mark_deleted(self, tool_id: int) -> None:
        """Makes a tool invisible at once."""
        ...

    def write_summary(self, tool_id: int, summary: Mapping[str, object]) -> None:
        """Writes ``metadata.search_index``."""
        ...
