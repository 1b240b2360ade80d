"""Documents under one project index that cannot be indexed: each says so, and none for another."""

from __future__ import annotations

from context_search.domain.model import Table
from context_search.services.indexing.enumeration import MAX_POINTER_CHARS
from tests.services.house import prose
from tests.services.indexing.test_project_index import Estate

LONG_KEY = "k" * 2_900_000
TOO_LARGE = {LONG_KEY: ["a"] * (MAX_POINTER_CHARS // len(LONG_KEY) + 2)}


def write(estate: Estate, table: Table, document: object) -> None:
    estate.clock.advance(1)
    estate.replace(estate.principal, table.id, document)
    estate.work()


def told(estate: Estate) -> tuple[str, list[object]]:
    """The status, and the tables with a reason, the latest first."""
    progress = estate.read(estate.principal).progress
    assert all(error["code"] == "DOCUMENT_TOO_LARGE" for error in progress.refused)
    return progress.status, [error["table_id"] for error in progress.refused]


def test_a_refused_document_stays_told_when_another_is_refused_or_mended() -> None:
    estate = Estate()
    one, other, third = (estate.table({"a": prose(200, seed)}) for seed in range(3))
    estate.on()
    write(estate, one, TOO_LARGE)
    write(estate, other, TOO_LARGE)
    assert told(estate) == ("error", [other.id, one.id])
    write(estate, other, {"a": "mended"})
    write(estate, third, {"a": "changed"})
    assert told(estate) == ("error", [one.id])
    estate.delete_table(estate.principal, one.id)
    assert told(estate) == ("ready", [])
