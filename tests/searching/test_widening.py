"""Documents that are not live any more, and copies, do not take the places of others."""

from __future__ import annotations

import pytest

from context_search.integrations.ports import Legs, VectorQuery
from context_search.ranking.search import QuestionLimits
from context_search.searching.rules.searched import SearchedTool
from testing.in_memory.vectors import DictVectors
from tests.system import System, prose

ONCE = "The harbour is named once in this report about a quiet winter. "
DEAD = "Harbour harbour, harbour. " * 1_500
"""Over 300 chunks, all of them better than ``ONCE``."""


def crowded(kept: str, **search: str) -> tuple[System, int]:
    """A tool whose index has lost a long string that turbopuffer still holds."""
    system = System()
    table = system.table({"dead": DEAD, "kept": kept})
    tool_id = system.tool(table, "", **search).tool.id
    system.work()
    system.replace(system.principal, table.id, {"kept": kept})
    return system, tool_id


@pytest.mark.parametrize("fusion", ["convex", "rrf", "linear"])
@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
def test_what_is_live_is_found_behind_more_dead_documents_than_a_leg_has_places(
    strategy: str, fusion: str
) -> None:
    system, tool_id = crowded(ONCE, strategy=strategy, fusion=fusion)
    answer = system.search(tool_id, system.principal, "harbour", 5)
    assert [hit.json_path for hit in answer.hits] == ["/kept"]
    assert answer.gone > 300


class CountingVectors(DictVectors):
    """Counts how often it is asked."""

    asked = 0

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        self.asked += 1
        return super().query(namespace, query, timeout_s=timeout_s)


def windowed(chunks: int, strategy: str) -> tuple[System, CountingVectors, int]:
    """A tool over so many chunks of over twenty windows each."""
    system = System(chunk_size=2_000, window_tokens=20)
    counting = CountingVectors()
    counting.namespaces = system.vectors.namespaces
    system.vectors = counting
    system.indexer, system.searches = system.worker(), system.searcher(system.embedder)
    table = system.table([prose(1_900, seed) for seed in range(chunks)])
    tool_id = system.tool(table, strategy=strategy).tool.id
    system.work()
    assert len(system.rows()) == chunks
    assert len(system.documents()) > 20 * chunks
    return system, counting, tool_id


@pytest.mark.parametrize("strategy", ["hybrid", "semantic"])
def test_as_many_chunks_are_found_as_are_shown_though_each_has_many_windows(strategy: str) -> None:
    system, _, tool_id = windowed(18, strategy)
    for shown in (20, 18):
        assert len(system.search(tool_id, system.principal, "zebra", shown).hits) == 18
    assert len(system.search(tool_id, system.principal, "zebra", 7).hits) == 7


def test_the_legs_are_asked_once_where_enough_chunks_come_at_once() -> None:
    system, counting, tool_id = windowed(18, "hybrid")
    assert len(system.search(tool_id, system.principal, "harbour", 18).hits) == 18  # by their words
    assert counting.asked == 1
    few, counting, tool_id = windowed(1, "semantic")
    assert len(few.search(tool_id, few.principal, "zebra", 20).hits) == 1
    assert counting.asked == 1


def test_a_leg_gives_as_many_chunks_as_there_are_places_in_one_request() -> None:
    system, counting, tool_id = windowed(60, "semantic")
    answer = system.ranked(tool_id, "zebra")
    assert (answer.ranked, counting.asked) == (50, 1)
    assert answer.found.is_cut


def test_a_leg_gives_no_more_live_candidates_than_it_was_asked_for() -> None:
    system, tool_id = crowded(ONCE + prose(12_000), strategy="semantic")
    answer = system.ranked(tool_id, "harbour")
    assert answer.gone > 300
    assert answer.ranked == 50
    assert all(hit.chunk.chunk_text for hit in answer.hits)


@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
def test_more_copies_than_a_leg_has_places_hide_nothing(strategy: str) -> None:
    system = System(chunk_size=1_000, chunk_overlap=100)
    copies = ["The harbour is closed in winter, the harbour office says."] * 120
    document = {"copies": copies, "other": "In winter ships wait outside of the harbour for days."}
    tool_id = system.tool(system.table(document), strategy=strategy).tool.id
    system.work()
    searched = SearchedTool.by(system.principal, tool_id)
    limits = QuestionLimits(top_k=3, collapse=True)
    answer = system.searches.search(searched, "harbour office", limits)
    assert [hit.json_path for hit in answer.hits] == ["/copies/0", "/other"]
    assert answer.hits[0].duplicates_total == 119
