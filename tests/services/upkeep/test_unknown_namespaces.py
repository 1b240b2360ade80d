"""Namespaces of turbopuffer that the database does not know."""

from __future__ import annotations

import pytest

from context_search.domain.errors import VectorStoreRejectedError
from context_search.services.upkeep.cleanup import (
    NAMESPACES_PER_STEP,
    CleanupLimits,
    CleanupReport,
    FindUnknownNamespaces,
)
from testing.in_memory.vectors import DictVectors
from tests.services.house import SILENT_S, House, prose

STRANGERS = ["project_7_search_i3_g1", "project_8_table_9", "project_8_table_9_i4_g2"]
OTHERS = ["another_program", "project_seven", "project_1_table_2_copy"]


class NoListing(DictVectors):
    """A turbopuffer whose key may read and write, but not list namespaces."""

    def namespaces_after(self, *_: object, **__: object) -> list[str]:
        raise VectorStoreRejectedError("turbopuffer answered 403")


@pytest.fixture
def house() -> House:
    """One index of ours beside namespaces of others, none of them empty."""
    house = House()
    house.tool(house.table({"a": prose(500)}))
    house.work()
    [ours] = house.vectors.namespaces.values()
    house.vectors.namespaces |= {name: dict(ours) for name in STRANGERS + OTHERS}
    return house


def cleanup(house: House, *, deletes: bool = False) -> CleanupReport:
    limits = CleanupLimits(SILENT_S, SILENT_S, deletes_unknown=deletes)
    return house.scheduled(limits).run(house.deadline())


def test_strangers_are_counted_and_named_and_never_deleted_by_default(house: House) -> None:
    before = set(house.vectors.namespaces)
    report = cleanup(house)
    assert (report.unknown_namespaces, report.unknown_examples) == (3, STRANGERS)
    assert (report.errors, report.namespaces_deleted) == ([], 0)
    assert set(house.vectors.namespaces) == before


def test_where_it_is_allowed_strangers_are_deleted_and_nothing_else(house: House) -> None:
    before = set(house.vectors.namespaces)
    report = cleanup(house, deletes=True)
    assert (report.unknown_namespaces, report.namespaces_deleted) == (3, 3)
    assert set(house.vectors.namespaces) == before - set(STRANGERS)
    assert cleanup(house, deletes=True).unknown_namespaces == 0


def test_all_pages_are_looked_at(house: House) -> None:
    report = CleanupReport()
    # Six names begin with the prefix: ours, three strangers and two that no generation can have.
    FindUnknownNamespaces(house.store, house.vectors, page=2).run(report)
    assert report.unknown_examples == STRANGERS


def test_a_run_deletes_a_bounded_number(house: House) -> None:
    for number in range(NAMESPACES_PER_STEP):
        house.vectors.namespaces[f"project_9_table_{number}"] = {}
    assert cleanup(house, deletes=True).namespaces_deleted == NAMESPACES_PER_STEP
    assert cleanup(house, deletes=True).namespaces_deleted == len(STRANGERS)


def test_a_key_that_may_not_list_is_no_failure_and_counts_nothing(house: House) -> None:
    house.vectors = NoListing()
    report = cleanup(house)
    assert (report.unknown_namespaces, report.unknown_examples) == (None, [])
    assert report.errors == []
