"""What is in turbopuffer is what Postgres says, or is made so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.errors import VectorStoreUnavailableError
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.rules.sweeps import SweepExtent, SweepRound
from context_search.maintenance.sweep import Sweep
from testing.in_memory.vectors import DictVectors
from tests.steps import write_words
from tests.system import SILENT_S, System, prose


def built(system: System) -> str:
    status = system.tool(system.table({"a": prose(1_000)}))
    system.work()
    return status.index.generation.namespace


def test_a_document_that_nobody_knows_is_deleted() -> None:
    system = System()
    namespace = built(system)
    documents = system.vectors.namespaces[namespace]
    known = next(iter(documents.values()))
    documents["1.stranger.x.1.0"] = replace(known, id="1.stranger.x.1.0")
    documents[known.id + ".w1"] = replace(known, id=known.id + ".w1")
    found = system.sweep.run(older_than_s=0)
    assert found is not None
    assert found.orphans == 1  # a further window of a known chunk is no stranger
    assert "1.stranger.x.1.0" not in documents


def test_a_lost_namespace_is_written_again() -> None:
    system = System()
    namespace = built(system)
    before = system.documents()
    del system.vectors.namespaces[namespace]
    found = system.sweep.run(older_than_s=0)
    assert found is not None
    assert found.missing == found.repaired == len(before)
    system.work()
    assert system.documents() == before


def test_one_lost_document_is_embedded_again_and_no_other() -> None:
    system = System()
    namespace = built(system)
    before, embedded = system.documents(), system.embedder.embedded
    del system.vectors.namespaces[namespace][sorted(before)[0]]
    system.sweep.run(older_than_s=0)
    system.work()
    assert system.documents() == before
    assert system.embedder.embedded == embedded + 1


def test_a_chunk_of_more_windows_than_a_page_holds_does_not_stop_a_sweep() -> None:
    system = System(window_tokens=3)
    namespace = built(system)
    lost = max(system.vectors.namespaces[namespace])
    del system.vectors.namespaces[namespace][lost]
    sweep = replace(system.sweep, page=3)
    found = 0
    for _ in range(len(system.documents())):
        page = sweep.run(older_than_s=0)
        assert page is not None
        found += page.missing
        with system.store.for_all("test") as work:
            if work.sweeps.reports(None):
                break
    else:
        raise AssertionError("the sweep does not end")
    assert found == 1


def test_a_healthy_namespace_has_a_report_without_findings() -> None:
    system = System()
    built(system)
    system.sweep.run(older_than_s=0)
    with system.store.for_all("test") as work:
        [report] = work.sweeps.reports(None)
    assert (report["orphans"], report["missing"]) == (0, 0)
    assert report["checked"] == len(system.documents())
    assert system.sweep.run(older_than_s=3_600) is None


def test_a_search_on_a_lost_namespace_says_so_and_orders_what_mends_it() -> None:
    system = System()
    other = system.tool(system.table({"b": prose(300, 2)})).index.generation.namespace
    tool = system.tool(system.table({"a": prose(1_000)}))
    system.work()
    write_words(system.store)
    for _ in range(2):
        system.sweep.run(older_than_s=0)
        system.clock.advance(1)
    before = system.documents()
    del system.vectors.namespaces[tool.index.generation.namespace]
    answer = system.search(tool.tool.id, system.principal, "harbour winter", 5)
    assert (bool(answer.hits), answer.degraded) == (True, ["namespace_missing"])
    with system.store.for_all("test") as work:
        [due] = work.sweeps.due(older_than_s=3_600, limit=9)
    assert due.namespace == tool.index.generation.namespace != other
    system.sweep.run(older_than_s=3_600)
    system.work()
    assert system.documents() == before
    answer = system.search(tool.tool.id, system.principal, "harbour winter", 5)
    assert answer.hits
    assert (answer.degraded, answer.target.status) == ([], "ready")


def test_a_namespace_that_never_was_is_not_lost() -> None:
    system = System()
    tool = system.tool(system.table({"a": "short"}))
    system.work()
    answer = system.search(tool.tool.id, system.principal, "harbour winter", 5)
    assert (answer.hits, answer.degraded) == ([], [])


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
    while any(not row.integrity for row in system.model_store.rows.generations.values()):
        system.clock.advance(1)
        assert sweep.run(older_than_s=5) is not None  # so the small ones are due again at once
        pages += 1
    assert pages <= said.pages
    assert pages > said.pages - 10  # pages of a namespace end where those of chunks and rows do
    assert large.index.generation.id in system.model_store.rows.generations


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
