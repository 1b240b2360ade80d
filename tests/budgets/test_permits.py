"""Permits of projects and namespaces that nobody searches any more."""

from __future__ import annotations

from context_search.maintenance.rules.health import CleanupLimits
from context_search.searching.admission import UNUSED_S
from tests.system import System


def take(system: System, pool: str) -> str | None:
    with system.store.for_all("test") as work:
        return work.permits.take(pool, size=3, count=1, lease_s=30)


def test_cleanup_forgets_the_permits_of_what_nobody_searched_for_a_day() -> None:
    system = System()
    take(system, "searched yesterday")
    system.clock.advance(UNUSED_S + 31)
    take(system, "searched today")
    report = system.scheduled(CleanupLimits()).run(system.deadline())
    assert report.errors == []
    assert {pool for pool, _ in system.memory.rows.permits} == {"searched today"}
