"""What a search answers while a part of it fails: another way, and it says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import cast

import pytest

from context_search.core.errors import (
    BackpressureError,
    ContextSearchError,
    EmbeddingUnavailableError,
    KeywordTimeoutError,
    SearchTimeoutError,
    SearchUnavailableError,
    VectorStoreRejectedError,
    VectorStoreTimeoutError,
    VectorStoreUnavailableError,
)
from context_search.core.limits import search_pool
from context_search.integrations.ports import Legs, Ranked, VectorQuery
from context_search.ranking.search import SearchResult
from context_search.searching.admission import (
    QUERIES_PER_NAMESPACE,
    SEARCHES_PER_PROJECT,
)
from context_search.searching.breaker import FAILURES_TO_OPEN
from context_search.store import UnitOfWork
from context_search.text.analysis import query_weights
from testing.in_memory.embedder import WordEmbedder
from tests.builders import english
from tests.steps import write_words
from tests.stores import StoreInFront
from tests.system import System, prose, search

TEXT = prose(2_000)


class MoodyVectors:
    """Raises ``error`` for queries when there is one; everything else is the inner store's."""

    def __init__(self, inner: object) -> None:
        self.inner = inner
        self.error: ContextSearchError | None = None
        self.queries = 0

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        self.queries += 1
        self.last = query
        if self.error is not None:
            raise self.error
        answer: Legs = self.inner.query(namespace, query, timeout_s=timeout_s)  # type: ignore[attr-defined]
        return answer

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


class DownEmbedder(WordEmbedder):
    """Has no vector for any question."""

    def embed_query(self, *_: object, **__: object) -> list[float]:
        raise EmbeddingUnavailableError("down")


@dataclass
class WithoutKeywords(StoreInFront):
    """A store whose keyword search takes too long."""

    @contextmanager
    def around(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        with opened as work:
            yield cast(UnitOfWork, _Slow(work))


@dataclass
class _Slow:
    inner: object

    def __getattr__(self, name: str) -> object:
        return self if name == "keywords" else getattr(self.inner, name)

    def best(self, *_: object, **__: object) -> list[Ranked]:
        raise KeywordTimeoutError("simulated")


class MoodySystem(System):
    """A system whose turbopuffer can fail, with one indexed tool."""

    def __init__(self, **config: object) -> None:
        super().__init__(**config)  # type: ignore[arg-type]
        self.moody = MoodyVectors(self.vectors)
        self.vectors = self.moody  # type: ignore[assignment]
        self.searches = self.searcher(self.embedder)
        self.only_table = self.table({"a": TEXT})
        self.tool_id = self.tool(self.only_table).tool.id
        self.work()
        write_words(self.store)

    def ask(self, query: str = "harbour ledger", top_k: int = 5) -> SearchResult:
        return self.search(self.tool_id, self.principal, query, top_k)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (VectorStoreTimeoutError("late"), "backend_timeout"),
        (VectorStoreUnavailableError("503"), "backend_unavailable"),
        (VectorStoreRejectedError("401"), "backend_unavailable"),
    ],
    ids=str,
)
def test_without_turbopuffer_postgres_answers_by_keywords(
    error: ContextSearchError, word: str
) -> None:
    system = MoodySystem()
    usual = system.ask()
    system.moody.error = error
    answer = system.ask()
    assert (answer.mode_used, answer.degraded) == ("keyword", [word])
    assert (answer.found.keywords_from, answer.found.legs) == ("postgres", ["keyword"])
    assert answer.found.errors == [error.code]
    assert answer.hits[0].chunk.json_pointer == usual.hits[0].chunk.json_pointer == "/a"


def test_words_that_are_not_written_yet_are_missed_and_said() -> None:
    system = MoodySystem()
    system.table({"a": TEXT})
    tool = system.tool(system.table({"b": TEXT, "c": TEXT + TEXT})).tool.id
    system.work()
    system.moody.error = VectorStoreUnavailableError("503")
    lost, found = system.search(tool, system.principal, "harbour ledger", 5), system.ask()
    assert (list(lost.hits), lost.hint) == ([], "index_incomplete")
    assert lost.degraded == ["backend_unavailable", "partial_keywords"]
    assert (bool(found.hits), found.degraded) == (True, ["backend_unavailable"])
    assert write_words(system.store, 1) == 1
    some = system.search(tool, system.principal, "harbour ledger", 5)
    assert (len(some.hits), some.hint) == (1, None)
    assert some.degraded == ["backend_unavailable", "partial_keywords"]
    assert write_words(system.store) > 1
    whole = system.search(tool, system.principal, "harbour ledger", 5)
    assert (len(whole.hits), whole.degraded) == (5, ["backend_unavailable"])


def test_a_search_by_meaning_alone_goes_to_postgres_too() -> None:
    system = MoodySystem()
    tool = system.tool(system.only_table, strategy="semantic").tool.id
    system.moody.error = VectorStoreUnavailableError("503")
    answer = system.search(tool, system.principal, "harbour", 5)
    assert (answer.mode_requested, answer.mode_used) == ("semantic", "keyword")
    assert answer.hits


def test_turbopuffer_that_keeps_failing_is_not_asked_for_a_while() -> None:
    system = MoodySystem()
    system.moody.error = VectorStoreUnavailableError("503")
    asked = system.moody.queries
    for _ in range(9):
        assert system.ask().hits
    assert system.moody.queries == asked + 5
    system.moody.error = None
    system.clock.advance(11)
    assert system.ask().degraded == []


def test_a_lost_namespace_is_answered_from_postgres_and_named() -> None:
    system = MoodySystem()
    system.moody.inner.namespaces.clear()  # type: ignore[attr-defined]
    answer = system.ask()
    assert (answer.degraded, bool(answer.hits)) == (["namespace_missing"], True)


def test_with_everything_down_the_error_says_try_again() -> None:
    system = MoodySystem()
    without_model = DownEmbedder(system.embedder.dimensions)
    searches = system.searcher(without_model)
    system.moody.error = VectorStoreUnavailableError("503")
    answer = search(searches, system.tool_id, system.principal, "harbour", 5)
    assert answer.degraded == ["embed_unavailable", "backend_unavailable"]
    system.store = WithoutKeywords(system.store)  # type: ignore[assignment]
    searches = system.searcher(without_model)
    with pytest.raises(SearchTimeoutError) as caught:  # of the keywords
        search(searches, system.tool_id, system.principal, "harbour", 5)
    assert (caught.value.code, caught.value.retryable) == ("SEARCH_TIMEOUT", True)


def test_a_question_without_keywords_that_no_leg_could_take_is_an_error_too() -> None:
    system = MoodySystem()
    assert system.search(system.tool_id, system.principal, "what is this and that", 5).hits
    system.moody.error = VectorStoreUnavailableError("503")
    with pytest.raises(SearchUnavailableError):
        system.search(system.tool_id, system.principal, "what is this and that", 5)


def test_a_busy_namespace_does_not_take_the_try_of_a_breaker() -> None:
    system = MoodySystem()
    pool = f"queries of {system.ask().hits[0].chunk.turbopuffer_namespace}"
    system.moody.error = VectorStoreUnavailableError("503")
    for _ in range(5):
        system.ask()
    system.moody.error = None
    system.clock.advance(11)
    with system.store.for_all("test") as work:
        work.permits.take(pool, size=QUERIES_PER_NAMESPACE, count=15, lease_s=4)
    assert system.ask().degraded == ["backend_busy"]
    system.clock.advance(3)
    assert system.ask().degraded == []


def test_more_searches_than_allowed_are_refused_and_say_when_to_come_back() -> None:
    system = MoodySystem()
    pool = search_pool(system.principal.project_id)
    with system.store.for_all("test") as work:
        work.permits.take(pool, size=SEARCHES_PER_PROJECT, count=SEARCHES_PER_PROJECT, lease_s=30)
    with pytest.raises(BackpressureError) as caught:
        system.ask()
    assert caught.value.retry_after_s == 0.2
    system.clock.advance(31)  # whoever held them was killed
    assert system.ask().hits


def test_a_namespace_at_its_limit_is_waited_for_and_then_left_alone() -> None:
    system = MoodySystem()
    pool = f"queries of {system.ask().hits[0].chunk.turbopuffer_namespace}"
    with system.store.for_all("test") as work:
        work.permits.take(pool, size=QUERIES_PER_NAMESPACE, count=15, lease_s=30)
    before = system.clock.monotonic()
    answer = system.ask()
    assert answer.degraded == ["backend_busy"]
    assert answer.hits
    assert 2.0 <= system.clock.monotonic() - before < 2.5
    one_leg = system.tool(system.only_table, strategy="keyword").tool.id
    assert system.search(one_leg, system.principal, "harbour", 5).degraded == []


HAN = "".join(map(chr, range(0x4E00, 0x4E00 + 2_000)))
"""Hardly a character comes twice, and no two neighbours do."""


@pytest.mark.parametrize("strategy", ["hybrid", "keyword"])
def test_of_a_question_too_long_for_turbopuffer_the_weightiest_words_are_asked(
    strategy: str,
) -> None:
    system = MoodySystem()
    text = f"{HAN[:60]} and a lighthouse keeper's telegraph"
    tool = system.tool(system.table({"text": text}), strategy=strategy).tool.id
    system.work()
    question = f"{HAN} lighthouse"[-2_000:]
    answer = system.search(tool, system.principal, question, 5)
    assert answer.degraded == ["query_cut"]
    assert answer.found.keywords_from == "turbopuffer"
    words, asked = list(query_weights(question)), list(system.moody.last.tokens or ())
    pairs = [word for word in words if len(word) == 2]
    assert set(asked) == {"lighthous", *pairs[: len(asked) - 1]}  # single characters are the last
    assert len(asked) > 1_000
    assert asked == [word for word in words if word in asked]
    assert answer.found.words_left_out == len(words) - len(asked)


def test_a_question_as_long_as_texts_are_is_asked_whole() -> None:
    system = MoodySystem()
    answer = system.ask(f"{english(1_900)} harbour"[-2_000:])
    assert (answer.degraded, answer.found.words_left_out) == ([], 0)


def test_a_search_says_how_many_parts_it_has_left_alone() -> None:
    system = MoodySystem()
    system.searches = system.searcher(DownEmbedder(system.embedder.dimensions))
    asked = [system.ask() for _ in range(FAILURES_TO_OPEN)]
    assert {answer.found.breaker_refusals for answer in asked} == {0}
    refused = system.ask()
    assert refused.found.breaker_refusals == 1
    assert refused.degraded == asked[0].degraded == ["embed_unavailable"]


def test_keywords_that_come_too_late_leave_the_vectors_alone() -> None:
    system = MoodySystem(storage="lean")  # its keywords are those of Postgres
    system.store = WithoutKeywords(system.store)  # type: ignore[assignment]
    searches = system.searcher(system.embedder)
    answer = search(searches, system.tool_id, system.principal, "harbour ledger", 5)
    assert (answer.mode_used, answer.degraded) == ("semantic", ["keywords_unavailable"])
    assert answer.hits
