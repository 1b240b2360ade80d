"""What deleting a row takes with it, as the foreign keys and triggers of Postgres do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from context_search.core.limits import project_pools
from context_search.integrations.ports import Clock
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.rules.removals import Removal, RemovalEnd, Tombstone
from context_search.maintenance.rules.sweeps import SweepCursor
from context_search.maintenance.sql.removals import Removals
from tests.faults.simulation.model.journal import Journaled
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.plans import remove_plans
from tests.faults.simulation.model.rows import NodeRow, Rows, TombstoneRow


def remove_nodes(rows: Rows, clock: Clock, node_ids: Iterable[int]) -> None:
    """Deletes nodes, their sets and chunks; every chunk leaves a tombstone.

    Their tables have to be compared once more, unless the caller notes that they were.
    """
    gone = set(node_ids)
    remove_sets_of(rows, clock, gone)
    for node_id in gone:
        if node := rows.nodes.pop(node_id, None):
            rows.compared.pop((node.generation_id, node.table_id), None)


def remove_some(rows: Rows, clock: Clock, which: Callable[[NodeRow], bool], limit: int) -> int:
    """Deletes nodes that meet a condition, at most ``limit``; returns how many."""
    found = [node.id for _, node in sorted(rows.nodes.items()) if which(node)][:limit]
    remove_nodes(rows, clock, found)
    return len(found)


def remove_tool(rows: Rows, tool_id: int) -> None:
    """Deletes a tool and what it covers."""
    rows.coverage.pop(tool_id, None)
    del rows.tools[tool_id]


def remove_table(rows: Rows, clock: Clock, table_id: int) -> None:
    """Deletes a table and all that is about it. Its generations stay, and belong to no index."""
    nodes = [node.id for node in rows.nodes.values() if node.table_id == table_id]
    remove_nodes(rows, clock, nodes)
    indexes = {row.id for row in rows.indexes.values() if row.table_id == table_id}
    for generation in list(rows.generations.values()):
        if generation.index_id in indexes:
            rows.change(rows.generations, generation.id, index_id=None)
    for index_id in indexes:
        del rows.indexes[index_id]
    for tool in [row for row in rows.tools.values() if row.scope.table_id == table_id]:
        remove_tool(rows, tool.id)
    for noted in rows.of_comparisons:
        for key in [key for key in noted if key[1] == table_id]:
            noted.pop(key)
    past: tuple[Journaled[Any, Any], ...] = (rows.versions, rows.pieces, rows.histories)
    for kept in past:
        for key in [key for key in kept if key[0] == table_id]:
            kept.pop(key)
    for of_plan in [key for key in rows.planned_strings if key[1] == table_id]:
        del rows.planned_strings[of_plan]
    del rows.tables[table_id]


def mark_table(rows: Rows, clock: Clock, table_id: int) -> None:
    """What our API's delete of a table does: it and its Search Tools are gone at once."""
    now = clock.now()
    rows.change(rows.tables, table_id, remove_at=now)
    for tool_id in rows.coverage:
        if rows.tools[tool_id].scope.table_id == table_id:
            rows.change(rows.tools, tool_id, remove_at=now)


def remove_project(rows: Rows, project_id: int) -> None:
    """Deletes a project without tables and all that is left of it. Its generations stay."""
    indexes = {row.id for row in rows.indexes.values() if row.project_id == project_id}
    for generation in list(rows.generations.values()):
        if generation.index_id in indexes:
            rows.change(rows.generations, generation.id, index_id=None)
    for index_id in indexes:
        del rows.indexes[index_id]
    for order in [row for row in rows.outbox.values() if row.project_id == project_id]:
        del rows.outbox[order.id]
    for permit in [key for key in rows.permits if key[0] in project_pools(project_id)]:
        del rows.permits[permit]
    _remove_of(rows.ledger, project_id)
    _remove_of(rows.project_settings, project_id)
    remove_plans(rows, project_id)
    del rows.project_removals[project_id]
    del rows.projects[project_id]


def _remove_of(table: Journaled[Any, Any], project_id: int) -> None:
    """Deletes the rows of a project, whose id comes first in their keys."""
    for key in [key for key in table if key[0] == project_id]:
        del table[key]


def remove_sets_of(rows: Rows, clock: Clock, node_ids: Collection[int]) -> None:
    """Deletes all sets of nodes, and their chunks; every chunk leaves a tombstone."""
    sets = [row.id for row in rows.sets.values() if row.node_id in node_ids]
    remove_sets(rows, clock, sets)


def remove_sets(rows: Rows, clock: Clock, set_ids: Iterable[int]) -> None:
    """Deletes sets and their chunks; every chunk leaves a tombstone."""
    gone = set(set_ids)
    for chunk in [chunk for chunk in rows.chunks.values() if chunk.set_id in gone]:
        key = (chunk.namespace, chunk.doc_id)
        stone = TombstoneRow(*key, chunk.window_count, clock.now())
        rows.tombstones.setdefault(key, stone)
        del rows.chunks[chunk.id]
    for set_id in gone:
        rows.sets.pop(set_id, None)
        rows.words_backlog.pop(set_id, None)


def mark_incomplete(rows: Rows, index_id: int) -> None:
    """Makes ``ready`` in the summaries of an index' tools ``indexing``, also of those put away."""
    for tool_id, covered in rows.coverage.items():
        summary = rows.tools[tool_id].summary
        if covered.index_id == index_id and summary and summary["status"] == "ready":
            rows.change(rows.tools, tool_id, summary={**summary, "status": "indexing"})


class ModelRemovals(Model, Removals):
    """``Removals`` over rows in memory."""

    def due_at(self, limits: CleanupLimits) -> Times:
        """At the times of deletes; at once where something is left of a table that is gone."""
        deleted = [*self.rows.tools.values(), *self.rows.tables.values()]
        yield from (row.remove_at for row in deleted if row.remove_at)
        yield from self.rows.project_removals.values()
        tables = self.rows.tables
        for node in self.rows.nodes.values():
            if node.table_id in tables and not tables[node.table_id].is_there:
                yield self.clock.now()
        for row in self.rows.generations.values():
            if row.state != "retired" and row.index_id is None:
                yield self.clock.now()
        yield from self._tombstones_due_at(limits)

    def _tombstones_due_at(self, limits: CleanupLimits) -> Times:
        """After the grace; at once where a first delete or nodes are left."""
        now = self.clock.now()
        for stone in self.rows.tombstones.values():
            yield stone.created_at + timedelta(seconds=limits.grace_s) if stone.deleted_at else now
        used = {node.generation_id for node in self.rows.nodes.values()}
        for row in self.rows.generations.values():
            if row.retired_at:
                yield now if row.id in used else row.retired_at + timedelta(seconds=limits.grace_s)

    def absent_tables(self, *, limit: int) -> list[int]:
        left = {node.table_id for node in self.rows.nodes.values()}
        tables = self.rows.tables
        return sorted(each for each in left if not tables[each].is_there)[:limit]

    def remove_nodes_of(self, tables: Sequence[int], *, limit: int) -> int:
        return remove_some(self.rows, self.clock, lambda node: node.table_id in tables, limit)

    def due(self, *, limit: int) -> list[Removal]:
        now = self.clock.now()
        in_parts = {node.table_id for node in self.rows.nodes.values()}
        in_parts |= {table_id for table_id, *_ in self.rows.pieces}
        in_parts |= {table_id for _, table_id, _ in self.rows.planned_strings}
        marked = [
            (0, row.remove_at, Removal("tool", row.id))
            for row in self.rows.tools.values()
            if row.remove_at and row.remove_at <= now
        ] + [
            (1, row.remove_at, Removal("table", row.id))
            for row in self.rows.tables.values()
            if row.remove_at and row.remove_at <= now and row.id not in in_parts
        ]
        marked += [
            (2, remove_at, Removal("project", project_id))
            for project_id, remove_at in self.rows.project_removals.items()
            if remove_at <= now and project_id not in self._in_use()
        ]
        return [
            removal for *_, removal in sorted(marked, key=lambda one: (*one[:2], one[2].row_id))
        ][:limit]

    def remove(self, removal: Removal) -> RemovalEnd:
        if not self._is_marked(removal):
            return "left"
        if removal.kind == "tool":
            remove_tool(self.rows, removal.row_id)
        elif removal.kind == "project":
            remove_project(self.rows, removal.row_id)
        else:
            remove_table(self.rows, self.clock, removal.row_id)
        return "removed"

    def delay(self, removal: Removal, *, retry_in_s: float) -> bool:
        if not self._is_marked(removal):
            return False
        later = self.clock.now() + timedelta(seconds=retry_in_s)
        if removal.kind == "project":
            self.rows.project_removals[removal.row_id] = later
        else:
            self.rows.change(self._rows_of(removal), removal.row_id, remove_at=later)
        return True

    def _in_use(self) -> set[int]:
        """Projects that have tables or plans."""
        tables, plans = self.rows.tables.values(), self.rows.plans.values()
        return {row.project_id for row in tables} | {row.plan.project_id for row in plans}

    def _is_marked(self, removal: Removal) -> bool:
        if removal.kind == "project":
            return removal.row_id in self.rows.project_removals
        row = self._rows_of(removal).get(removal.row_id)
        return row is not None and row.remove_at is not None

    def _rows_of(self, removal: Removal) -> Any:
        return self.rows.tools if removal.kind == "tool" else self.rows.tables

    def _before(self, seconds: float) -> datetime:
        return self.clock.now() - timedelta(seconds=seconds)

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        before = self._before(older_than_s)
        return [
            Tombstone(row.namespace, row.doc_id, row.window_count)
            for row in sorted(self.rows.tombstones.values(), key=lambda row: row.created_at)
            if row.deleted_at is None or row.created_at < before
        ][:limit]

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        before, forgotten = self._before(older_than_s), 0
        retired = {row.namespace for row in self.rows.generations.values() if row.retired_at}
        for stone in tombstones:
            key = (stone.namespace, stone.doc_id)
            row = self.rows.tombstones.get(key)
            if row and (
                stone.namespace in retired
                or (row.deleted_at is not None and row.created_at < before)
            ):
                del self.rows.tombstones[key]
                forgotten += 1
            elif row:
                now = self.clock.now()
                self.rows.change(self.rows.tombstones, key, deleted_at=now)
        return forgotten

    def remove_retired_nodes(self, *, limit: int) -> int:
        retired = {row.id for row in self.rows.generations.values() if row.retired_at}
        return remove_some(self.rows, self.clock, lambda node: node.generation_id in retired, limit)

    def retired(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        before = self._before(older_than_s)
        used = {node.generation_id for node in self.rows.nodes.values()}
        return [
            SweepCursor(row.id, row.namespace, "")
            for _, row in sorted(self.rows.generations.items())
            if row.retired_at and row.retired_at < before and row.id not in used
        ][:limit]

    def purge_generation(self, generation_id: int) -> None:
        row = self.rows.generations.pop(generation_id, None)
        rows = self.rows
        for noted in rows.of_comparisons:
            for of_generation in [key for key in noted if key[0] == generation_id]:
                noted.pop(of_generation)
        for key in list(self.rows.tombstones):
            if row and key[0] == row.namespace:
                del self.rows.tombstones[key]
