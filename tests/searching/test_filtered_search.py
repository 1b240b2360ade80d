"""Searches with filters: what callers ask for, and what a tool always asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from context_search.core.errors import FilterInvalidError
from context_search.core.filters import NOTHING, Filter, parse_filter
from context_search.core.ids import scope_key
from context_search.integrations.ports import Legs, VectorQuery
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.search_project import ProjectQuestion, SearchProject
from testing.in_memory.vectors import DictVectors
from tests.contract.store.bench import PostgresBench
from tests.system import SILENT_S, System, prose

PUBLIC: Filter = parse_filter({"status": {"eq": "public"}})
DRAFT: Filter = parse_filter({"status": {"eq": "draft"}})


def letters(count: int = 40, public: int = 3) -> list[Mapping[str, object]]:
    """Long letters about a harbour, the last of which are public."""
    states = ["draft"] * (count - public) + ["public"] * public
    return [
        {"status": status, "year": 1900 + n, "body": f"The harbour, {prose(90, n)}"}
        for n, status in enumerate(states)
    ]


def asked(
    system: System, tool_id: int, wanted: Filter | None, query: str = "harbour", **limits: Any
) -> SearchResult:
    searched = SearchedTool.by(system.principal, tool_id)
    return system.searches.search(searched, query, QuestionLimits(filter=wanted, **limits))


def paths(answer: SearchResult) -> set[str]:
    return {hit.json_path.split("/")[1] for hit in answer.hits}


@pytest.mark.parametrize("strategy", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize("storage", ["full", "lean"])
def test_a_selective_filter_still_fills_the_answer(strategy: str, storage: str) -> None:
    system = System(storage=storage)
    table = system.table(letters(400))
    tool = system.tool(table, strategy=strategy, filterable=("status",)).tool
    system.work()
    answer = asked(system, tool.id, PUBLIC, top_k=3)
    assert paths(answer) == {"397", "398", "399"}
    assert len(asked(system, tool.id, None, top_k=20).hits) == 20


class Watched(DictVectors):
    """Remembers what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[VectorQuery] = []

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        self.asked.append(query)
        return super().query(namespace, query, timeout_s=timeout_s)


def watched(count: int, **search: Any) -> tuple[System, Watched, int]:
    """A system whose questions are watched, and a tool whose fields are ordered."""
    system = System(chunk_size=200, calibrates_from=None)
    system.vectors = vectors = Watched()
    system.indexer, system.searches = system.worker(), system.searcher(system.embedder)
    table = system.table(letters(count))
    system.tool(table, **search)
    system.work()
    tool_id = system.tool(table, filterable=("status",), **search).tool.id
    return system, vectors, tool_id


def test_the_few_strings_of_a_filter_are_named_and_the_legs_asked_once() -> None:
    system, vectors, tool_id = watched(1_200)
    system.work()
    assert paths(asked(system, tool_id, PUBLIC, top_k=3)) == {"1197", "1198", "1199"}
    [query] = vectors.asked
    assert query.keys == tuple(sorted(scope_key(f"/{n}/body") for n in (1197, 1198, 1199)))
    assert len(asked(system, tool_id, DRAFT, top_k=20).hits) == 20
    assert vectors.asked[1].keys is None  # too many, and most candidates are let through


def test_nothing_is_asked_where_a_filter_lets_nothing_through() -> None:
    system, vectors, tool_id = watched(40)
    answer = asked(system, tool_id, parse_filter({"status": {"eq": "lost"}}))
    assert (answer.hits, answer.hint, list(answer.degraded)) == ([], "no_match", [])
    assert vectors.asked == []


def test_an_answer_says_when_a_filter_may_let_more_through() -> None:
    system, _, tool_id = watched(1_100, strategy="semantic")
    before = asked(system, tool_id, PUBLIC, candidates=3)  # no fields are noted yet
    assert paths(before) < {"1097", "1098", "1099"}
    assert set(before.degraded) == {"filter_incomplete", "partial_index"}
    system.work()
    after = asked(system, tool_id, PUBLIC, candidates=3)
    assert paths(after) == {"1097", "1098", "1099"}
    assert list(after.degraded) == []


def test_nobody_widens_what_a_tool_always_asks_for() -> None:
    system = System()
    tool = system.tool(system.table(letters()), filterable=("status",), where=PUBLIC).tool
    system.work()
    either = parse_filter({"or": [{"status": {"eq": "public"}}, {"status": {"eq": "draft"}}]})
    for wanted in (None, either, parse_filter({"not": {"status": {"eq": "x"}}})):
        assert paths(asked(system, tool.id, wanted)) == {"37", "38", "39"}
    assert paths(asked(system, tool.id, DRAFT)) == set()


def test_a_caller_filters_by_the_fields_of_the_tool_and_by_no_others() -> None:
    system = System()
    tool = system.tool(system.table(letters()), filterable=("year",), where=PUBLIC).tool
    system.work()
    assert paths(asked(system, tool.id, parse_filter({"year": {"lt": 1938}}))) == {"37"}
    for hidden in (PUBLIC, parse_filter({"price": {"exists": True}})):
        with pytest.raises(FilterInvalidError):
            asked(system, tool.id, hidden)


def test_a_tool_whose_rule_nobody_can_read_shows_nothing() -> None:
    system = System()
    tool = system.tool(system.table(letters()), where=NOTHING).tool
    system.work()
    assert asked(system, tool.id, None).hits == []


def test_a_new_field_of_an_index_that_is_there_is_filled_without_embedding() -> None:
    system = System()
    table = system.table(letters())
    first = system.tool(table).tool
    system.work()
    calls = len(system.embedder.calls)
    second = system.tool(table, filterable=("status", "year")).tool
    assert second.index_id == first.index_id
    system.work()
    assert len(system.embedder.calls) == calls
    early = parse_filter({"status": {"eq": "draft"}, "year": {"lt": 1902}})
    assert paths(asked(system, second.id, early)) == {"0", "1"}
    assert len(asked(system, first.id, None).hits) == 5


def test_the_tools_of_an_index_name_so_many_fields_together() -> None:
    system = System()
    table = system.table(letters())
    for group in range(4):
        system.tool(table, filterable=tuple(f"f{group}.{n}" for n in range(16)))
    with pytest.raises(FilterInvalidError):
        system.tool(table, filterable=("one_more",))
    system.tool(table, filterable=("f0.0",))


def test_a_project_search_filters_every_page(bench: PostgresBench) -> None:
    system = System(store=bench.store)
    assert bench.project().id == system.principal.project_id
    table = system.table(letters(130, 60))
    system.tool(table, filterable=("status",))
    with system.store.for_project(1) as work:
        index = work.indexes.add_to_project(1, system.config)
        work.indexes.name_fields(index.id, ["status"])
    system.enumerate(index.id)
    system.work()
    project = SearchProject(system.searches, system.store, SILENT_S)
    limits = QuestionLimits(candidates=200, min_score=0.0, filter=PUBLIC)
    first = project.page(system.principal, ProjectQuestion("harbour", limits=limits))
    assert len(first.answer.hits) == 50
    changed = [{**each, "status": "draft"} for each in letters(130, 60)]
    system.replace(system.principal, table.id, changed)
    rest = project.page(
        system.principal, ProjectQuestion("harbour", limits=limits, cursor=first.cursor)
    )
    assert (len(rest.answer.hits), rest.answer.gone) == (0, 50)


def test_a_field_that_is_named_now_can_be_filtered_by_at_once(bench: PostgresBench) -> None:
    system = System(store=bench.store)
    assert bench.project().id == system.principal.project_id
    system.table(letters())
    with system.store.for_project(1) as work:
        index = work.indexes.add_to_project(1, system.config)
    system.enumerate(index.id)
    system.work()
    project = SearchProject(system.searches, system.store, SILENT_S)
    project.page(system.principal, ProjectQuestion("harbour"))  # the target is kept from now on
    with system.store.for_project(1) as work:
        work.indexes.name_fields(index.id, ["status"])
    limits = QuestionLimits(candidates=200, min_score=0.0, filter=PUBLIC)
    page = project.page(system.principal, ProjectQuestion("harbour", limits=limits))
    assert paths(page.answer) == {"37", "38", "39"}


def test_a_cursor_goes_with_the_filter_that_it_began_with() -> None:
    each = {"status": {"eq": "public"}, "year": {"gte": 1900}}
    said = [{name: [{field: rule} for field, rule in each.items()]} for name in ("and", "or")]
    given = [None, *(parse_filter(one) for one in (*said, {"not": said[0]}, {"and": [said[0]]}))]
    questions = [ProjectQuestion("harbour", limits=QuestionLimits(filter=one)) for one in given]
    assert len({question.fingerprint for question in questions}) == len(given)
