"""Words that are written later, while the strings that they are of are swapped."""

from __future__ import annotations

import pytest

from context_search.core.errors import VectorStoreUnavailableError
from context_search.core.model import ChunkSet, Claim
from context_search.indexing.use_index import IndexUse
from context_search.indexing.vector_rows import tokens_of
from context_search.integrations.ports import Legs
from context_search.integrations.system_clock import SystemClock
from context_search.postgres.pool import Database
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.search import searcher
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.vectors import DictVectors
from tests.builders import english
from tests.contract.store.bench import PostgresBench
from tests.steps import write_words

BEFORE = english(400)
AFTER = english(400, seed=5)


class AwayVectors(DictVectors):
    """turbopuffer answers no question."""

    def query(self, *_: object, **__: object) -> Legs:
        raise VectorStoreUnavailableError("away")


class Desk:
    """A string that is indexed, and its next version, of which the swap alone is left."""

    def __init__(self, database: Database) -> None:
        self.bench = PostgresBench(database)
        self.table = self.bench.table({"a": BEFORE})
        self.tool, index = self.bench.tool(self.table)
        [node_id] = self.bench.enumerate(index)
        self.made = self.bench.finish(node_id)
        self.bench.work.chunks.postpone_words([self.made.id])

    def edited(self) -> tuple[Claim, ChunkSet]:
        self.bench.change(self.table, {"a": AFTER})
        [node_id] = self.bench.enumerate(self.bench.index(self.tool.index_id))
        claim = self.bench.claim(node_id)
        new = self.bench.begin(claim)
        self.bench.mark(new)
        return claim, new

    def ask(self, words: str) -> SearchResult:
        clock, vectors, store = SystemClock(), AwayVectors(), self.bench.store
        embedder = WordEmbedder(16)
        searches = searcher(
            store, vectors, lambda _: embedder, IndexUse(store), clock, lambda _: None, 60.0
        )
        searched = SearchedTool.by(self.bench.principal(self.table), self.tool.id)
        return searches.search(searched, words, QuestionLimits())


@pytest.fixture
def desk(module_database: Database) -> Desk:
    return Desk(module_database)


def test_who_writes_words_and_who_swaps_do_not_wait_for_each_other(desk: Desk) -> None:
    swap = desk.edited()
    with desk.bench.store.for_all("test") as work:
        taken = work.chunks.take_wordless(limit=500, wait_s=0)
        swapped = desk.bench.begun(desk.bench.activate, *swap)
        work.keywords.put([each for one in taken for each in tokens_of(one)])
    assert swapped.result(30) is True


def test_words_of_a_string_that_is_being_swapped_are_left_for_later(desk: Desk) -> None:
    claim, new = desk.edited()
    with desk.bench.store.for_all("test") as work:
        assert work.nodes.hold([claim], lease_s=60)
        other = desk.bench.begun(write_words, desk.bench.store, wait_s=0)
        assert other.result(30) == 0
        assert work.chunks.activate([(claim, new)])
        work.chunks.postpone_words([new.id])
    assert write_words(desk.bench.store) == len(new.chunks)


def test_a_swap_while_keywords_are_searched_is_told(desk: Desk) -> None:
    write_words(desk.bench.store)
    assert desk.ask(AFTER[:60]).degraded == ["backend_unavailable"]
    claim, new = desk.edited()
    with desk.bench.store.for_all("test") as work:
        held = work.nodes.hold([claim], lease_s=60)
        work.keywords.tx.run("LOCK TABLE chunk_words IN ACCESS EXCLUSIVE MODE")
        asked = desk.bench.begun(desk.ask, AFTER[:60])
        assert not asked.done()
        assert work.chunks.activate([(each, new) for each in held])
        work.chunks.postpone_words([new.id])
    answer = asked.result(30)
    assert answer.degraded == ["backend_unavailable", "partial_keywords"]
    assert answer.hint == "index_incomplete"
