"""Versions of tables in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from context_search.catalog.rules.versions import (
    MAX_LABELS,
    Content,
    Gap,
    HistoryLimits,
    Origin,
    Overwritten,
    Pruned,
    TableHistory,
    Version,
)
from context_search.catalog.sql.versions import Versions
from context_search.core.errors import NotFoundError
from context_search.core.model import Table
from context_search.integrations.ports import Clock
from context_search.maintenance.rules.health import CleanupLimits
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.plans import is_needed
from tests.faults.simulation.model.rows import Rows, TableRow, VersionRow

NEVER = datetime.max.replace(tzinfo=UTC)
"""Where nothing of a history has to leave."""


def add_version(rows: Rows, clock: Clock, table: TableRow, origin: Origin) -> None:
    """What the trigger does in Postgres."""
    now, of = clock.now(), (table.id, table.project_id)
    soon = now + timedelta(hours=1) if table.revision > 1 else NEVER
    rows.histories[of] = min(rows.histories.get(of, soon), soon)
    if not _settings(rows, table.project_id).is_off:
        rows.versions[*of, table.revision] = VersionRow(table.revision, origin, created_at=now)


def _settings(rows: Rows, project_id: int) -> HistoryLimits:
    stored = rows.project_settings.get((project_id, HistoryLimits.KIND))
    return stored.settings if stored else HistoryLimits()


def _used_bytes(rows: Rows, project_id: int) -> int:
    return sum(len(content) for key, content in rows.pieces.items() if key[1] == project_id)


class ModelVersions(Model, Versions):
    """``Versions`` over rows in memory."""

    def overwritten(self, table_id: int, *, project_id: int, max_bytes: int) -> Overwritten:
        """A transaction is alone anyway."""
        row = self.rows.tables.get(table_id)
        if row is None or not row.is_there or row.project_id != project_id:
            raise NotFoundError("there is no such table")
        settings = _settings(self.rows, project_id)
        is_read = not settings.is_off and len(row.data_json.encode()) <= max_bytes
        used = _used_bytes(self.rows, project_id)
        return Overwritten(row.revision, row.data_json if is_read else None, settings, used)

    def missing(self, table: Table, pieces: Sequence[bytes]) -> set[bytes]:
        return {name for name in pieces if (*_of(table), name) not in self.rows.pieces}

    def record(
        self, table: Table, revision: int, content: Content, new: Iterable[tuple[bytes, bytes]]
    ) -> None:
        self._touch(table)
        for name, stored in new:
            self.rows.pieces.setdefault((*_of(table), name), stored)
        now = self.clock.now()
        self._change(table, revision, content=content, gap=None, overwritten_at=now)

    def note_gap(self, table: Table, revision: int, gap: Gap) -> None:
        self._change(table, revision, gap=gap, overwritten_at=self.clock.now())

    def page(self, table: Table, *, below: int | None, limit: int) -> list[Version]:
        rows = [row for row in self._rows(table) if below is None or row.revision < below]
        rows.sort(key=lambda row: -row.revision)
        return [_version(row, table) for row in rows[:limit]]

    def find(self, table: Table, revision: int) -> Version | None:
        row = self.rows.versions.get((*_of(table), revision))
        return None if row is None else _version(row, table)

    def pieces(self, table: Table, revision: int, *, first: int, count: int) -> list[bytes]:
        row = self.rows.versions.get((*_of(table), revision))
        names = row.content.pieces[first : first + count] if row and row.content else ()
        stored = [self.rows.pieces.get((*_of(table), name)) for name in names]
        return [content for content in stored if content is not None]

    def label(self, table: Table, revision: int, label: str | None) -> bool:
        self._touch(table)
        others = [row for row in self._rows(table) if row.label and row.revision != revision]
        if label is not None and len(others) >= MAX_LABELS:
            return False
        self._change(table, revision, label=label)
        return True

    def erase(self, table: Table, revision: int | None = None) -> None:
        self._touch(table)
        live = self.rows.tables[table.id].revision
        for row in self._rows(table):
            is_meant = revision in (None, row.revision) and row.revision != live
            if is_meant and row.content is not None:
                self._change(table, row.revision, content=None, label=None, gap="erased")

    def _rows(self, table: Table) -> list[VersionRow]:
        return [row for key, row in self.rows.versions.items() if key[:2] == _of(table)]

    def _touch(self, table: Table) -> None:
        self.rows.histories[_of(table)] = self.clock.now()

    def _change(self, table: Table, revision: int, **values: object) -> None:
        key = (*_of(table), revision)
        self.rows.versions.setdefault(key, VersionRow(revision))
        self.rows.change(self.rows.versions, key, **values)

    def due_at(self, _: CleanupLimits) -> Times:
        """At once where a time has come."""
        now = self.clock.now()
        return (now for due_at in self.rows.histories.values() if due_at <= now)

    def over_limit(self, *, limit: int) -> list[int]:
        projects = {project for _, project in self.rows.histories}
        over = [
            (-too_many, project)
            for project in projects
            if (too_many := self._too_many(project)) > 0 and self._may_leave(project)
        ]
        return [project for _, project in sorted(over)[:limit]]

    def _too_many(self, project_id: int) -> int:
        return _used_bytes(self.rows, project_id) - _settings(self.rows, project_id).max_bytes

    def expire_oldest(self, project_id: int) -> int:
        too_many, gone = self._too_many(project_id), 0
        candidates = self._may_leave(project_id)
        for _, key, content in sorted(candidates, key=lambda each: each[:2]):
            if too_many <= 0:
                break
            too_many -= content.size
            gone += 1
            del self.rows.versions[key]
            self.rows.histories[key[:2]] = self.clock.now()
        return gone

    def _may_leave(self, project_id: int) -> list[tuple[datetime, tuple[int, int, int], Content]]:
        return [
            (row.overwritten_at, key, row.content)
            for key, row in self.rows.versions.items()
            if key[1] == project_id and row.content and row.overwritten_at and not row.label
            if not is_needed(self.rows, self.clock, key)
        ]

    def due(self, *, limit: int) -> list[TableHistory]:
        now, tables = self.clock.now(), self.rows.tables
        found = [
            (at, key)
            for key, at in self.rows.histories.items()
            if at <= now or tables[key[0]].remove_at is not None
        ]
        return [TableHistory(*key) for _, key in sorted(found)][:limit]

    def look_at_all(self, project_id: int) -> None:
        for of in list(self.rows.histories):
            if of[1] == project_id:
                self.rows.histories[of] = self.clock.now()

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        of = (history.table_id, history.project_id)
        table = self.rows.tables.get(history.table_id)
        if of not in self.rows.histories or table is None:
            return Pruned()
        settings = _settings(self.rows, history.project_id)
        leaving = self._leaving(of, table, settings)
        for row in leaving[:limit]:
            del self.rows.versions[*of, row.revision]
        left = [row for key, row in self.rows.versions.items() if key[:2] == of]
        named = {name for row in left if row.content for name in row.content.pieces}
        unused = [key for key in self.rows.pieces if key[:2] == of and key[2] not in named]
        for key in unused[:limit]:
            del self.rows.pieces[key]
        is_done = len(leaving) < limit and len(unused) < limit
        past = [_since(row) for row in left if not row.label and row.revision != table.revision]
        later = min(past, default=NEVER)
        if past:
            later += timedelta(days=settings.keep_days)
        self.rows.histories[of] = later if is_done else self.clock.now()
        return Pruned(len(leaving[:limit]), len(unused[:limit]), is_done)

    def _leaving(
        self, of: tuple[int, int], table: TableRow, settings: HistoryLimits
    ) -> list[VersionRow]:
        rows = [row for key, row in self.rows.versions.items() if key[:2] == of]
        if settings.is_off or table.remove_at is not None:
            return rows
        past = [row for row in rows if not row.label and row.revision != table.revision]
        past.sort(key=lambda row: -row.revision)
        before = self.clock.now() - timedelta(days=settings.keep_days)
        leaving = []
        for kind in (True, False):
            of_kind = [row for row in past if (row.content is None) is kind]
            leaving += [
                row
                for place, row in enumerate(of_kind)
                if (
                    place >= settings.keep_count
                    and not is_needed(self.rows, self.clock, (*of, row.revision))
                )
                or _since(row) < before
            ]
        return leaving


def _of(table: Table) -> tuple[int, int]:
    return table.id, table.project_id


def _version(row: VersionRow, table: Table) -> Version:
    origin, content = row.origin or Origin(), row.content
    return Version(
        revision=row.revision,
        is_live=row.revision == table.revision,
        cause=row.origin.cause if row.origin else None,
        actor=origin.actor,
        request_id=origin.request_id,
        plan_id=origin.plan_id,
        label=row.label,
        size=content.size if content else None,
        sha256=content.sha256 if content else None,
        noted_gap=row.gap,
        created_at=row.created_at,
        overwritten_at=row.overwritten_at,
    )


def _since(row: VersionRow) -> datetime:
    """A revision from before versions were recorded, which had a label, has no time."""
    return row.overwritten_at or row.created_at or datetime.min.replace(tzinfo=UTC)
