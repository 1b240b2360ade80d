"""One search over all collections: what is asked, and what is said where a part of it fails."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from context_search.agents.list_tools import ListTools
from context_search.core.callers import Principal
from context_search.core.errors import (
    ContextSearchError,
    QueryEmptyError,
    SearchTimeoutError,
    SearchUnavailableError,
)
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.reading.passages import DescribePassages
from context_search.reading.search_all import (
    SEARCH_S,
    DegradedSearch,
    FoundPassages,
    SearchAll,
)
from context_search.searching.retrieve import RedactHits
from context_search.searching.rules.searched import Searched, SearchedTool
from context_search.searching.targets import Searches
from testing.in_memory.clock import ManualClock
from testing.in_memory.embedder import WordEmbedder
from tests.contract.store.bench import PostgresBench
from tests.system import System, prose

QUESTION = "harbour winter garden"


class CountingEmbedder(WordEmbedder):
    """Counts the questions that it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        self.asked.append(text)
        return super().embed_query(text, timeout_s=timeout_s)


@dataclass
class MoodySearches:
    """Searches, some of which fail or take their time; notes how long each may take."""

    inner: Searches
    clock: ManualClock
    errors: dict[int, ContextSearchError] = field(default_factory=dict)
    slow_s: float = 0.0
    seconds: list[float] = field(default_factory=list)

    def search(self, searched: Searched, query: str, limits: QuestionLimits) -> SearchResult:
        assert isinstance(searched, SearchedTool)
        self.seconds.append(limits.seconds)
        if error := self.errors.get(searched.tool_id):
            raise error
        answer = self.inner.search(searched, query, limits)
        self.clock.advance(self.slow_s)
        return answer


@dataclass
class Shelf:
    """A project with three collections of the same model, and a search over all of them."""

    system: System
    tools: list[int]
    embedder: CountingEmbedder
    searches: MoodySearches

    @property
    def principal(self) -> Principal:
        return self.system.principal

    def asks(self, *queries: str, top_k: int = 5, max_tokens: int = 6_000) -> FoundPassages:
        """Returns what is found everywhere."""
        clock, store = self.system.clock, self.system.store
        describe = DescribePassages(store, clock, RedactHits(store), "https://search.example/")
        search = SearchAll(ListTools(store), self.searches, describe, TiktokenCounter(), clock)
        return search.passages(self.principal, queries, None, top_k, max_tokens)


@pytest.fixture
def shelf(bench: PostgresBench) -> Shelf:
    system = System(store=bench.store)
    assert bench.project().id == system.principal.project_id
    tools = [
        system.tool(system.table({"title": f"No {n}", "text": prose(2_000, n)})).tool.id
        for n in range(3)
    ]
    system.work()
    embedder = CountingEmbedder()
    searches = MoodySearches(system.searcher(embedder), system.clock)
    return Shelf(system, tools, embedder, searches)


def names(shelf: Shelf) -> list[str]:
    page, _ = ListTools(shelf.system.store).page(shelf.principal)
    return [each.name for each in page]


def test_all_collections_are_asked_and_a_model_once_for_each_question(shelf: Shelf) -> None:
    found = shelf.asks(QUESTION, "railway tenant", QUESTION, top_k=20)
    assert {each.collection for each in found.passages} == {*names(shelf)}
    assert sorted(shelf.embedder.asked) == sorted([QUESTION, "railway tenant"])
    assert len(shelf.searches.seconds) == 6
    assert (found.degraded, found.hint) == ([], None)
    relevances = [each.relevance for each in found.passages]
    assert relevances == sorted(relevances, reverse=True)
    assert {each.title for each in found.passages} == {"No 0", "No 1", "No 2"}


def test_each_passage_has_the_address_of_its_place(shelf: Shelf) -> None:
    for passage in shelf.asks(QUESTION).passages:
        assert passage.url == f"https://search.example/console#/cite/{passage.cite}"


def test_a_collection_that_fails_is_named_and_the_others_answer(shelf: Shelf) -> None:
    shelf.searches.errors = {shelf.tools[0]: SearchUnavailableError("down")}
    found = shelf.asks(QUESTION)
    first, *others = names(shelf)
    assert {each.collection for each in found.passages} <= {*others}
    assert found.passages
    assert found.degraded == [DegradedSearch(first, "SEARCH_UNAVAILABLE")]


def test_where_every_collection_fails_the_search_does(shelf: Shelf) -> None:
    shelf.searches.errors = dict.fromkeys(shelf.tools, SearchUnavailableError("down"))
    with pytest.raises(SearchUnavailableError):
        shelf.asks(QUESTION)
    shelf.searches.errors = {}
    with pytest.raises(QueryEmptyError):
        shelf.asks("。！")


def test_all_searches_together_have_the_time_of_one(shelf: Shelf) -> None:
    shelf.searches.slow_s = SEARCH_S
    found = shelf.asks(QUESTION)
    first, *others = names(shelf)
    assert shelf.searches.seconds == [SEARCH_S]
    assert {each.collection for each in found.passages} == {first}
    code = SearchTimeoutError("").code
    assert found.degraded == [DegradedSearch(name, code) for name in others]


def test_no_more_passages_are_shown_than_fit_and_than_are_wanted(shelf: Shelf) -> None:
    counter = TiktokenCounter()
    for top_k, max_tokens in ((1, 6_000), (5, 500), (20, 500), (20, 10_000)):
        found = shelf.asks(QUESTION, top_k=top_k, max_tokens=max_tokens)
        assert 1 <= len(found.passages) <= min(top_k, found.total)
        assert sum(counter.count(each.text) for each in found.passages) <= max_tokens


def test_without_collections_nothing_is_found(bench: PostgresBench) -> None:
    system = System(store=bench.store)
    assert bench.project().id == system.principal.project_id
    shelf = Shelf(system, [], CountingEmbedder(), MoodySearches(system.searches, system.clock))
    assert shelf.asks(QUESTION) == replace(FoundPassages([], 0), degraded=[])
