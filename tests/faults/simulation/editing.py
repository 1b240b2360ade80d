"""Versions in the simulation: what users do with them, and what must hold. docs/consistency.md"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from context_search.catalog.rules.versions import HistoryLimits
from tests.faults.simulation.invariants import check
from tests.faults.simulation.model.rows import Rows, VersionRow
from tests.faults.simulation.world import World

KEPT = (1, 3, 100)
LABELS = ("first draft", None)


class Editors:
    """Whoever looks back; each call is a task of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random

    def moves(self) -> list[tuple[float, Callable[[], object]]]:
        """Returns what they do, and how often."""
        if not self.world.edits:
            return []
        return [(0.6, self._restore), (0.2, self._label), (0.2, self._erase), (0.1, self._limit)]

    def _with_some_revision(self, name: str, run: Callable[[int], object]) -> None:
        table = self.world.model_store.rows.tables.get(self.world.table.id)
        if table is not None:
            revision = self.random.randint(1, table.revision)
            self.world.spawn("user", f"{name} {revision}", lambda: run(revision))

    def _restore(self) -> None:
        world = self.world

        def restore(revision: int) -> None:
            world.versions.restore(world.principal, world.table.id, revision)
            world.seen["version: restored"] += 1

        self._with_some_revision("restore", restore)

    def _label(self) -> None:
        world, label = self.world, self.random.choice(LABELS)

        def name(revision: int) -> None:
            world.versions.label(world.principal, world.table.id, revision, label)
            world.seen["version: labelled"] += 1

        self._with_some_revision("label", name)

    def _erase(self) -> None:
        world = self.world

        def erase(revision: int) -> None:
            world.versions.erase(world.principal, world.table.id, revision)
            world.erased.add((world.table.id, revision))
            world.seen["version: erased"] += 1

        self._with_some_revision("erase", erase)

    def _limit(self) -> None:
        world, kept = self.world, self.random.choice(KEPT)
        limits = HistoryLimits(keep_count=kept)
        run = lambda: world.history_settings.change(world.principal, lambda _: limits)  # noqa: E731
        world.spawn("user", f"keep {kept} versions", run)


class VersionWatch:
    """R8, R9, R10 and R19 after every step; remembers what was live."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seen: dict[tuple[int, int], bytes] = {}
        self.checked = -1
        self._others = world.after_step
        world.after_step = self.after_step

    def after_step(self) -> None:
        """Checks again when something was written."""
        self._others()
        rows = self.world.model_store.rows
        if rows.version == self.checked:
            return
        self.checked = rows.version
        for table in rows.tables.values():
            text = table.data_json.encode()
            self.seen.setdefault((table.id, table.revision), hashlib.sha256(text).digest())
        for (table_id, project_id, _), row in rows.versions.items():
            self._check(rows, table_id, project_id, row)

    def _check(self, rows: Rows, table_id: int, project_id: int, row: VersionRow) -> None:
        by_sql, of = self.world.sql_revisions, (table_id, row.revision)
        cause = row.origin.cause if row.origin else None
        check((cause == "sql") == (of in by_sql), "R10 somebody else's cause", (of, row))
        if row.content is not None:
            check(of not in self.world.erased, "R19 erased, and still there", of)
            there = all((table_id, project_id, name) in rows.pieces for name in row.content.pieces)
            check(there, "R9 a piece is gone", of)
            is_true = self.seen.get(of, row.content.sha256) == row.content.sha256
            check(is_true, "R8 recorded is what nobody wrote", of)
            self.world.seen["version: recorded"] += 1
        elif row.revision != rows.tables[table_id].revision and row.gap is None:
            check((table_id, row.revision + 1) in by_sql, "R8 overwritten, not recorded", of)
            self.world.seen["version: overwritten by another program"] += 1


def at_rest(rows: Rows) -> None:
    """R9: nothing is left that no version names."""
    named = {
        (*key[:2], name)
        for key, row in rows.versions.items()
        if row.content
        for name in row.content.pieces
    }
    check(named == {*rows.pieces}, "R9 unused pieces are left", len(rows.pieces) - len(named))
