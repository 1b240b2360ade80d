"""Permits of projects and namespaces that nobody searches any more."""

from __future__ import annotations

from context_search.services.searching.admission import UNUSED_S
from context_search.services.upkeep.cleanup import CleanupLimits
from tests.services.house import House


def take(house: House, pool: str) -> str | None:
    with house.store.for_all("test") as work:
        return work.permits.take(pool, size=3, count=1, lease_s=30)


def test_cleanup_forgets_the_permits_of_what_nobody_searched_for_a_day() -> None:
    house = House()
    take(house, "searched yesterday")
    house.clock.advance(UNUSED_S + 31)
    take(house, "searched today")
    report = house.scheduled(CleanupLimits()).run(house.deadline())
    assert report.errors == []
    assert {pool for pool, _ in house.memory.rows.permits} == {"searched today"}
