"""One search has one deadline, whatever fails slowly and however often its index is switched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import cast

import pytest

from context_search.domain.errors import (
    EmbeddingTimeoutError,
    SearchUnavailableError,
    VectorStoreUnavailableError,
)
from context_search.domain.model import Reach
from context_search.ports.store import Store, UnitOfWork
from context_search.ports.time import Deadline
from context_search.ports.vectors import Legs, Ranked, VectorQuery
from context_search.services.indexing.evict import UseIndex
from context_search.services.indexing.status import index_of, live_tool
from context_search.services.searching.answer import Answer, Target
from context_search.services.searching.assembly import run_search
from context_search.services.searching.patience import USUAL
from context_search.services.searching.search_tool import SearchWithTool
from testing.in_memory.clock import ManualClock
from testing.in_memory.embedder import WordEmbedder
from tests.services.house import SILENT_S, House, prose


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
        raise VectorStoreUnavailableError("late")


@dataclass
class LateStore:
    """Finds keywords at the last moment; ``given`` is how long it had each time."""

    inner: Store
    clock: ManualClock
    given: list[float] = field(default_factory=list)

    @contextmanager
    def transaction(
        self, project_id: int | None = None, deadline: Deadline | None = None
    ) -> Iterator[UnitOfWork]:
        with self.inner.transaction(project_id, deadline) as work:
            yield cast(UnitOfWork, _Late(work, self))


@dataclass
class _Late:
    work: UnitOfWork
    store: LateStore

    def __getattr__(self, name: str) -> object:
        return self if name == "keywords" else getattr(self.work, name)

    def best(self, *where: object, timeout_s: float) -> list[Ranked]:
        self.store.given.append(timeout_s)
        self.store.clock.advance(timeout_s)
        return self.work.keywords.best(*where, timeout_s=timeout_s)  # type: ignore[arg-type]


class SwitchingHouse(House):
    """A house where everything is slow, and where an index is switched while it is searched.

    ``switches`` says how often; ``opened`` counts how often somebody looked.
    """

    def __init__(self, *, switches: int, is_slow: bool) -> None:
        super().__init__()
        self.tool_id = self.tool(self.table({"a": prose(2_000)})).tool.id
        self.work()
        self.opened, self.switches = 0, switches
        self.late = LateStore(self.store, self.clock)
        self.run = run_search(
            self.late if is_slow else self.store,
            LateVectors(self.clock) if is_slow else self.vectors,  # type: ignore[arg-type]
            lambda _: LateEmbedder(self.clock) if is_slow else self.embedder,
            UseIndex(self.store),
            self.clock,
            self.clock.advance,
        )

    def open(self, work: UnitOfWork) -> Target:
        tool = live_tool(work, self.tool_id, self.principal)
        index, earlier = index_of(work, tool), max(0, self.switches - self.opened)
        self.opened += 1
        switched = replace(index, generation_id=index.generation_id + earlier)
        return Target(switched, Reach(""), tool.search, "ready")

    def ask(self) -> Answer:
        return self.run("key", self.open, "harbour ledger")


def test_switches_of_an_index_do_not_multiply_the_time_of_a_search() -> None:
    house = SwitchingHouse(switches=100, is_slow=True)
    began = house.clock.monotonic()
    with pytest.raises(SearchUnavailableError) as caught:
        house.ask()
    assert caught.value.retryable
    assert house.clock.monotonic() - began <= USUAL.search_s


def test_a_search_that_was_slow_still_has_time_to_ask_postgres_after_a_switch() -> None:
    house = SwitchingHouse(switches=1, is_slow=True)
    began = house.clock.monotonic()
    answer = house.ask()
    assert (answer.found.keywords_from, bool(answer.hits)) == ("postgres", True)
    assert answer.degraded == ["embed_timeout", "backend_unavailable"]
    assert house.late.given[0] == USUAL.keywords_s
    assert house.clock.monotonic() - began <= USUAL.search_s


@pytest.mark.parametrize(("strategy", "seconds"), [("keyword", 13.0), ("hybrid", USUAL.keywords_s)])
def test_keywords_that_are_all_there_is_have_the_time_that_is_left(
    strategy: str, seconds: float
) -> None:
    house = House(storage="lean")
    tool_id = house.tool(house.table({"a": prose(2_000)}), strategy=strategy).tool.id
    house.work()
    late = LateStore(house.store, house.clock)
    use_index, embedder = UseIndex(house.store), house.embedder
    run = run_search(
        late, house.vectors, lambda _: embedder, use_index, house.clock, house.clock.advance
    )
    began = house.clock.monotonic()
    answer = SearchWithTool(run, SILENT_S)(tool_id, house.principal, "harbour ledger", 5)
    assert (answer.degraded, bool(answer.hits)) == ([], True)
    assert late.given == [seconds]
    assert house.clock.monotonic() - began <= USUAL.search_s


def test_an_index_that_is_switched_twice_is_followed() -> None:
    house = SwitchingHouse(switches=2, is_slow=False)
    answer = house.ask()
    assert (answer.degraded, bool(answer.hits), house.opened) == ([], True, 4)


def test_an_index_that_is_switched_without_end_is_not_followed_for_ever() -> None:
    house = SwitchingHouse(switches=1_000, is_slow=False)
    with pytest.raises(SearchUnavailableError):
        house.ask()
    assert house.opened < 10
