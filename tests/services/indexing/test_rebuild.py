"""A new generation beside the one that answers."""

from __future__ import annotations

import pytest

from context_search.domain.access import Internal
from context_search.domain.config import Model
from context_search.domain.errors import ConflictError
from context_search.services.indexing.enumeration import Limits, compare
from context_search.services.indexing.rebuilds import Rebuilds
from tests.services.house import House, prose


def test_the_old_generation_answers_until_the_new_one_is_complete() -> None:
    house = House()
    status = house.tool(house.table({"a": prose(500), "b": prose(500, 2)}))
    house.work()
    tool_id, old = status.tool.id, status.index.namespace
    new = house.rebuilds.start(tool_id, Internal())
    assert house.rebuilds.start(tool_id, Internal()) == new
    answer = house.search(tool_id, house.principal, "harbour", 5)
    assert answer.target.status == "rebuilding"
    assert {hit.chunk.turbopuffer_namespace for hit in answer.hits} == {old}
    house.work()
    answer = house.search(tool_id, house.principal, "harbour", 5)
    assert answer.target.status == "ready"
    assert {hit.chunk.turbopuffer_namespace for hit in answer.hits} == {new.namespace}


def test_a_rebuild_on_the_same_model_embeds_nothing() -> None:
    house = House()
    status = house.tool(house.table({"a": prose(500)}))
    house.work()
    embedded = house.embedder.embedded
    house.rebuilds.start(status.tool.id, Internal())
    house.work()
    assert house.embedder.embedded == embedded
    assert len(house.vectors.namespaces) == 2


def test_rolling_back_answers_from_the_earlier_generation_and_its_text_is_current() -> None:
    house = House()
    table = house.table({"a": prose(500)})
    status = house.tool(table)
    house.work()
    house.rebuilds.start(status.tool.id, Internal())
    house.work()
    house.replace(house.principal, table.id, {"a": "purple elephants. " * 10})
    house.work()
    house.rebuilds.roll_back(status.tool.id, Internal())
    house.work()
    answer = house.search(status.tool.id, house.principal, "purple elephants", 1)
    assert answer.hits[0].chunk.turbopuffer_namespace == status.index.namespace
    assert not answer.hits[0].chunk.stale


def test_without_an_earlier_generation_there_is_no_way_back() -> None:
    house = House()
    status = house.tool(house.table({"a": prose(500)}))
    with pytest.raises(ConflictError):
        house.rebuilds.roll_back(status.tool.id, Internal())


def test_two_rebuilds_run_at_once_and_the_third_waits() -> None:
    house = House()
    tools = [house.tool(house.table({"a": prose(500, seed)})).tool.id for seed in range(3)]
    house.work()
    states = [house.rebuilds.start(tool_id, Internal()).state for tool_id in tools]
    assert states == ["building", "building", "queued"]
    house.work()
    with house.store.for_all("test") as work:
        assert len(work.rebuilds.promote(at_once=2)) == 1


def test_the_estimate_counts_what_there_is() -> None:
    house = House()
    status = house.tool(house.table({"a": "winter " * 100, "b": "冬天" * 50}))
    house.work()
    estimate = Rebuilds(house.store, Model("m", 3, price=2.0)).estimate(status.tool.id, Internal())
    assert estimate.nodes == 2
    assert estimate.chunks == len(house.rows())
    assert 200 <= estimate.tokens <= 400
    assert estimate.cost == pytest.approx(estimate.tokens * 2e-6, abs=1e-6)


def test_who_rolls_back_reads_no_status_of_the_generation_that_was_left() -> None:
    house = House()
    tool = house.tool(house.table({"a": prose(500)})).tool
    house.work()
    house.rebuilds.start(tool.id, Internal())
    house.work()
    assert (house.memory.rows.tools[tool.id].summary or {})["status"] == "ready"
    house.rebuilds.roll_back(tool.id, Internal())
    assert (house.memory.rows.tools[tool.id].summary or {})["status"] == "indexing"
    house.work()
    assert (house.memory.rows.tools[tool.id].summary or {})["status"] == "ready"


def test_an_index_whose_last_tool_went_is_retired_by_whoever_compares_it() -> None:
    house = House()
    table = house.table({"a": prose(500)})
    status = house.tool(table)
    house.delete_tool(house.principal, status.tool.id)
    with house.store.for_all("test") as work:
        assert compare(work, status.index, table.id, Limits(), None) == []
        assert work.indexes.find(status.index.id) is None
