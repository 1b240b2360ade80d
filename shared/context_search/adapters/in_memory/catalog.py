"""Projects, tables and tools in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from context_search.adapters.in_memory.rows import OutboxRow, Rows, TableRow, ToolRow
from context_search.domain.config import SearchConfig
from context_search.domain.model import Principal, Project, Scope, SearchTool, Table
from context_search.ports.time import Clock


@dataclass(frozen=True, slots=True)
class MemoryProjects:
    """The port ``Projects``."""

    rows: Rows

    def add(self, name: str) -> Project:
        """See the port."""
        project_id = self.rows.new_id()
        self.rows.projects[project_id] = name
        return Project(project_id, name)

    def add_key(self, project_id: int, *, prefix: str, key_hash: bytes) -> None:  # noqa: ARG002
        """See the port."""
        self.rows.keys[key_hash] = project_id

    def principal_of_key(self, key_hash: bytes) -> Principal | None:
        """See the port."""
        project_id = self.rows.keys.get(key_hash)
        return None if project_id is None else Principal(project_id)


@dataclass(frozen=True, slots=True)
class MemoryTables:
    """The port ``Tables``."""

    rows: Rows
    clock: Clock

    def add(self, project_id: int, name: str, description: str | None, data_json: str) -> Table:
        """See the port."""
        row = TableRow(
            self.rows.new_id(), project_id, name, description, data_json, 1, self.clock.now()
        )
        self.rows.tables[row.id] = row
        return _table(row)

    def find(self, table_id: int, *, project_id: int) -> Table | None:
        """See the port."""
        row = self.rows.tables.get(table_id)
        return _table(row) if row and not row.deleted and row.project_id == project_id else None

    def lock(self, table_id: int) -> int | None:
        """See the port; a transaction is alone anyway."""
        row = self.rows.tables.get(table_id)
        return len(row.data_json.encode()) if row and not row.deleted else None

    def lock_for_change(self, table_id: int) -> None:
        """See the port; a transaction is alone anyway."""

    def read(self, table_id: int) -> tuple[int, str]:
        """See the port."""
        row = self.rows.tables[table_id]
        return row.revision, row.data_json

    def replace(
        self, table_id: int, data_json: str, *, expected_revision: int | None
    ) -> Table | None:
        """See the port. Does what the triggers do in Postgres."""
        row = self.rows.tables.get(table_id)
        if row is None or row.deleted or expected_revision not in (None, row.revision):
            return None
        if _canonical(row.data_json) != _canonical(data_json):
            now = self.clock.now()
            self.rows.change(
                self.rows.tables,
                table_id,
                data_json=data_json,
                revision=row.revision + 1,
                updated_at=now,
            )
            for index in sorted(self.rows.indexes.values(), key=lambda index: index.id):
                if index.table_id == table_id:
                    body = {"kind": "enumerate", "index_id": index.id}
                    outbox_id = self.rows.new_id()
                    self.rows.outbox[outbox_id] = OutboxRow(outbox_id, body, now)
        return _table(self.rows.tables[table_id])

    def mark_deleted(self, table_id: int) -> None:
        """See the port."""
        self.rows.change(self.rows.tables, table_id, deleted=True)


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """The port ``Tools``; there are no MCP instances."""

    rows: Rows
    clock: Clock

    def add(
        self,
        *,
        project_id: int,
        name: str,
        description: str | None,
        scope: Scope,
        search: SearchConfig,
    ) -> int:
        """See the port."""
        tool_id = self.rows.new_id()
        self.rows.tools[tool_id] = ToolRow(
            tool_id, project_id, name, description, scope, search, self.clock.now()
        )
        return tool_id

    def find(self, tool_id: int, *, project_id: int | None) -> SearchTool | None:
        """See the port."""
        return next((tool for tool in self._live(project_id) if tool.id == tool_id), None)

    def page(self, principal: Principal, *, after: int, limit: int) -> list[SearchTool]:
        """See the port."""
        return [tool for tool in self._live(principal.project_id) if tool.id > after][:limit]

    def first_of_names(self, principal: Principal, names: Sequence[str]) -> dict[str, int]:
        """See the port."""
        first: dict[str, int] = {}
        for tool in self._live(principal.project_id):
            if tool.name in names:
                first.setdefault(tool.name, tool.id)
        return first

    def of_index(self, index_id: int) -> list[SearchTool]:
        """See the port."""
        return [tool for tool in self._live(None) if tool.index_id == index_id]

    def mark_unsettled(self, index_id: int) -> None:
        """See the port."""
        for tool in self.of_index(index_id):
            summary = self.rows.tools[tool.id].summary
            if summary and summary["status"] == "ready":
                changed = {**summary, "status": "indexing"}
                self.rows.change(self.rows.tools, tool.id, summary=changed)

    def mark_deleted(self, tool_id: int) -> None:
        """See the port."""
        self.rows.change(self.rows.tools, tool_id, deleted=True)

    def write_summary(self, tool_id: int, summary: Mapping[str, object]) -> None:
        """See the port."""
        self.rows.change(self.rows.tools, tool_id, summary=summary)

    def _live(self, project_id: int | None) -> list[SearchTool]:
        return [
            _tool(row, self.rows)
            for _, row in sorted(self.rows.tools.items())
            if not row.deleted
            and not self.rows.tables[row.scope.table_id].deleted
            and row.id in self.rows.coverage
            and project_id in (None, row.project_id)
        ]


def _canonical(data_json: str) -> str:
    document = json.loads(data_json, parse_int=_number, parse_float=_number)
    return json.dumps(document, sort_keys=True)


def _number(text: str) -> str:
    """Equal for equal numbers, however they are written; no string of a document holds NUL."""
    return f"\0{Fraction(text)}"


def _table(row: TableRow) -> Table:
    return Table(row.id, row.project_id, row.name, row.description, row.revision, row.updated_at)


def _tool(row: ToolRow, rows: Rows) -> SearchTool:
    return SearchTool(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        description=row.description,
        table_name=rows.tables[row.scope.table_id].name,
        scope=row.scope,
        search=row.search,
        index_id=rows.coverage[row.id].index_id,
        created_at=row.created_at,
    )
