"""How long versions are kept: labels and limits."""

from __future__ import annotations

import pytest

from context_search.catalog.rules.versions import MAX_LABELS, HistoryLimits
from context_search.core.errors import (
    TooManyLabelsError,
)
from tests.catalog.history import Editing
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
