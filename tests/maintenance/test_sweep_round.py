"""A round of sweeps takes the time that is told, whatever sizes namespaces have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.errors import VectorStoreUnavailableError
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.rules.sweeps import SweepExtent, SweepRound
from context_search.maintenance.sweep import Sweep
from testing.in_memory.vectors import DictVectors
from tests.system import SILENT_S, System, prose

MINUTE = 60.0


def of(vector_rows: int, pages: int, oldest_s: float = 0, every_s: float = MINUTE) -> SweepRound:
    extent = SweepExtent(vector_rows, pages, oldest_s)
    return SweepRound.of(extent, every_s=every_s, swept_after_s=180)


@pytest.mark.parametrize(
    ("pages", "seconds"),
    [(0, 240), (1, 240), (50, 240), (51, 300), (150, 360), (13_500, 180 + 270 * 60)],
)
def test_a_round_takes_a_run_for_fifty_pages(pages: int, seconds: float) -> None:
    assert of(pages * 1_000, pages).seconds == seconds


def test_a_schedule_that_is_no_rate_has_no_known_round_and_none_that_is_late() -> None:
    unknown = of(1, 1, oldest_s=1e9, every_s=0)
    assert (unknown.seconds, unknown.is_late) == (None, False)


def test_a_round_is_late_when_its_oldest_report_is_twice_as_old_as_it_should_be() -> None:
    assert not of(1, 1, oldest_s=480).is_late
    assert of(1, 1, oldest_s=481).is_late


def test_one_large_namespace_and_many_small_ones_take_as_many_pages_as_they_have() -> None:
    system = System()
    large = system.tool(system.table({str(n): prose(1_000, seed=n) for n in range(9)}))
    for seed in range(6):
        system.tool(system.table({"a": prose(200, seed=seed)}))
    system.work()
    sweep = replace(system.sweep, page=4)
    with system.store.for_all("test") as work:
        said = work.sweeps.extent(page=4)
    assert said.pages > 25
    pages = 0
    while any(not row.integrity for row in system.memory.rows.generations.values()):
        system.clock.advance(1)
        assert sweep.run(older_than_s=5) is not None  # so the small ones are due again at once
        pages += 1
    assert pages <= said.pages
    assert pages > said.pages - 10  # pages of a namespace end where those of chunks and rows do
    assert large.index.generation.id in system.memory.rows.generations


def test_cleanup_tells_the_round_and_when_it_is_late() -> None:
    system = System()
    system.tool(system.table({"a": prose(500)}))
    system.work()
    cleanup = system.scheduled(CleanupLimits(SILENT_S), every_s=MINUTE)
    report = cleanup.run(system.deadline())
    assert report.sweep_round is not None
    assert report.sweep_round.vector_rows == len(system.documents())
    assert (report.sweep_round.seconds, report.sweep_round.oldest_s) == (SILENT_S + MINUTE, 0)
    assert report.errors == []


class Unlisted(DictVectors):
    """Nothing can be listed."""

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        raise VectorStoreUnavailableError(f"away: {limit} of {namespace} after {after}")


def test_a_round_that_does_not_end_in_time_is_an_error_of_the_report() -> None:
    system = System()
    system.vectors = Unlisted()
    system.sweep = Sweep(system.store, system.vectors)
    system.tool(system.table({"a": ""}))
    cleanup = system.scheduled(CleanupLimits(SILENT_S), every_s=MINUTE)
    reported = []
    for _ in range(6):
        system.clock.advance(MINUTE)
        reported.append("sweep: LATE" in cleanup.run(system.deadline()).errors)
    assert reported == [False] * 4 + [True] * 2
