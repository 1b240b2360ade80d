"""Namespaces of turbopuffer that the database does not know."""

from __future__ import annotations

import pytest

from context_search.core.errors import VectorStoreRejectedError
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.sweep import NAMESPACES_PER_STEP, FindUnknownNamespaces
from testing.in_memory.vectors import DictVectors
from tests.faults.simulation.model.rows import DEPLOYMENT
from tests.system import SILENT_S, System, prose

FORGOTTEN = [
    f"{DEPLOYMENT}_project_{name}" for name in ("7_search_i3_g1", "8_table_9", "9_table_1")
]
OTHERS = ["another_program", "another000_project_1_table_1", "project_1_table_2"]


class NoListing(DictVectors):
    """A turbopuffer whose key may read and write, but not list namespaces."""

    def namespaces_after(self, *_: object, **__: object) -> list[str]:
        raise VectorStoreRejectedError("turbopuffer answered 403")


@pytest.fixture
def system() -> System:
    """One index of ours beside namespaces of others, none of them empty."""
    system = System()
    system.tool(system.table({"a": prose(500)}))
    system.work()
    [ours] = system.vectors.namespaces.values()
    system.vectors.namespaces |= {name: dict(ours) for name in FORGOTTEN + OTHERS}
    return system


def cleanup(system: System, *, deletes: bool = False) -> CleanupReport:
    limits = CleanupLimits(SILENT_S, SILENT_S, deletes_unknown=deletes)
    return system.scheduled(limits).run(system.deadline())


def test_where_it_is_allowed_forgotten_namespaces_are_deleted_and_no_others(system: System) -> None:
    before = set(system.vectors.namespaces)
    report = cleanup(system, deletes=True)
    assert (report.unknown_namespaces, report.namespaces_deleted) == (3, 3)
    assert set(system.vectors.namespaces) == before - set(FORGOTTEN)
    assert cleanup(system, deletes=True).unknown_namespaces == 0


def test_all_pages_are_looked_at(system: System) -> None:
    report = CleanupReport()
    # Four names begin with the prefix: the one in use and three that are forgotten.
    FindUnknownNamespaces(system.store, system.vectors, page=2).run(report)
    assert report.unknown_examples == FORGOTTEN


def test_a_run_deletes_a_bounded_number(system: System) -> None:
    for number in range(NAMESPACES_PER_STEP):
        system.vectors.namespaces[f"{DEPLOYMENT}_project_10_table_{number}"] = {}
    assert cleanup(system, deletes=True).namespaces_deleted == NAMESPACES_PER_STEP
    assert cleanup(system, deletes=True).namespaces_deleted == len(FORGOTTEN)


def test_a_key_that_may_not_list_is_no_failure_and_counts_nothing(system: System) -> None:
    system.vectors = NoListing()
    report = cleanup(system)
    assert (report.unknown_namespaces, report.unknown_examples) == (None, [])
    assert report.errors == []
