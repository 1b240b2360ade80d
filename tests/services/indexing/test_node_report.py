"""What a run over a node reports."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from context_search.domain.errors import (
    ContextSearchError,
    EmbeddingDimensionMismatchError,
    EmbeddingUnavailableError,
)
from context_search.domain.model import Table
from context_search.services.indexing.node_report import NodeReport, RetryLater
from tests.services.house import House, MoodyEmbedder, prose


def next_node(house: House) -> int:
    """The node of the message that is first in the queue, which is taken out."""
    return int(str(house.queue.messages.pop(0)["node_id"]))


def run(house: House) -> NodeReport:
    return house.indexer.index_one(next_node(house), house.deadline())


def test_a_new_text_is_cut_and_embedded_and_every_stage_is_timed() -> None:
    house = House()
    house.tool(house.table({"a": prose(1_000)}))
    report = run(house)
    chunks = len(house.rows())
    assert (report.outcome, report.model) == ("indexed", house.config.model)
    assert (report.chunks, report.embedded, report.reused) == (chunks, chunks, 0)
    assert list(report.seconds) == ["chunking", "embedding", "upload", "swap"]


def test_a_text_that_only_moved_is_reused() -> None:
    house, text = House(), prose(1_000)
    table = house.table({"a": text})
    house.tool(table)
    house.work()
    chunks = len(house.rows())
    house.replace(house.principal, table.id, {"a": text, "b": text})
    house.enumerate(int(str(house.queue.messages.pop(0)["index_id"])))
    report = run(house)
    assert (report.chunks, report.embedded, report.reused) == (chunks, 0, chunks)


def test_the_same_text_many_times_is_embedded_once() -> None:
    house = House(chunk_overlap=0)
    house.tool(house.table({"a": "x" * 2_000}))  # 20 chunks, all the same
    report = run(house)
    assert (report.chunks, report.embedded, report.reused) == (20, 1, 19)
    assert house.embedder.embedded == 1
    assert len(house.documents()) == 20


def test_equal_windows_of_one_chunk_are_embedded_once() -> None:
    house = House(chunk_overlap=0, chunk_size=400, window_tokens=25)
    house.tool(house.table({"a": "x" * 400}))
    assert run(house).chunks == 1
    assert (house.embedder.embedded, len(house.documents())) == (1, 4)


def test_a_second_run_over_the_same_set_creates_no_chunks() -> None:
    house = House()
    house.tool(house.table({"a": prose(1_000)}))
    node_id = next_node(house)
    house.embedder.errors = [EmbeddingUnavailableError("down", retry_after_s=5)]
    with pytest.raises(RetryLater) as caught:
        house.indexer.index_one(node_id, house.deadline())
    failed = caught.value.report
    assert failed is not None
    assert (failed.outcome, failed.chunks > 0, failed.embedded) == ("retried", True, 0)
    assert failed.error is not None
    assert failed.error.code == "EMBEDDING_UNAVAILABLE"
    assert list(failed.seconds) == ["chunking", "embedding"]
    house.clock.advance(6)
    again = house.indexer.index_one(node_id, house.deadline())
    assert (again.outcome, again.chunks, again.embedded) == ("indexed", 0, failed.chunks)


def test_a_message_that_comes_too_early_reports_nothing() -> None:
    house = House()
    house.tool(house.table({"a": prose(500)}))
    node_id = next_node(house)
    house.embedder.errors = [EmbeddingUnavailableError("down", retry_after_s=5)]
    for expected in (True, False):
        with pytest.raises(RetryLater) as caught:
            house.indexer.index_one(node_id, house.deadline())
        assert (caught.value.report is not None) == expected


def test_a_quarantined_node_reports_why() -> None:
    house = House()
    house.tool(house.table({"a": prose(500)}))
    house.embedder.errors = [EmbeddingDimensionMismatchError("3 instead of 16")]
    report = run(house)
    assert report.outcome == "quarantined"
    assert report.error is not None
    assert report.error.code == "EMBEDDING_DIMENSION_MISMATCH"


def test_a_message_for_a_node_that_is_done_has_nothing_to_do() -> None:
    house = House()
    house.tool(house.table({"a": prose(500)}))
    node_id = next_node(house)
    house.indexer.index_one(node_id, house.deadline())
    assert house.indexer.index_one(node_id, house.deadline()) == NodeReport("nothing_to_do")


class Overtaken(MoodyEmbedder):
    """Fails, and by then the text has changed: the node belongs to another order."""

    def __init__(self, house: House, table: Table, error: ContextSearchError) -> None:
        super().__init__()
        self.house, self.table, self.errors = house, table, [error]

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.house.replace(self.house.principal, self.table.id, {"a": prose(1_000, 2)})
        [index_id] = self.house.memory.rows.indexes
        self.house.enumerate(index_id)
        return super().embed_passages(texts, timeout_s=timeout_s)


@pytest.mark.parametrize("error", [EmbeddingUnavailableError, EmbeddingDimensionMismatchError])
def test_a_failure_of_a_node_that_is_somebody_elses_by_now_is_not_reported(
    error: type[ContextSearchError],
) -> None:
    house = House()
    table = house.table({"a": prose(1_000)})
    house.tool(table)
    house.embedder = Overtaken(house, table, error("no"))
    report = run(house)
    assert (report.outcome, report.error) == ("nothing_to_do", None)
    [node] = house.memory.rows.nodes.values()
    assert (node.state, node.last_error) == ("queued", None)
