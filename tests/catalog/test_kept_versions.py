"""How long versions are kept: labels, erasure, limits, and what goes with a table."""

from __future__ import annotations

import pytest

from context_search.catalog.rules.versions import MAX_LABELS, HistoryLimits
from context_search.core.errors import (
    ConflictError,
    NotFoundError,
    TooManyLabelsError,
    VersionNotRecordedError,
)
from tests.catalog.history import Editing, reported
from tests.system import prose

DAY_S = 86_400.0


def test_no_write_is_refused_because_its_history_is_full() -> None:
    system = Editing()
    table = system.put(system.make(prose(200_000)), "now")
    system.limits.change(system.principal, lambda _: HistoryLimits(max_bytes=1_000))
    system.put(table, "and now")
    assert [v.gap for v in system.list(table)] == [None, "full", None]
    system.clean_up()
    system.put(table, "again")
    assert [(v.revision, v.gap) for v in system.list(table)] == [
        (4, None),
        (3, None),
        (2, "full"),
    ]


def test_labels_keep_versions_and_are_counted() -> None:
    system = Editing()
    table = system.make(0)
    for number in range(1, MAX_LABELS + 2):
        table = system.put(table, number)
    for revision in range(1, MAX_LABELS + 1):
        assert system.versions.label(system.principal, table.id, revision, "x").label == "x"
    with pytest.raises(TooManyLabelsError):
        system.versions.label(system.principal, table.id, table.revision, "x")
    system.versions.label(system.principal, table.id, 1, None)
    live = system.versions.label(system.principal, table.id, table.revision, "live")
    assert live.is_live
    system.put(table, "another")
    system.clock.advance(31 * DAY_S)
    system.clean_up()
    left = [v.revision for v in system.list(table)]
    assert left == [23, 22, *range(20, 1, -1)]
    assert system.document(table, 22) == MAX_LABELS + 1


def test_an_erased_version_is_gone_for_good() -> None:
    system = Editing()
    secret = prose(100_000)
    table = system.put(system.put(system.make(secret), "two"), "three")
    system.versions.label(system.principal, table.id, 1, "has a name in it")
    with pytest.raises(ConflictError):
        system.versions.erase(system.principal, table.id, 3)
    system.versions.erase(system.principal, table.id, 1)
    with pytest.raises(VersionNotRecordedError):
        system.document(table, 1)
    erased = system.versions.read(system.principal, table.id, 1)
    assert (erased.gap, erased.label, erased.size) == ("erased", None, None)
    system.clean_up()
    assert len(system.memory.rows.pieces) == 1
    system.versions.erase_all(system.principal, table.id)
    system.clean_up()
    assert not system.memory.rows.pieces
    assert system.now(table) == "three"


def test_a_history_that_is_off_shows_and_keeps_nothing() -> None:
    system = Editing()
    table = system.put(system.make("one"), "two")
    off = system.limits.change(system.principal, lambda _: HistoryLimits(keep_count=0))
    assert off.settings.is_off
    assert reported(system.list(table)) == [(2, None, None, None)]
    with pytest.raises(NotFoundError):
        system.document(table, 1)
    with pytest.raises(VersionNotRecordedError):
        system.versions.label(system.principal, table.id, 2, "x")
    system.put(table, "three")
    assert system.document(table, 3) == "three"
    assert system.versions.page(system.principal, table.id, below=3).rows == []
    system.clean_up()
    assert not system.memory.rows.pieces
    assert not system.memory.rows.versions


def test_settings_change_at_the_version_that_was_seen() -> None:
    system = Editing()
    assert system.limits.read(system.principal).version == 0
    changed = system.limits.change(
        system.principal, lambda _: HistoryLimits(keep_days=3), if_versions=[0]
    )
    assert changed.version == 1
    assert system.limits.change(system.principal, lambda same: same).version == 1
    with pytest.raises(ConflictError):
        system.limits.change(system.principal, lambda same: same, if_versions=[0])


def test_a_deleted_table_takes_its_past_with_it() -> None:
    system = Editing()
    table = system.put(system.make(prose(100_000)), "two")
    system.tables.delete(system.principal, table.id)
    system.clean_up()
    rows = system.memory.rows
    assert not rows.tables
    assert not rows.pieces
    assert not rows.versions
    assert not rows.histories
