"""One search has one deadline, whatever fails slowly and however often its index is switched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from context_search.budgets.spending import NO_LIMITS
from context_search.core.errors import (
    EmbeddingTimeoutError,
    SearchUnavailableError,
    VectorStoreTimeoutError,
)
from context_search.core.model import HydratedChunk
from context_search.indexing.use_index import IndexUse
from context_search.integrations.ports import Legs, Ranked, VectorQuery
from context_search.ranking.search import QuestionLimits, SearchResult, Target
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import SearchLimits, searcher
from context_search.store import UnitOfWork
from testing.in_memory.clock import ManualClock
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.reranker import no_reranker
from tests.steps import write_words
from tests.stores import StoreInFront
from tests.system import SILENT_S, System, prose, search

if TYPE_CHECKING:
    from context_search.searching.sql.live_chunks import LiveChunks

TIMEOUTS = Timeouts()


class LateEmbedder(WordEmbedder):
    """Has no vector when its time is over."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:  # noqa: ARG002
        self.clock.advance(timeout_s)
        raise EmbeddingTimeoutError("late")


@dataclass
class LateVectors:
    """Does not answer while its time lasts."""

    clock: ManualClock

    def query(self, _namespace: str, _query: VectorQuery, *, timeout_s: float) -> Legs:
        self.clock.advance(timeout_s)
        raise VectorStoreTimeoutError("late")


@dataclass
class SlowStore(StoreInFront):
    """Finds keywords at the last moment, and an index that is not the one that answers.

    ``given`` is how long a keyword search had each time; ``opened`` counts how often somebody
    looked for the index, and the first ``switches`` times it is another one.
    """

    clock: ManualClock
    is_slow: bool = True
    switches: int = 0
    opened: int = 0
    given: list[float] = field(default_factory=list)

    @contextmanager
    def around(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        with opened as work:
            yield cast(UnitOfWork, _Slow(work, self))


@dataclass
class _Slow:
    work: UnitOfWork
    store: SlowStore

    def __getattr__(self, name: str) -> object:
        if name == "live_chunks":
            return _Switched(self.work.live_chunks, self.store)
        return self if name == "keywords" else getattr(self.work, name)

    def best(self, *where: object, timeout_s: float) -> list[Ranked]:
        if self.store.is_slow:
            self.store.given.append(timeout_s)
            self.store.clock.advance(timeout_s)
        return self.work.keywords.best(*where, timeout_s=timeout_s)  # type: ignore[arg-type]


@dataclass
class _Switched:
    rows: LiveChunks
    store: SlowStore

    def __getattr__(self, name: str) -> object:
        return getattr(self.rows, name)

    def read_target(self, *read: Any, silent_s: float) -> Target:
        return self._earlier(self.rows.read_target(*read, silent_s=silent_s))

    def read_search(
        self, *read: Any, texts: bool, silent_s: float
    ) -> tuple[Target, dict[str, HydratedChunk]]:
        target, chunks = self.rows.read_search(*read, texts=texts, silent_s=silent_s)
        return self._earlier(target), chunks

    def _earlier(self, target: Target | None) -> Target:
        assert target is not None
        earlier = max(0, self.store.switches - self.store.opened)
        self.store.opened += 1
        index = target.index
        generation = replace(index.generation, id=index.generation.id + earlier)
        return replace(target, index=replace(index, generation=generation))


class SwitchingSystem(System):
    """A system where everything is slow, and where an index is switched while it is searched."""

    def __init__(self, *, switches: int, is_slow: bool) -> None:
        super().__init__()
        self.tool_id = self.tool(self.table({"a": prose(2_000)})).tool.id
        self.work()
        write_words(self.store)
        self.slow = SlowStore(self.store, self.clock, is_slow, switches)
        self.searches = searcher(
            self.slow,
            LateVectors(self.clock) if is_slow else self.vectors,  # type: ignore[arg-type]
            lambda _: LateEmbedder(self.clock) if is_slow else self.embedder,
            no_reranker,
            IndexUse(self.store),
            self.clock,
            self.clock.advance,
            SearchLimits(SILENT_S, TIMEOUTS, NO_LIMITS),
        )

    def ask(self) -> SearchResult:
        return self.search(self.tool_id, self.principal, "harbour ledger", 5)


def test_switches_of_an_index_do_not_multiply_the_time_of_a_search() -> None:
    system = SwitchingSystem(switches=100, is_slow=True)
    began = system.clock.monotonic()
    with pytest.raises(SearchUnavailableError) as caught:
        system.ask()
    assert caught.value.retryable
    assert system.clock.monotonic() - began <= QuestionLimits().seconds


def test_a_search_that_was_slow_still_has_time_to_ask_postgres_after_a_switch() -> None:
    system = SwitchingSystem(switches=1, is_slow=True)
    began = system.clock.monotonic()
    answer = system.ask()
    assert (answer.found.keywords_from, bool(answer.hits)) == ("postgres", True)
    assert answer.degraded == ["embed_timeout", "backend_timeout"]
    assert system.slow.given[0] == TIMEOUTS.keywords_s
    assert system.clock.monotonic() - began <= QuestionLimits().seconds


@pytest.mark.parametrize(
    ("strategy", "seconds"), [("keyword", 13.0), ("hybrid", TIMEOUTS.keywords_s)]
)
def test_keywords_that_are_all_there_is_have_the_time_that_is_left(
    strategy: str, seconds: float
) -> None:
    system = System(storage="lean")
    tool_id = system.tool(system.table({"a": prose(2_000)}), strategy=strategy).tool.id
    system.work()
    slow = SlowStore(system.store, system.clock)
    system.store = slow  # type: ignore[assignment]
    searches = system.searcher(system.embedder)
    began = system.clock.monotonic()
    answer = search(searches, tool_id, system.principal, "harbour ledger", 5)
    assert (answer.degraded, bool(answer.hits)) == ([], True)
    assert slow.given == [seconds]
    assert system.clock.monotonic() - began <= QuestionLimits().seconds


def test_an_index_that_is_switched_twice_is_followed() -> None:
    system = SwitchingSystem(switches=2, is_slow=False)
    answer = system.ask()
    assert (answer.degraded, bool(answer.hits), system.slow.opened) == ([], True, 4)


def test_an_index_that_is_switched_without_end_is_not_followed_for_ever() -> None:
    system = SwitchingSystem(switches=1_000, is_slow=False)
    with pytest.raises(SearchUnavailableError):
        system.ask()
    assert system.slow.opened < 10
