"""Search Tools in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from context_search.catalog.sql.tools import Tools
from context_search.core.config import SearchConfig
from context_search.core.model import Scope, SearchTool, ToolSettings
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.removals import mark_incomplete
from tests.faults.simulation.model.rows import Rows, ToolRow


class ModelTools(Model, Tools):
    """``Tools`` over rows in memory."""

    def add(
        self,
        *,
        project_id: int,
        name: str,
        description: str | None,
        scope: Scope,
        search: SearchConfig,
    ) -> int:
        tool_id = self.rows.new_id()
        self.rows.tools[tool_id] = ToolRow(
            tool_id, project_id, name, description, scope, search, self.clock.now()
        )
        return tool_id

    def change(self, tool_id: int, settings: ToolSettings) -> None:
        self.rows.change(
            self.rows.tools,
            tool_id,
            name=settings.name,
            description=settings.description,
            search=settings.search,
        )

    def find(self, tool_id: int, *, project_id: int | None) -> SearchTool | None:
        return next((tool for tool in self._live(project_id) if tool.id == tool_id), None)

    def page(
        self,
        project_id: int,
        *,
        mcp_id: int | None = None,
        table_id: int | None = None,
        after: int,
        limit: int,
    ) -> list[SearchTool]:
        assert mcp_id is None
        shown = [
            tool
            for tool in self._live(project_id)
            if tool.id > after and table_id in (None, tool.scope.table_id)
        ]
        return shown[:limit]

    def first_of_names(self, project_id: int, names: Sequence[str]) -> dict[str, int]:
        first: dict[str, int] = {}
        for tool in self._live(project_id):
            lower = re.sub("[A-Z]+", lambda letters: letters[0].lower(), tool.name)
            if lower in names:
                first.setdefault(lower, tool.id)
        return first

    def fields_of_index(self, index_id: int) -> list[str]:
        tools = self.of_index(index_id)
        return sorted({name for tool in tools for name in tool.search.fields})

    def of_index(self, index_id: int, *, tool_id: int | None = None) -> list[SearchTool]:
        tools = [tool for tool in self._live(None) if tool.index_id == index_id]
        return [tool for tool in tools if tool_id in (None, tool.id)]

    def mark_incomplete(self, index_id: int) -> None:
        mark_incomplete(self.rows, index_id)

    def mark_deleted(self, tool_id: int) -> None:
        self.rows.change(self.rows.tools, tool_id, remove_at=self.clock.now())

    def write_summary(self, tool_id: int, summary: Mapping[str, object]) -> None:
        self.rows.change(self.rows.tools, tool_id, summary=summary)

    def _live(self, project_id: int | None) -> list[SearchTool]:
        return [
            _tool(row, self.rows)
            for _, row in sorted(self.rows.tools.items())
            if row.is_there
            and self.rows.tables[row.scope.table_id].is_there
            and row.id in self.rows.coverage
            and self._is_of_one_project(row)
            and project_id in (None, row.project_id)
        ]

    def _is_of_one_project(self, row: ToolRow) -> bool:
        """Another program may have moved the table, or the tool."""
        index = self.rows.indexes[self.rows.coverage[row.id].index_id]
        table = self.rows.tables[row.scope.table_id]
        return row.project_id == table.project_id == index.project_id


def _tool(row: ToolRow, rows: Rows) -> SearchTool:
    index = rows.indexes[rows.coverage[row.id].index_id]
    return SearchTool(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        description=row.description,
        table_name=rows.tables[row.scope.table_id].name,
        scope=row.scope,
        search=row.search,
        index_id=index.id,
        created_at=row.created_at,
        threshold=rows.generations[index.generation_id].config.threshold,
    )
