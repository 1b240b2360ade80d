"""A new generation beside the one that answers."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from context_search.core.callers import Internal
from context_search.core.config import Model
from context_search.core.errors import ConflictError
from context_search.indexing.rebuilds import Rebuilds
from tests.system import System, prose


def test_the_old_generation_answers_until_the_new_one_is_complete() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500), "b": prose(500, 2)}))
    system.work()
    tool_id, old = status.tool.id, status.index.generation.namespace
    new = system.rebuilds.start(tool_id, Internal())
    assert system.rebuilds.start(tool_id, Internal()) == new
    answer = system.search(tool_id, system.principal, "harbour", 5)
    assert answer.target.status == "rebuilding"
    assert {hit.chunk.turbopuffer_namespace for hit in answer.hits} == {old}
    system.work()
    answer = system.search(tool_id, system.principal, "harbour", 5)
    assert answer.target.status == "ready"
    assert {hit.chunk.turbopuffer_namespace for hit in answer.hits} == {new.generation.namespace}


def test_a_rebuild_on_the_same_model_embeds_nothing() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    system.work()
    embedded = system.embedder.embedded
    system.rebuilds.start(status.tool.id, Internal())
    system.work()
    assert system.embedder.embedded == embedded
    assert len(system.vectors.namespaces) == 2


def test_other_parameters_of_the_model_make_every_vector_anew() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    system.work()
    embedded = system.embedder.embedded
    system.embedder.passage_key = "another input type"
    system.rebuilds.start(status.tool.id, Internal())
    system.work()
    assert system.embedder.embedded == 2 * embedded
    system.rebuilds.start(status.tool.id, Internal())
    system.work()
    assert system.embedder.embedded == 2 * embedded


def test_another_precision_is_another_generation_whose_vectors_are_made_anew() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    system.work()
    exact = status.index
    embedded, known = system.embedder.embedded, system.documents()
    model = Model(system.config.model, system.config.dimensions, precision="f16")
    half = Rebuilds(system.store, model).start(status.tool.id, Internal())
    system.work()
    assert system.embedder.embedded - embedded == len(system.documents()) - len(known)
    assert half.config == replace(exact.config, precision="f16")
    kept = {
        index.generation.namespace: {
            number
            for row in system.vectors.namespaces[index.generation.namespace].values()
            for number in row.vector
        }
        for index in (exact, half)
    }
    is_half = {name: all(map(fits_f16, numbers)) for name, numbers in kept.items()}
    assert is_half == {exact.generation.namespace: False, half.generation.namespace: True}


def test_an_index_of_before_keeps_its_windows_and_a_new_tool_gets_an_index_of_its_own() -> None:
    system = System(chunk_size=400)
    table = system.table({"a": prose(500)})
    before = system.tool(table)
    system.work()
    known = system.documents()
    system.config = replace(system.config, window_tokens=25)
    after = system.tool(table)
    system.work()
    assert after.index.id != before.index.id
    assert known < system.documents()
    assert len(system.documents() - known) > len(known)
    answer = system.search(before.tool.id, system.principal, "harbour", 5)
    assert answer.target.index.config.window_tokens == 0
    model = Model(system.config.model, system.config.dimensions, window_tokens=25)
    with pytest.raises(ConflictError, match="create the tool again"):
        Rebuilds(system.store, model).start(before.tool.id, Internal())


def test_after_a_rebuild_to_other_windows_a_new_tool_shares_the_index() -> None:
    system = System(chunk_size=400)
    table = system.table({"a": prose(500)})
    before = system.tool(table)
    system.work()
    model = Model(system.config.model, system.config.dimensions, window_tokens=25)
    rebuilt = Rebuilds(system.store, model).start(before.tool.id, Internal())
    system.work()
    embedded = system.embedder.embedded
    system.config = replace(system.config, window_tokens=25)
    after = system.tool(table)
    system.work()
    assert after.index.id == rebuilt.id == before.index.id
    assert system.embedder.embedded == embedded


def fits_f16(number: float) -> bool:
    (rounded,) = struct.unpack("<e", struct.pack("<e", number))
    return bool(rounded == number)


def test_rolling_back_answers_from_the_earlier_generation_and_its_text_is_current() -> None:
    system = System()
    table = system.table({"a": prose(500)})
    status = system.tool(table)
    system.work()
    system.rebuilds.start(status.tool.id, Internal())
    system.work()
    system.replace(system.principal, table.id, {"a": "purple elephants. " * 10})
    system.work()
    system.rebuilds.roll_back(status.tool.id, Internal())
    system.work()
    answer = system.search(status.tool.id, system.principal, "purple elephants", 1)
    assert answer.hits[0].chunk.turbopuffer_namespace == status.index.generation.namespace
    assert not answer.hits[0].chunk.stale


def test_a_rebuild_gives_up_the_generation_before_the_last_switch() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    system.work()
    for kept in (True, False):
        system.rebuilds.start(status.tool.id, Internal())
        with system.store.for_all("test") as work:
            assert len(work.removals.retired(older_than_s=-1, limit=9)) == 0
            removed = work.removals.remove_retired_nodes(limit=9)
        assert removed == (0 if kept else 1)
        if kept:
            system.work()
    with pytest.raises(ConflictError):
        system.rebuilds.roll_back(status.tool.id, Internal())
    answer = system.search(status.tool.id, system.principal, "harbour", 5)
    assert answer.target.status == "rebuilding"
    assert len(answer.hits) > 0
    system.work()
    system.rebuilds.roll_back(status.tool.id, Internal())


def test_the_estimate_counts_what_there_is() -> None:
    system = System()
    status = system.tool(system.table({"a": "winter " * 100, "b": "冬天" * 50}))
    system.work()
    estimate = Rebuilds(system.store, Model("m", 3, price=2.0)).estimate(status.tool.id, Internal())
    assert estimate.nodes == 2
    assert estimate.chunks == len(system.rows())
    assert 200 <= estimate.tokens <= 400
    assert estimate.cost == pytest.approx(estimate.tokens * 2e-6, abs=1e-6)


def test_who_rolls_back_reads_no_status_of_the_generation_that_was_left() -> None:
    system = System()
    tool = system.tool(system.table({"a": prose(500)})).tool
    system.work()
    system.rebuilds.start(tool.id, Internal())
    system.work()
    assert (system.model_store.rows.tools[tool.id].summary or {})["status"] == "ready"
    system.rebuilds.roll_back(tool.id, Internal())
    assert (system.model_store.rows.tools[tool.id].summary or {})["status"] == "indexing"
    system.work()
    assert (system.model_store.rows.tools[tool.id].summary or {})["status"] == "ready"
