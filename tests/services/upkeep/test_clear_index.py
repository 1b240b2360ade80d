"""An operator deletes the chunks of a tool."""

from __future__ import annotations

import pytest

from context_search.domain.access import Internal
from context_search.domain.errors import ConflictError, NotFoundError
from context_search.services.upkeep.operations import Operate
from tests.services.house import SILENT_S, House, prose


def cleared(house: House, tool_id: int, *, shared: bool = False) -> list[int]:
    return Operate(house.store, SILENT_S).clear_index(tool_id, Internal(), shared=shared).tools


def test_a_cleared_index_finds_nothing_and_says_why_and_comes_back_with_a_search() -> None:
    house = House()
    tool = house.tool(house.table({"a": prose(500)})).tool
    house.work()
    before = len(house.rows())
    given_up = Operate(house.store, SILENT_S).clear_index(tool.id, Internal(), shared=False)
    assert (given_up.chunks, given_up.tools) == (before, [tool.id])
    status = house.read_status(tool.id, Internal())
    error = status.progress.last_error
    assert error is not None
    assert (status.progress.status, error["code"]) == ("evicted", "INDEX_DELETED")
    assert (house.memory.rows.tools[tool.id].summary or {})["status"] == "evicted"
    answer = house.search(tool.id, house.principal, "harbour winter", 5)
    assert (answer.hits, answer.degraded) == ([], ["index_evicted"])
    house.work()
    answer = house.search(tool.id, house.principal, "harbour winter", 5)
    assert answer.hits
    assert answer.target.status == "ready"
    assert {hit.chunk.turbopuffer_namespace for hit in answer.hits} != {given_up.namespace}


def test_clearing_again_changes_nothing() -> None:
    house = House()
    tool = house.tool(house.table({"a": prose(500)})).tool
    house.work()
    cleared(house, tool.id)
    generations = len(house.memory.rows.generations)
    again = Operate(house.store, SILENT_S).clear_index(tool.id, Internal(), shared=False)
    assert (again.chunks, len(house.memory.rows.generations)) == (0, generations)


def test_chunks_that_another_tool_needs_go_only_when_the_operator_says_so() -> None:
    house = House()
    table = house.table({"a": prose(500)})
    one, other = house.tool(table).tool, house.tool(table, "/a").tool
    house.work()
    with pytest.raises(ConflictError, match=str(other.id)):
        cleared(house, one.id)
    assert house.search(other.id, house.principal, "harbour winter", 5).hits
    assert cleared(house, one.id, shared=True) == [one.id, other.id]
    assert house.read_status(other.id, Internal()).progress.status == "evicted"


def test_a_deleted_tool_needs_nothing() -> None:
    house = House()
    table = house.table({"a": prose(500)})
    one, other = house.tool(table).tool, house.tool(table).tool
    house.delete_tool(house.principal, other.id)
    assert cleared(house, one.id) == [one.id]
    with pytest.raises(NotFoundError):
        cleared(house, other.id)


def test_a_rebuild_that_was_on_its_way_is_given_up_and_another_one_brings_the_index_back() -> None:
    house = House()
    tool = house.tool(house.table({"a": prose(500)})).tool
    house.work()
    house.rebuilds.start(tool.id, Internal())
    cleared(house, tool.id)
    house.work()
    assert house.read_status(tool.id, Internal()).progress.status == "evicted"
    house.rebuilds.start(tool.id, Internal())
    house.work()
    assert house.read_status(tool.id, Internal()).progress.status == "ready"
    assert house.search(tool.id, house.principal, "harbour winter", 5).hits
