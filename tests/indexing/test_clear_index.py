"""An operator deletes the chunks of a tool."""

from __future__ import annotations

import pytest

from context_search.core.callers import Internal
from context_search.core.errors import ConflictError, NotFoundError
from context_search.indexing.operations import IndexOperations
from tests.system import SILENT_S, System, prose


def operations(system: System) -> IndexOperations:
    return IndexOperations(system.store, SILENT_S)


def cleared(system: System, tool_id: int, *, shared: bool = False) -> list[int]:
    return operations(system).clear(tool_id, Internal(), shared=shared).tools


def test_a_cleared_index_finds_nothing_and_says_why_and_comes_back_with_a_search() -> None:
    system = System()
    tool = system.tool(system.table({"a": prose(500)})).tool
    system.work()
    before = len(system.rows())
    given_up = operations(system).clear(tool.id, Internal(), shared=False)
    assert (given_up.chunks, given_up.tools) == (before, [tool.id])
    status = system.read_status(tool.id, Internal())
    error = status.progress.last_error
    assert error is not None
    assert (status.progress.status, error["code"]) == ("evicted", "INDEX_DELETED")
    assert (system.model_store.rows.tools[tool.id].summary or {})["status"] == "evicted"
    answer = system.search(tool.id, system.principal, "harbour winter", 5)
    assert (answer.hits, answer.degraded) == ([], ["index_evicted"])
    system.work()
    answer = system.search(tool.id, system.principal, "harbour winter", 5)
    assert answer.hits
    assert answer.target.status == "ready"
    assert {hit.chunk.turbopuffer_namespace for hit in answer.hits} != {given_up.namespace}


def test_clearing_again_changes_nothing() -> None:
    system = System()
    tool = system.tool(system.table({"a": prose(500)})).tool
    system.work()
    cleared(system, tool.id)
    generations = len(system.model_store.rows.generations)
    again = operations(system).clear(tool.id, Internal(), shared=False)
    assert (again.chunks, len(system.model_store.rows.generations)) == (0, generations)


def test_chunks_that_another_tool_needs_go_only_when_the_operator_says_so() -> None:
    system = System()
    table = system.table({"a": prose(500)})
    one, other = system.tool(table).tool, system.tool(table, "/a").tool
    system.work()
    with pytest.raises(ConflictError, match=str(other.id)):
        cleared(system, one.id)
    assert system.search(other.id, system.principal, "harbour winter", 5).hits
    assert cleared(system, one.id, shared=True) == [one.id, other.id]
    assert system.read_status(other.id, Internal()).progress.status == "evicted"


def test_a_deleted_tool_needs_nothing() -> None:
    system = System()
    table = system.table({"a": prose(500)})
    one, other = system.tool(table).tool, system.tool(table).tool
    system.delete_tool(system.principal, other.id)
    assert cleared(system, one.id) == [one.id]
    with pytest.raises(NotFoundError):
        cleared(system, other.id)


def test_a_rebuild_that_was_on_its_way_is_given_up_and_another_one_brings_the_index_back() -> None:
    system = System()
    tool = system.tool(system.table({"a": prose(500)})).tool
    system.work()
    system.rebuilds.start(tool.id, Internal())
    cleared(system, tool.id)
    system.work()
    assert system.read_status(tool.id, Internal()).progress.status == "evicted"
    system.rebuilds.start(tool.id, Internal())
    system.work()
    assert system.read_status(tool.id, Internal()).progress.status == "ready"
    assert system.search(tool.id, system.principal, "harbour winter", 5).hits
