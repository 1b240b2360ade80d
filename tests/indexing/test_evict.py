"""Limits of a project: eviction, the way back, and strings that wait for room."""

from __future__ import annotations

from contextlib import AbstractContextManager

from context_search.core.errors import DatabaseUnavailableError
from context_search.core.limits import ProjectLimits, Usage
from context_search.core.model import SearchTool
from context_search.indexing.indexer import Indexer
from context_search.indexing.status import ToolStatus
from context_search.indexing.use_index import IndexUse
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.health import CleanupLimits
from context_search.store import UnitOfWork
from tests.system import SILENT_S, System, prose, search

HOUR = 3600.0
FULL = 9
"""Chunks that fit; a string of 500 characters has 5 or 6."""


class LimitedSystem(System):
    """A system whose project may hold few chunks; ``worker`` and ``cleanup`` know the limit."""

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


def crowded() -> tuple[LimitedSystem, SearchTool, SearchTool]:
    """A system over its limit: a first tool that is cold, and a second one."""
    system = LimitedSystem()
    cold = system.indexed(1)
    system.clock.advance(2 * HOUR)
    hot = system.indexed(2)
    assert system.used().chunks > FULL
    return system, cold, hot


def test_the_coldest_index_of_a_full_project_is_evicted_and_says_so() -> None:
    system, cold, hot = crowded()
    report = system.cleanup()
    assert report.indexes_evicted == 1
    assert (system.status(cold), system.status(hot)) == ("evicted", "ready")
    assert system.used().chunks <= FULL
    error = system.state(cold).progress.last_error
    assert error is not None
    assert (error["code"], error["retryable"]) == ("INDEX_EVICTED", True)
    summary = system.model_store.rows.tools[cold.id].summary or {}
    assert (summary["status"], summary["last_error"]) == ("evicted", error)


def test_a_search_on_an_evicted_index_answers_at_once_and_has_it_built_again() -> None:
    system, cold, _ = crowded()
    system.cleanup()
    system.clock.advance(2 * HOUR)
    embedded = system.embedder.embedded
    assert system.ask(cold) == ["evicted", "index_evicted"]
    assert system.embedder.embedded == embedded
    assert system.status(cold) == "indexing"
    assert system.ask(cold) == ["indexing", "partial_index"]
    system.work()
    assert system.ask(cold) == ["ready", "hits"]


def test_an_index_that_comes_back_while_all_is_in_use_says_that_it_waits() -> None:
    system, cold, _ = crowded()
    system.cleanup()
    system.ask(cold)
    system.work()
    assert system.ask(cold) == ["degraded", "partial_index"]
    assert system.state(cold).progress.states == {"skipped": 1}


def test_an_index_that_was_searched_in_the_last_hour_stays() -> None:
    system, cold, hot = crowded()
    assert system.ask(cold) == ["ready", "hits"]
    assert system.cleanup().indexes_evicted == 0
    system.clock.advance(HOUR - 120)
    system.ask(hot)
    system.clock.advance(180)
    assert system.cleanup().indexes_evicted == 1
    assert (system.status(cold), system.status(hot)) == ("evicted", "ready")


def test_a_new_version_of_a_text_takes_its_room() -> None:
    system = LimitedSystem()
    tool = system.indexed(1)
    system.replace(system.principal, tool.scope.table_id, {"a": prose(1_500, 2)})
    system.work()
    assert system.state(tool).progress.states == {"indexed": 1}
    assert system.used().chunks > FULL
    assert system.cleanup().indexes_evicted == 0


def test_a_search_does_not_fail_because_its_use_cannot_be_noted() -> None:
    class Away:
        def for_project(self, *_: object) -> AbstractContextManager[UnitOfWork]:
            raise DatabaseUnavailableError("away")

        for_all = for_project

    system, cold, _ = crowded()
    system.cleanup()
    searches = system.searcher(system.embedder, IndexUse(Away()))
    answer = search(searches, cold.id, system.principal, "harbour", 5)
    assert (answer.target.status, answer.degraded) == ("evicted", ["index_evicted"])
    assert system.status(cold) == "evicted"


def test_a_change_of_the_data_does_not_index_an_evicted_index() -> None:
    system, cold, _ = crowded()
    system.cleanup()
    table_id = cold.scope.table_id
    system.replace(system.principal, table_id, {"a": prose(500, 3), "b": prose(500, 4)})
    system.work()
    state = system.state(cold)
    assert (state.progress.status, state.progress.nodes_count) == ("evicted", 0)
    assert system.model_store.rows.outbox == {}


def test_new_strings_wait_when_everything_is_in_use_and_others_go_on() -> None:
    system = LimitedSystem()
    first = system.indexed(1)
    document = {"a": prose(500, 2), "b": "winter harbour, a small string"}
    second = system.tool(system.table(document)).tool
    system.work()
    state = system.state(second)
    assert state.progress.states == {"skipped": 1, "indexed": 1}
    skipped = next(node for node in state.nodes if node.state == "skipped")
    assert skipped.last_error is not None
    assert (skipped.last_error["code"], skipped.last_error["retryable"]) == ("PROJECT_FULL", True)
    assert system.used().chunks <= FULL
    assert system.cleanup().indexes_evicted == 0
    assert system.status(first) == "ready"


def test_a_string_that_waited_is_indexed_when_there_is_room() -> None:
    system = LimitedSystem()
    first, second = system.indexed(1), system.indexed(2)
    assert system.state(second).progress.states == {"skipped": 1}
    assert system.status(second) == "degraded"
    system.delete_tool(system.principal, first.id)
    system.work()
    report = system.cleanup()
    assert report.nodes_readmitted == 1
    assert system.state(second).progress.states == {"indexed": 1}
    assert system.ask(second) == ["ready", "hits"]


def test_a_new_tool_on_an_evicted_index_brings_it_back() -> None:
    system, cold, _ = crowded()
    system.cleanup()
    with system.store.for_all("test") as work:
        table = work.tables.find(cold.scope.table_id, project_id=system.principal.project_id)
    assert table is not None
    system.clock.advance(2 * HOUR)
    again = system.tool(table, scope="/a")
    assert again.index.id == system.state(cold).index.id
    assert again.progress.status == "indexing"
    system.work()
    assert (system.status(cold), system.status(again.tool)) == ("ready", "ready")


def test_an_evicted_index_without_a_tool_goes_for_good() -> None:
    system, cold, _ = crowded()
    system.cleanup()
    system.delete_tool(system.principal, cold.id)
    system.work()
    assert len(system.model_store.rows.indexes) == 1
