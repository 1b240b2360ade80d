"""Whoever deletes a tool stops its work: nothing is embedded for an index that nobody has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from context_search.domain.model import Table
from tests.services.system import MoodyEmbedder, System, prose

TOOLS = 40


def many_tools(system: System, table: Table) -> list[int]:
    """Search Tools over one table, each with an index of its own."""
    made: list[int] = []
    for number in range(TOOLS):
        system.config = replace(system.config, chunk_size=100 + number)
        made.append(system.tool(table).tool.id)
    return made


def test_nothing_is_embedded_for_tools_that_were_deleted_and_a_neighbour_is_ready_soon() -> None:
    system = System()
    tools = many_tools(system, system.table({str(each): prose(2_000, each) for each in range(8)}))
    neighbour = system.table({"a": prose(500, 99)})
    for tool_id in tools:
        system.delete_tool(system.principal, tool_id)
    status = system.tool(neighbour)
    system.work()
    rows = system.memory.rows
    assert {chunk.table_id for chunk in rows.chunks.values()} == {neighbour.id}
    assert sum(system.embedder.calls) == len(rows.chunks)
    assert system.read_status(status.tool.id, system.principal).progress.status == "ready"


class Deleting(MoodyEmbedder):
    """Deletes a tool while it embeds the first batch."""

    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system
        self.tool_id = 0

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        if not self.calls:
            self.system.delete_tool(self.system.principal, self.tool_id)
        return super().embed_passages(texts, timeout_s=timeout_s)


def test_a_worker_in_the_middle_of_a_string_stops_at_its_next_batch() -> None:
    system = System()
    system.embedder = embedder = Deleting(system)
    embedder.tool_id = system.tool(system.table({"a": prose(5_000)})).tool.id
    system.work(system.worker(batch_chunks=3))
    assert len(embedder.calls) == 1


def test_a_tool_that_shares_the_index_keeps_the_strings_of_its_scope() -> None:
    system = System()
    table = system.table({"kept": prose(500), "left": prose(500, 2)})
    wide, narrow = system.tool(table), system.tool(table, "/kept")
    system.delete_tool(system.principal, wide.tool.id)
    system.work()
    assert {chunk.json_pointer for chunk in system.memory.rows.chunks.values()} == {"/kept"}
    assert system.read_status(narrow.tool.id, system.principal).progress.status == "ready"
