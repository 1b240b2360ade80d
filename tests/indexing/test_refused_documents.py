"""Documents under one project index that cannot be indexed: each says so, and none for another."""

from __future__ import annotations

from context_search.core.model import Table
from context_search.indexing.comparing import MAX_POINTER_CHARS
from tests.indexing.test_project_index import ProjectSystem
from tests.system import prose

LONG_KEY = "k" * 2_900_000
TOO_LARGE = {LONG_KEY: ["a"] * (MAX_POINTER_CHARS // len(LONG_KEY) + 2)}


def write(system: ProjectSystem, table: Table, document: object) -> None:
    system.clock.advance(1)
    system.replace(system.principal, table.id, document)
    system.work()


def reported(system: ProjectSystem) -> tuple[str, list[object]]:
    """The status, and the tables with a reason, the latest first."""
    progress = system.read(system.principal).progress
    assert all(error["code"] == "DOCUMENT_TOO_LARGE" for error in progress.refused)
    return progress.status, [error["table_id"] for error in progress.refused]


def test_a_refused_document_stays_told_when_another_is_refused_or_mended() -> None:
    system = ProjectSystem()
    one, other, third = (system.table({"a": prose(200, seed)}) for seed in range(3))
    system.on()
    write(system, one, TOO_LARGE)
    write(system, other, TOO_LARGE)
    assert reported(system) == ("error", [other.id, one.id])
    write(system, other, {"a": "mended"})
    write(system, third, {"a": "changed"})
    assert reported(system) == ("error", [one.id])
    system.delete_table(system.principal, one.id)
    assert reported(system) == ("ready", [])
