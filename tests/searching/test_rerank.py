"""A second opinion on a ranking: who is asked, for how long, and what if there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from context_search.core.config import Rerank
from context_search.core.errors import (
    RerankError,
    RerankRejectedError,
    RerankTimeoutError,
    RerankUnavailableError,
)
from context_search.core.limits import DailyLimits
from context_search.integrations.ports import Reranker
from context_search.ranking.search import SearchResult
from context_search.searching.breaker import FAILURES_TO_OPEN, OPEN_S
from context_search.searching.rerank_hits import USUAL_CHARS
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search_time import SearchTime
from testing.in_memory.reranker import WordReranker
from tests.system import System, search

MODEL = "in-memory/words"
FILL = "The tide came in and the boats lay on the sand until the evening. "
DOCUMENT = {
    "a": f"The keeper counted comets. {FILL * 5}",
    "b": "Comets " * 60,
    "c": f"Comets came back. {FILL}",
    "d": f"Nobody knew about the comets in the harbour. {FILL * 2}",
}


class Reranking(System):
    """A system with reranking models, and a tool for each way to use one."""

    def __init__(self) -> None:
        super().__init__()
        self.reranker: WordReranker = WordReranker()
        self.models: list[str] = []
        self.table_id = self.table(DOCUMENT)
        self.searches = self.searcher(self.embedder, reranker_of=self.reranker_of)

    def reranker_of(self, model: str) -> Reranker:
        self.models.append(model)
        return self.reranker

    def tool_with(self, rerank: Rerank | None, **more: object) -> int:
        made = self.tool(self.table_id, "", rerank=rerank, **more).tool.id
        self.work()
        return made

    def ask(self, tool_id: int, query: str = "comets") -> SearchResult:
        return search(self.searches, tool_id, self.principal, query, 20)


@pytest.fixture
def system() -> Reranking:
    return Reranking()


def places(answer: SearchResult) -> list[str]:
    return [hit.chunk.json_pointer for hit in answer.hits]


def test_nobody_is_asked_unless_the_tool_says_so(system: Reranking) -> None:
    answer = system.ask(system.tool_with(None))
    assert (system.models, system.reranker.asked) == ([], [])
    assert "rerank" not in answer.seconds
    assert all(hit.evidence and hit.evidence.reranker is None for hit in answer.hits)


@pytest.mark.parametrize("fusion", ["convex", "rrf", "linear"])
@pytest.mark.parametrize("strategy", ["hybrid", "semantic", "keyword"])
def test_with_all_of_the_opinion_its_order_is_the_answers(
    system: Reranking, fusion: str, strategy: str
) -> None:
    before = system.ask(system.tool_with(None, fusion=fusion, strategy=strategy))
    again = system.tool_with(Rerank(MODEL, blend=1.0), fusion=fusion, strategy=strategy)
    answer = system.ask(again)
    texts = [hit.chunk.chunk_text for hit in before.hits]
    [(query, asked, timeout_s)] = system.reranker.asked
    assert (query, asked, timeout_s) == ("comets", texts, Timeouts().rerank_s)
    opinions = WordReranker().scores("comets", texts, timeout_s=1)
    expected = sorted(range(len(texts)), key=lambda place: -opinions[place])
    assert places(answer) == [places(before)[place] for place in expected]
    assert places(answer)[0] == "/b"
    assert answer.degraded == []
    assert "rerank" in answer.seconds


def test_relevance_stays_what_it_was(system: Reranking) -> None:
    before = system.ask(system.tool_with(None))
    answer = system.ask(system.tool_with(Rerank(MODEL, blend=1.0)))
    assert {hit.chunk.json_pointer: hit.relevance for hit in answer.hits} == {
        hit.chunk.json_pointer: hit.relevance for hit in before.hits
    }


def test_only_the_first_hits_are_sent(system: Reranking) -> None:
    before = system.ask(system.tool_with(None))
    answer = system.ask(system.tool_with(Rerank(MODEL, candidates=2, blend=1.0)))
    [(_, asked, _)] = system.reranker.asked
    assert asked == [hit.chunk.chunk_text for hit in before.hits[:2]]
    assert sorted(places(answer)[:2]) == sorted(places(before)[:2])
    assert places(answer)[2:] == places(before)[2:]


@pytest.mark.parametrize("query", ["keeper", "xylophone"])
def test_an_answer_of_one_hit_or_none_is_not_sent(system: Reranking, query: str) -> None:
    tool_id = system.tool_with(Rerank(MODEL), strategy="keyword")
    assert len(system.ask(tool_id, query).hits) == (query == "keeper")
    assert system.ask(system.tool_with(Rerank(MODEL, candidates=1))).hits
    assert system.reranker.asked == []


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (RerankTimeoutError("late"), "rerank_timeout"),
        (RerankUnavailableError("away"), "rerank_unavailable"),
        (RerankRejectedError("no"), "rerank_unavailable"),
    ],
)
def test_without_an_opinion_the_order_stays_and_the_answer_says_why(
    system: Reranking, failure: RerankError, code: str
) -> None:
    before = system.ask(system.tool_with(None))
    system.reranker.failure = failure
    answer = system.ask(system.tool_with(Rerank(MODEL)))
    assert (answer.hits, answer.mode_used) == (before.hits, "hybrid")
    assert (answer.degraded, answer.found.errors) == ([code], [failure.code])


def test_a_model_that_the_deployment_does_not_have_is_none(system: Reranking) -> None:
    tool_id = system.tool_with(Rerank("elsewhere/model"))
    answer = search(system.searcher(system.embedder), tool_id, system.principal, "comets", 5)
    assert (answer.degraded, bool(answer.hits)) == (["rerank_unavailable"], True)


def test_a_model_that_keeps_failing_is_left_alone_and_no_other_with_it(system: Reranking) -> None:
    failing, sound = system.tool_with(Rerank("x/failing")), system.tool_with(Rerank("x/sound"))
    system.reranker.failure = RerankUnavailableError("away")
    for _ in range(FAILURES_TO_OPEN):
        assert system.ask(failing).found.breaker_refusals == 0
    answer = system.ask(failing)
    assert (answer.degraded, answer.found.breaker_refusals) == (["rerank_unavailable"], 1)
    assert len(system.reranker.asked) == FAILURES_TO_OPEN
    system.reranker.failure = None
    assert system.ask(sound).degraded == []
    assert system.ask(failing).degraded == ["rerank_unavailable"]
    system.clock.advance(OPEN_S)
    assert system.ask(failing).degraded == []


def test_refused_questions_do_not_open_the_breaker(system: Reranking) -> None:
    tool_id = system.tool_with(Rerank(MODEL))
    system.reranker.failure = RerankRejectedError("no")
    for _ in range(FAILURES_TO_OPEN + 1):
        system.ask(tool_id)
    system.reranker.failure = None
    assert system.ask(tool_id).degraded == []


def test_late_calls_with_much_text_do_not_keep_others_from_the_model(system: Reranking) -> None:
    system.config = replace(system.config, chunk_size=4_000)
    texts = {str(n): f"Keeper {n} counted comets. {FILL * 45}" for n in range(18)}
    assert sum(map(len, texts.values())) > USUAL_CHARS
    system.table_id = system.table(texts)
    slow = system.tool_with(Rerank(MODEL))
    system.table_id = system.table({"a": "One keeper counted comets.", "b": "He saw comets again."})
    usual = system.tool_with(Rerank(MODEL))
    system.reranker.failure = RerankTimeoutError("late")
    for _ in range(FAILURES_TO_OPEN + 1):
        assert system.ask(slow).degraded == ["rerank_timeout"]
    system.reranker.failure = None
    assert system.ask(usual).degraded == []


class SlowReranker(WordReranker):
    """Takes all of its time, and looks around meanwhile."""

    def __init__(self, system: Reranking) -> None:
        super().__init__()
        self.system = system
        self.open_then: list[bool] = []

    def scores(self, question: str, texts: Sequence[str], *, timeout_s: float) -> dict[int, float]:
        del question, texts
        with self.system.store.for_project(self.system.principal.project_id) as work:
            # Transactions do not nest: one that is open still would be an error.
            self.open_then.append(bool(work.tables))
        self.system.clock.advance(timeout_s)
        raise RerankTimeoutError("late")


def test_it_costs_its_own_time_at_most_and_no_transaction_is_open(system: Reranking) -> None:
    system.reranker = slow = SlowReranker(system)
    answer = system.ask(system.tool_with(Rerank(MODEL)))
    assert slow.open_then == [True]
    assert answer.seconds["rerank"] == pytest.approx(Timeouts().rerank_s)
    assert answer.seconds["total"] == pytest.approx(Timeouts().rerank_s)


@pytest.mark.parametrize(("left_s", "given_s"), [(10.0, 0.4), (0.1, 0.1), (0.0, 0.0)])
def test_it_never_has_more_time_than_the_search(
    system: Reranking, left_s: float, given_s: float
) -> None:
    time = SearchTime(system.clock, system.deadline(left_s), Timeouts())
    assert time.for_rerank() == pytest.approx(given_s)


def test_over_its_daily_limit_a_project_is_not_reranked_and_searches_as_before(
    system: Reranking,
) -> None:
    hits = system.searches.rerank_hits
    limited = replace(hits, spending=replace(hits.spending, limits=DailyLimits(reranks=2)))
    system.searches = replace(system.searches, rerank_hits=limited)
    plain, reranked = system.tool_with(None), system.tool_with(Rerank(MODEL, blend=1.0))
    expected = places(system.ask(plain))
    assert [system.ask(reranked).degraded for _ in range(2)] == [[], []]
    answer = system.ask(reranked)
    assert (answer.degraded, places(answer)) == (["rerank_limit"], expected)
    assert len(system.reranker.asked) == 2
    with system.store.for_project(1) as work:
        assert [spent.reranks for spent in work.ledger.days(1, limit=9)] == [2]
    system.clock.advance(86_400)
    assert system.ask(reranked).degraded == []


def test_a_search_that_finds_one_hit_or_has_an_open_breaker_spends_nothing(
    system: Reranking,
) -> None:
    reranked = system.tool_with(Rerank(MODEL), strategy="keyword")
    system.ask(reranked, "keeper")
    system.reranker.failure = RerankUnavailableError("away")
    for _ in range(FAILURES_TO_OPEN + 3):
        system.ask(reranked)
    with system.store.for_project(1) as work:
        [today] = work.ledger.days(1, limit=9)
    assert today.reranks == FAILURES_TO_OPEN
