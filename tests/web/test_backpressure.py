"""120 searches at once: 64 are let in and finish, the others are told when to come back."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import httpx2
import pytest

from context_search.budgets.spending import NO_LIMITS
from context_search.core.config import IndexConfig
from context_search.core.errors import BackpressureError
from context_search.indexing.use_index import IndexUse
from context_search.integrations.ports import Embedder
from context_search.postgres.pool import Database
from context_search.ranking.search import QuestionLimits
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import Searcher, SearchLimits, searcher
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.reranker import no_reranker
from tests.builders import english, planted
from tests.contract.turbopuffer.faulty import Faults
from tests.web.api import Api, LocalParts

AT_ONCE, LET_IN = 120, 64
SENTENCE = "The lighthouse keeper counted nine comets."


class Gate(WordEmbedder):
    """Holds questions while it is closed."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self.opened = threading.Event()
        self.opened.set()

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        assert self.opened.wait(60)
        return super().embed_query(text, timeout_s=timeout_s)


class HeldParts(LocalParts):
    """Parts whose model answers when it is told to; questions are not hurried."""

    gate = Gate(64)

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """See the base."""
        assert config.dimensions == self.gate.dimensions
        return self.gate

    @cached_property
    def unhurried(self) -> Searcher:
        """A search that waits for the gate as long as it takes."""
        return searcher(
            self.store,
            self.vectors,
            self.embedder_of,
            no_reranker,
            IndexUse(self.store),
            self.clock,
            time.sleep,
            SearchLimits(self.settings.silent_after_s, Timeouts(), NO_LIMITS),
        )


@pytest.fixture(scope="module")
def parts(module_database: Database, turbopuffer_url: str) -> HeldParts:
    return HeldParts(module_database, turbopuffer_url)


@pytest.fixture
def faults(turbopuffer_url: str) -> Iterator[Faults]:
    with httpx2.Client(base_url=turbopuffer_url) as http:
        board = Faults(http)
        yield board
        board.clear()


def test_of_120_searches_64_are_let_in_and_finish(
    api: Api, parts: HeldParts, faults: Faults
) -> None:
    tool = api.tool(api.table({"a": planted(english(900), SENTENCE, 400)}))
    searched = SearchedTool(tool["tool_id"], api.project_id)
    refused = threading.Semaphore(0)

    def ask(number: int) -> str:
        try:
            answer = parts.unhurried.search(searched, f"comets {number}", QuestionLimits(top_k=5))
        except BackpressureError as error:
            refused.release()
            return f"refused for {error.retry_after_s} s"
        assert "comets" in answer.hits[0].chunk.chunk_text
        assert set(answer.degraded) <= {"backend_busy"}
        return "answered"

    faults.arm("slow", count=1_000, on="query", namespace=tool["namespace"], delay_ms=150)
    parts.gate.opened.clear()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        asked = [threads.submit(ask, number) for number in range(AT_ONCE)]
        # Nobody is done before the last one is refused.
        are_refused = all(refused.acquire(timeout=20) for _ in range(AT_ONCE - LET_IN))
        parts.gate.opened.set()
        outcomes = Counter(each.result() for each in asked)
    assert are_refused
    assert outcomes == {"answered": LET_IN, "refused for 0.2 s": AT_ONCE - LET_IN}
    assert api.search(tool, "comets")["retrieval"]["degraded"] == []
