"""Projects and tables in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from context_search.catalog.rules.settings import S, StoredSettings
from context_search.catalog.rules.tables import Part, StringsAt
from context_search.catalog.rules.versions import BY_SQL, Origin
from context_search.catalog.sql.projects import Projects
from context_search.catalog.sql.tables import Tables
from context_search.core.documents import parse_exact, string_nodes
from context_search.core.errors import NotFoundError
from context_search.core.json_pointer import join, resolve
from context_search.core.json_text import to_json
from context_search.core.messages import CompareIndex
from context_search.core.model import Project, Table
from tests.faults.simulation.model.comparisons import tables_of
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.outbox import ModelOutbox
from tests.faults.simulation.model.removals import mark_table
from tests.faults.simulation.model.rows import TableRow
from tests.faults.simulation.model.versions import add_version


class ModelProjects(Model, Projects):
    """``Projects`` over rows in memory."""

    def add(self, name: str) -> Project:
        project_id = self.rows.new_id()
        self.rows.projects[project_id] = name
        return Project(project_id, name)

    def exists(self, project_id: int) -> bool:
        rows = self.rows
        return project_id in rows.projects and project_id not in rows.project_removals

    def lock(self, project_id: int) -> bool:
        """A transaction is alone anyway."""
        return self.exists(project_id)

    def mark_deleted(self, project_id: int) -> bool:
        if not self.exists(project_id):
            return False
        self.rows.project_removals[project_id] = self.clock.now()
        return True

    def settings(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        unchanged = StoredSettings(0, kind.from_mapping({}))
        return self.rows.project_settings.get((project_id, kind.KIND), unchanged)

    def lock_settings(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        return self.settings(kind, project_id)

    def write_settings(self, project_id: int, settings: S) -> StoredSettings[S]:
        version = self.settings(type(settings), project_id).version + 1
        stored = StoredSettings(version, settings)
        self.rows.project_settings[project_id, settings.KIND] = stored
        return stored


class ModelTables(Model, Tables):
    """``Tables`` over rows in memory."""

    def add(
        self,
        project_id: int,
        name: str,
        description: str | None,
        data_json: str,
        *,
        url_template: str | None = None,
        origin: Origin = BY_SQL,
    ) -> Table:
        table_id, now = self.rows.new_id(), self.clock.now()
        row = TableRow(table_id, project_id, name, description, data_json, 1, now, url_template)
        self.rows.tables[row.id] = row
        add_version(self.rows, self.clock, row, origin)
        self._order_comparisons(row.id)
        return _table(row)

    def _order_comparisons(self, table_id: int) -> None:
        """What the triggers do in Postgres."""
        ModelOutbox(self.rows, self.clock).add(
            CompareIndex(index.id, table_id).to_json()
            for index in self.rows.indexes.values()
            if any(table.id == table_id for table in tables_of(self.rows, index))
        )

    def put_away(self, table_id: int, *, back: bool) -> None:
        """What an owner's own program does: the table goes to his trash, or comes back from it."""
        self.rows.change(self.rows.tables, table_id, deleted=not back)
        if back:
            self._order_comparisons(table_id)

    def find(self, table_id: int, *, project_id: int) -> Table | None:
        row = self.rows.tables.get(table_id)
        return _table(row) if row and row.is_there and row.project_id == project_id else None

    def names(self, project_id: int, table_ids: Sequence[int]) -> dict[int, str]:
        found = (self.find(table_id, project_id=project_id) for table_id in table_ids)
        return {table.id: table.name or "" for table in found if table is not None}

    def ids(self, project_id: int, *, after: int, limit: int) -> list[int]:
        found = sorted(
            row.id
            for row in self.rows.tables.values()
            if row.is_there and row.project_id == project_id and row.id > after
        )
        return found[:limit]

    def count(self, project_id: int) -> int:
        return len(self.ids(project_id, after=0, limit=len(self.rows.tables)))

    def lock(self, table_id: int, *, with_project: bool = False) -> int | None:
        """A transaction is alone anyway."""
        row = self.rows.tables.get(table_id)
        return row.revision if row and row.is_there else None

    def size(self, table_id: int) -> int:
        row = self.rows.tables.get(table_id)
        return len(row.data_json.encode()) if row else 0

    def read(self, table_id: int) -> tuple[int, str]:
        if (row := self.rows.tables.get(table_id)) is None:
            raise NotFoundError("there is no such table")
        return row.revision, row.data_json

    def part(
        self, table_id: int, path: Sequence[str], *, max_bytes: int, holding: Sequence[str] = ()
    ) -> Part | None:
        if (row := self.rows.tables.get(table_id)) is None:
            return None
        try:
            value = resolve(parse_exact(row.data_json), path)
        except KeyError:
            return None
        text = to_json(value)
        size = len(text.encode())
        fits = size <= max_bytes
        lacks = fits and bool(holding) and not any(piece in text for piece in holding)
        shown = text if fits and not lacks else None
        return Part(row.revision, size, shown, isinstance(value, str), lacks)

    def strings_at(self, table_id: int, path: Sequence[str], *, measured: bool) -> StringsAt | None:
        if (row := self.rows.tables.get(table_id)) is None:
            return None
        document, scope = parse_exact(row.data_json), join(path)
        try:
            resolve(document, path)
        except KeyError:
            return None
        found = string_nodes(document, scope=scope, threshold=0) if measured else ()
        return StringsAt(max((len(node.text) for node in found), default=0) if measured else None)

    def replace(
        self,
        table_id: int,
        data_json: str,
        *,
        expected_revision: int | None,
        origin: Origin = BY_SQL,
    ) -> Table | None:
        row = self.rows.tables.get(table_id)
        if row is None or not row.is_there or expected_revision not in (None, row.revision):
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
            add_version(self.rows, self.clock, self.rows.tables[table_id], origin)
            self._order_comparisons(table_id)
        return _table(self.rows.tables[table_id])

    def mark_deleted(self, table_id: int) -> None:
        mark_table(self.rows, self.clock, table_id)

    def mark_of_deleted_projects(self, *, limit: int) -> int:
        found = [
            row.id
            for _, row in sorted(self.rows.tables.items())
            if row.project_id in self.rows.project_removals and row.remove_at is None
        ][:limit]
        for table_id in found:
            mark_table(self.rows, self.clock, table_id)
        return len(found)


def _canonical(data_json: str) -> str:
    document = json.loads(data_json, parse_int=_number, parse_float=_number)
    return json.dumps(document, sort_keys=True)


def _number(text: str) -> str:
    """Equal for equal numbers, however they are written; no string of a document holds NUL."""
    return f"\0{Fraction(text)}"


def _table(row: TableRow) -> Table:
    return Table(
        row.id,
        row.project_id,
        row.name,
        row.description,
        row.revision,
        row.updated_at,
        row.url_template,
    )
