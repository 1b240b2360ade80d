"""A deleted tool costs nothing more: its strings are not embedded, and nobody waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.system import MoodyEmbedder, System, prose


@pytest.fixture
def system() -> System:
    return System()


class Interrupted(MoodyEmbedder):
    """Does something after its first call."""

    def __init__(self, then: Callable[[], None]) -> None:
        super().__init__()
        self.then = then

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        vectors = super().embed_passages(texts, timeout_s=timeout_s)
        if len(self.calls) == 1:
            self.then()
        return vectors


def test_a_long_string_ends_with_the_batch_in_which_its_tool_is_deleted(system: System) -> None:
    tool = system.tool(system.table({"a": prose(20_000)}))
    system.embedder = Interrupted(lambda: system.delete_tool(system.principal, tool.tool.id))
    system.work(system.worker(batch_chunks=20))
    assert system.embedder.calls == [20]
    [generation] = system.memory.rows.generations.values()
    assert generation.state == "retired"


def test_a_tool_that_is_made_again_at_once_is_indexed(system: System) -> None:
    table = system.table({"a": prose(2_000)})
    first = system.tool(table)
    system.delete_tool(system.principal, first.tool.id)
    taken = system.queue.messages.pop(0)  # the string's message comes before the comparison
    second = system.tool(table)
    system.queue.messages.insert(0, taken)
    system.work()
    assert system.read_status(second.tool.id, system.principal).progress.status == "ready"
