"""Limits of a project: eviction, the way back, and strings that wait for room."""

from __future__ import annotations

from contextlib import AbstractContextManager

from context_search.domain.access import Internal
from context_search.domain.errors import DatabaseUnavailableError
from context_search.domain.limits import ProjectLimits, Usage
from context_search.domain.model import SearchTool
from context_search.ports.store import UnitOfWork
from context_search.services.indexing.indexer import Indexer
from context_search.services.indexing.status import ToolStatus
from context_search.services.indexing.use_index import IndexUse
from context_search.services.upkeep.cleanup import CleanupLimits, CleanupReport
from tests.services.house import SILENT_S, House, prose, search

HOUR = 3600.0
FULL = 9
"""Chunks that fit; a string of 500 characters has 5 or 6."""


class Estate(House):
    """A house whose project may hold few chunks; ``worker`` and ``cleanup`` know the limit."""

    def __init__(self, *, max_chunks: int = FULL, max_vector_bytes: int = 10**9) -> None:
        self.project_limits = ProjectLimits(max_chunks, max_vector_bytes, HOUR)
        super().__init__()
        with self.store.for_all("test") as work:
            project = work.projects.add("estate")
            assert project.id == self.principal.project_id

    def worker(self, **limits: object) -> Indexer:
        return super().worker(**{"project": self.project_limits, **limits})  # type: ignore[arg-type]

    def cleanup(self) -> CleanupReport:
        """One run of cleanup, and the work that it orders."""
        limits = CleanupLimits(SILENT_S, grace_s=SILENT_S, project=self.project_limits)
        report = self.scheduled(limits).run(self.deadline())
        assert report.errors == []
        self.work()
        return report

    def indexed(self, seed: int, characters: int = 500) -> SearchTool:
        """A tool over a table of its own, indexed; the clock moves on a second."""
        tool = self.tool(self.table({"a": prose(characters, seed)})).tool
        self.work()
        self.clock.advance(1)
        return tool

    def state(self, tool: SearchTool) -> ToolStatus:
        return self.read_status(tool.id, self.principal)

    def status(self, tool: SearchTool) -> str:
        return self.state(tool).progress.status

    def used(self) -> Usage:
        with self.store.for_all("test") as work:
            return work.quotas.used(self.principal.project_id)

    def ask(self, tool: SearchTool) -> list[str]:
        """Searches; returns what is said about the answer."""
        answer = self.search(tool.id, self.principal, "harbour winter", 5)
        return [answer.target.status, *answer.degraded, *("hits" for hit in answer.hits[:1])]


def crowded() -> tuple[Estate, SearchTool, SearchTool]:
    """An estate over its limit: a first tool that is cold, and a second one."""
    estate = Estate()
    cold = estate.indexed(1)
    estate.clock.advance(2 * HOUR)
    hot = estate.indexed(2)
    assert estate.used().chunks > FULL
    return estate, cold, hot


def test_the_coldest_index_of_a_full_project_is_evicted_and_says_so() -> None:
    estate, cold, hot = crowded()
    report = estate.cleanup()
    assert report.indexes_evicted == 1
    assert (estate.status(cold), estate.status(hot)) == ("evicted", "ready")
    assert estate.used().chunks <= FULL
    error = estate.state(cold).progress.last_error
    assert error is not None
    assert (error["code"], error["retryable"]) == ("INDEX_EVICTED", True)
    summary = estate.memory.rows.tools[cold.id].summary or {}
    assert (summary["status"], summary["last_error"]) == ("evicted", error)


def test_the_documents_of_an_evicted_index_leave_turbopuffer() -> None:
    estate, _, hot = crowded()
    for _ in range(4):
        estate.cleanup()
        estate.clock.advance(2 * SILENT_S)
    assert estate.documents() == estate.rows()
    assert list(estate.vectors.namespaces) == [estate.state(hot).index.namespace]
    assert not estate.memory.rows.tombstones


def test_a_search_on_an_evicted_index_answers_at_once_and_has_it_built_again() -> None:
    estate, cold, _ = crowded()
    estate.cleanup()
    estate.clock.advance(2 * HOUR)
    embedded = estate.embedder.embedded
    assert estate.ask(cold) == ["evicted", "index_evicted"]
    assert estate.embedder.embedded == embedded
    assert estate.status(cold) == "indexing"
    assert estate.ask(cold) == ["indexing", "partial_index"]
    estate.work()
    assert estate.ask(cold) == ["ready", "hits"]


def test_an_index_that_comes_back_while_all_is_in_use_says_that_it_waits() -> None:
    estate, cold, _ = crowded()
    estate.cleanup()
    estate.ask(cold)
    estate.work()
    assert estate.ask(cold) == ["degraded", "partial_index"]
    assert estate.state(cold).progress.states == {"skipped": 1}


def test_many_searches_on_an_evicted_index_order_it_once() -> None:
    estate, cold, _ = crowded()
    estate.cleanup()
    for _ in range(3):
        estate.ask(cold)
    index_id = estate.state(cold).index.id
    assert [message["index_id"] for message in estate.queue.messages] == [index_id]


def test_an_index_that_was_searched_in_the_last_hour_stays() -> None:
    estate, cold, hot = crowded()
    assert estate.ask(cold) == ["ready", "hits"]
    assert estate.cleanup().indexes_evicted == 0
    estate.clock.advance(HOUR - 120)
    estate.ask(hot)
    estate.clock.advance(180)
    assert estate.cleanup().indexes_evicted == 1
    assert (estate.status(cold), estate.status(hot)) == ("evicted", "ready")


def test_a_search_does_not_fail_because_its_use_cannot_be_noted() -> None:
    class Away:
        def for_project(self, *_: object) -> AbstractContextManager[UnitOfWork]:
            raise DatabaseUnavailableError("away")

        for_all = for_project

    estate, cold, _ = crowded()
    estate.cleanup()
    searches = estate.searcher(estate.embedder, IndexUse(Away()))
    answer = search(searches, cold.id, estate.principal, "harbour", 5)
    assert (answer.target.status, answer.degraded) == ("evicted", ["index_evicted"])
    assert estate.status(cold) == "evicted"


def test_a_change_of_the_data_does_not_index_an_evicted_index() -> None:
    estate, cold, _ = crowded()
    estate.cleanup()
    table_id = cold.scope.table_id
    estate.replace(estate.principal, table_id, {"a": prose(500, 3), "b": prose(500, 4)})
    estate.work()
    state = estate.state(cold)
    assert (state.progress.status, state.progress.nodes_count) == ("evicted", 0)
    assert estate.memory.rows.outbox == {}


def test_an_index_that_comes_back_is_that_of_the_present_document() -> None:
    estate, cold, _ = crowded()
    estate.cleanup()
    estate.replace(estate.principal, cold.scope.table_id, {"a": "purple elephants. " * 10})
    estate.work()
    estate.clock.advance(2 * HOUR)
    estate.ask(cold)
    estate.work()
    answer = estate.search(cold.id, estate.principal, "purple elephants", 1)
    assert "purple elephants" in answer.hits[0].chunk.chunk_text
    assert not answer.hits[0].chunk.stale


def test_new_strings_wait_when_everything_is_in_use_and_others_go_on() -> None:
    estate = Estate()
    first = estate.indexed(1)
    document = {"a": prose(500, 2), "b": "winter harbour, a small string"}
    second = estate.tool(estate.table(document)).tool
    estate.work()
    state = estate.state(second)
    assert state.progress.states == {"skipped": 1, "indexed": 1}
    skipped = next(node for node in state.nodes if node.state == "skipped")
    assert skipped.last_error is not None
    assert (skipped.last_error["code"], skipped.last_error["retryable"]) == ("PROJECT_FULL", True)
    assert estate.used().chunks <= FULL
    assert estate.cleanup().indexes_evicted == 0
    assert estate.status(first) == "ready"


def test_a_string_that_waited_is_indexed_when_there_is_room() -> None:
    estate = Estate()
    first, second = estate.indexed(1), estate.indexed(2)
    assert estate.state(second).progress.states == {"skipped": 1}
    assert estate.status(second) == "degraded"
    estate.delete_tool(estate.principal, first.id)
    estate.work()
    report = estate.cleanup()
    assert report.nodes_readmitted == 1
    assert estate.state(second).progress.states == {"indexed": 1}
    assert estate.ask(second) == ["ready", "hits"]


def test_a_string_waits_only_until_a_colder_index_may_go() -> None:
    estate = Estate()
    first, second = estate.indexed(1), estate.indexed(2)
    estate.clock.advance(HOUR - 60)
    estate.ask(second)
    estate.clock.advance(120)
    assert estate.cleanup().nodes_readmitted == 1
    assert estate.cleanup().indexes_evicted == 1
    assert (estate.status(first), estate.status(second)) == ("evicted", "ready")
    assert estate.state(second).progress.states == {"indexed": 1}


def test_an_index_does_not_give_way_to_a_colder_one() -> None:
    estate = Estate()
    first, second = estate.indexed(1), estate.indexed(2)
    estate.clock.advance(HOUR - 60)
    estate.ask(first)
    estate.clock.advance(120)
    assert estate.cleanup().nodes_readmitted == 0
    assert estate.state(second).progress.states == {"skipped": 1}


def test_a_new_version_of_a_text_takes_its_room() -> None:
    estate = Estate()
    tool = estate.indexed(1)
    estate.replace(estate.principal, tool.scope.table_id, {"a": prose(1_500, 2)})
    estate.work()
    assert estate.state(tool).progress.states == {"indexed": 1}
    assert estate.used().chunks > FULL
    assert estate.cleanup().indexes_evicted == 0


def test_the_bytes_of_vectors_are_a_limit_too() -> None:
    a_chunk = 16 * 4
    estate = Estate(max_chunks=10**6, max_vector_bytes=FULL * a_chunk)
    cold = estate.indexed(1)
    assert estate.used().vector_bytes == len(estate.documents()) * a_chunk
    estate.clock.advance(2 * HOUR)
    estate.indexed(2)
    assert estate.cleanup().indexes_evicted == 1
    assert estate.status(cold) == "evicted"


def test_an_earlier_generation_goes_before_an_index() -> None:
    estate = Estate(max_chunks=17)
    tools = [estate.indexed(seed) for seed in (1, 2, 3)]
    estate.rebuilds.start(tools[0].id, Internal())
    estate.work()
    estate.clock.advance(2 * HOUR)
    assert estate.used().chunks == 18
    assert estate.cleanup().indexes_evicted == 1
    assert [estate.status(tool) for tool in tools] == ["ready"] * 3


def test_a_rebuild_takes_its_room_and_an_evicted_index_comes_back_by_one() -> None:
    estate, cold, hot = crowded()
    estate.cleanup()
    generations = estate.rebuilds.reindex(estate.principal)
    assert [each.id for each in generations] == [estate.state(hot).index.id]
    estate.work()
    estate.rebuilds.start(cold.id, Internal())
    assert estate.status(cold) == "indexing"
    estate.work()
    assert estate.state(cold).progress.states == {"indexed": 1}


def test_a_new_tool_on_an_evicted_index_brings_it_back() -> None:
    estate, cold, _ = crowded()
    estate.cleanup()
    with estate.store.for_all("test") as work:
        table = work.tables.find(cold.scope.table_id, project_id=estate.principal.project_id)
    assert table is not None
    estate.clock.advance(2 * HOUR)
    again = estate.tool(table, scope="/a")
    assert again.index.id == estate.state(cold).index.id
    assert again.progress.status == "indexing"
    estate.work()
    assert (estate.status(cold), estate.status(again.tool)) == ("ready", "ready")


def test_an_evicted_index_without_a_tool_goes_for_good() -> None:
    estate, cold, _ = crowded()
    estate.cleanup()
    estate.delete_tool(estate.principal, cold.id)
    estate.work()
    assert len(estate.memory.rows.indexes) == 1


def test_projects_do_not_evict_each_other() -> None:
    estate, cold, _ = crowded()
    with estate.store.for_all("test") as work:
        other = work.projects.add("other")
        assert work.quotas.used(other.id) == Usage(0, 0)
    estate.cleanup()
    with estate.store.for_all("test") as work:
        assert work.evictions.next_to_go(estate.project_limits) is None
    assert estate.status(cold) == "evicted"
