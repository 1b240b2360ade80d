"""Questions and what becomes of them."""

from __future__ import annotations

import pytest

from context_search.catalog.tools import ManageTools
from context_search.core.errors import (
    NotFoundError,
    QueryEmptyError,
)
from context_search.indexing.comparing import Limits
from tests.system import SILENT_S, System, prose


def test_a_scope_shows_what_is_below_it_and_nothing_beside_it() -> None:
    system = System()
    table = system.table({"a": {"x": prose(300)}, "ab": prose(300, 2), "a~b": {"": prose(300, 3)}})
    inside = system.tool(table, scope="/a").tool.id
    escaped = system.tool(table, scope="/a~0b").tool.id
    system.tool(table)
    system.work()
    answer = system.search(inside, system.principal, "harbour winter garden", 20)
    assert {(hit.json_path, hit.chunk.json_pointer) for hit in answer.hits} == {("/x", "/a/x")}
    answer = system.search(escaped, system.principal, "harbour winter garden", 20)
    assert {(hit.json_path, hit.chunk.json_pointer) for hit in answer.hits} == {("/", "/a~0b/")}


def test_a_hit_on_the_scope_itself_has_the_empty_path() -> None:
    system = System()
    tool_id = system.tool(system.table({"a": prose(300)}), scope="/a").tool.id
    system.work()
    answer = system.search(tool_id, system.principal, "harbour", 1)
    assert [hit.json_path for hit in answer.hits] == [""]


def test_why_there_is_nothing_is_said_of_documents_of_any_size() -> None:
    system = System(threshold=1_000)
    for scope, expected in (
        ("", "no_long_strings"),
        ("/a", "no_long_strings"),
        ("/b", "scope_missing"),
    ):
        tool_id = system.tool(system.table({"a": ["x" * 900] * 6_000}), scope=scope).tool.id
        system.work()
        assert system.search(tool_id, system.principal, "anything", 5).hint == expected


def test_strings_that_are_too_long_or_blank_are_nothing_to_find() -> None:
    system = System()
    limits = Limits(max_node_chars=2_000)
    system.create_tool = ManageTools(system.store, limits, SILENT_S).create
    table = system.table({"long": prose(3_000), "blank": " " * 500})
    tool_id = system.tool(table).tool.id
    system.work()
    assert system.search(tool_id, system.principal, "harbour", 5).hint == "nothing_indexed"
    state = system.read_status(tool_id, system.principal)
    assert (state.progress.states, state.progress.status) == ({"skipped": 1, "indexed": 1}, "ready")
    assert state.empty is not None
    assert state.empty.hint == "nothing_indexed"


def test_an_answer_stands_when_nobody_can_say_why_it_is_empty() -> None:
    system = System(threshold=1_000)
    table = system.table({"a": "short"})
    tool_id = system.tool(table, scope="/a").tool.id
    rows = system.model_store.rows
    too_deep = "[" * 100_000 + "]" * 100_000  # as SQL may write it
    with system.store.for_all("test"):
        rows.change(rows.tables, table.id, data_json=too_deep)
    assert system.search(tool_id, system.principal, "anything", 5).hint == "no_match"


def test_before_the_index_is_ready_the_answer_says_so() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(300)}))
    answer = system.search(status.tool.id, system.principal, "harbour", 5)
    assert (answer.hits, answer.target.status) == ([], "indexing")
    assert answer.degraded == ["partial_index"]


def test_the_limit_is_the_callers_or_the_tools_own() -> None:
    system = System()
    tool_id = system.tool(system.table({"a": prose(5_000)}), top_k=3).tool.id
    system.work()
    assert len(system.search(tool_id, system.principal, "harbour", None).hits) == 3
    assert len(system.search(tool_id, system.principal, "harbour", 20).hits) == 20


@pytest.mark.parametrize("query", ["", " \n", "。！？", "\u200b", "--"])
def test_a_question_without_letters_or_numbers_is_refused(query: str) -> None:
    system = System()
    tool_id = system.tool(system.table({"a": "x"})).tool.id
    with pytest.raises(QueryEmptyError):
        system.search(tool_id, system.principal, query, 5)


def test_deleted_things_are_unreachable_at_once() -> None:
    system = System()
    table = system.table({"a": prose(500)})
    first, second = system.tool(table).tool.id, system.tool(table).tool.id
    system.work()
    system.delete_tool(system.principal, first)
    with pytest.raises(NotFoundError):
        system.search(first, system.principal, "harbour", 5)
    assert system.search(second, system.principal, "harbour", 5).hits
    system.delete_table(system.principal, table.id)
    with pytest.raises(NotFoundError):
        system.search(second, system.principal, "harbour", 5)


def test_a_changed_string_is_stale_and_a_removed_one_is_gone_before_the_index_follows() -> None:
    system = System()
    table = system.table({"a": "winter harbour. " * 20, "b": "winter garden. " * 20})
    tool_id = system.tool(table).tool.id
    system.work()
    system.replace(system.principal, table.id, {"a": "something else. " * 20})
    answer = system.search(tool_id, system.principal, "winter", 20)
    assert {(hit.json_path, hit.chunk.stale) for hit in answer.hits} == {("/a", True)}
