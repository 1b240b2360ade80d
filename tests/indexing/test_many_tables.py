"""A project of many small tables: their strings go together, and each fails alone."""

from __future__ import annotations

from collections import Counter

import pytest

from context_search.core.callers import ProjectKey
from context_search.core.config import Model
from context_search.core.messages import MESSAGE_CHARS, SMALL_STRING
from context_search.core.model import Table
from context_search.indexing.project_index import ProjectIndexes
from tests.system import SILENT_S, System

TABLES = 60
STRINGS = 3


def a_system() -> System:
    """A system that has its project."""
    system = System(calibrates_from=None)
    system.principal = project(system)
    return system


def project(system: System) -> ProjectKey:
    with system.store.for_all("test") as work:
        return ProjectKey(work.projects.add("p").id)


def built(tables: int = TABLES) -> tuple[System, list[Table]]:
    """A project of small tables, each with the same last string, and the message for all."""
    system = a_system()
    made = [
        system.table([f"string {n} of table {table}" for n in range(STRINGS - 1)] + ["everywhere"])
        for table in range(tables)
    ]
    model = Model(system.config.model, system.config.dimensions)
    ProjectIndexes(system.store, model, SILENT_S).switch_on(system.principal)
    return system, made


def carried_out(system: System) -> Counter[str]:
    """Handles all messages as they come; returns how many there were of each kind."""
    kinds = Counter[str]()
    while system.queue.messages:
        message = system.queue.messages.pop(0)
        kinds[str(message["kind"])] += 1
        done = system.execute(message)
        if done.again_in_s is not None:
            system.clock.advance(done.again_in_s + 1)
            system.queue.messages.append(message)
    return kinds


def states(system: System) -> Counter[str]:
    return Counter(node.state for node in system.model_store.rows.nodes.values())


def test_strings_of_many_tables_share_messages_and_calls() -> None:
    system, _ = built()
    kinds = carried_out(system)
    assert states(system) == {"indexed": TABLES * STRINGS}
    assert kinds["node"] + kinds["nodes"] < TABLES * STRINGS / 4
    assert max(system.embedder.calls) > STRINGS * 10
    assert system.documents() == system.rows()
    assert not system.model_store.rows.outbox


def test_each_chunk_is_of_its_own_table() -> None:
    system, tables = built()
    carried_out(system)
    found = Counter(row.table_id for row in system.model_store.rows.chunks.values())
    assert found == {table.id: STRINGS for table in tables}
    [documents] = system.vectors.namespaces.values()
    assert Counter(row.table_id for row in documents.values()) == found


def test_a_table_that_is_deleted_meanwhile_keeps_no_other_from_its_turn() -> None:
    system, tables = built()
    while system.queue.messages[0]["kind"] == "enumerate":
        assert system.execute(system.queue.messages.pop(0)).error is None
    system.delete_table(system.principal, tables[3].id)
    carried_out(system)
    left = {
        node.table_id for node in system.model_store.rows.nodes.values() if node.state == "indexed"
    }
    assert left == {table.id for table in tables} - {tables[3].id}


@pytest.mark.parametrize("length", [SMALL_STRING, SMALL_STRING + 1])
def test_a_message_holds_only_small_strings_and_only_so_much_of_them(length: int) -> None:
    system = a_system()
    for table in range(TABLES):
        system.table([f"{table:04}".ljust(length, "x")])
    model = Model(system.config.model, system.config.dimensions)
    ProjectIndexes(system.store, model, SILENT_S).switch_on(system.principal)
    most = MESSAGE_CHARS // length if length <= SMALL_STRING else 1
    sizes = Counter[int]()
    while system.queue.messages:
        message = system.queue.messages.pop(0)
        if message["kind"] != "enumerate":
            sizes[len(message.get("node_ids", [0]))] += 1  # type: ignore[arg-type]
        assert system.execute(message).error is None
    assert max(sizes) == most
    assert states(system) == {"indexed": TABLES}
