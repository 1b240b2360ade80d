"""What a run over a node reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from context_search.core.config import IndexConfig
from context_search.core.errors import (
    ContextSearchError,
    EmbeddingDimensionMismatchError,
    EmbeddingUnavailableError,
)
from context_search.core.model import Table
from context_search.indexing.node_report import NodeReport, RetryLater
from context_search.indexing.vector_rows import input_hash
from tests.system import MoodyEmbedder, System, prose


def next_node(system: System) -> int:
    """The node of the message that is first in the queue, which is taken out."""
    return int(str(system.queue.messages.pop(0)["node_id"]))


def run(system: System) -> NodeReport:
    return system.indexer.index_one(next_node(system), system.deadline())


def test_a_new_text_is_cut_and_embedded_and_every_stage_is_timed() -> None:
    system = System()
    system.tool(system.table({"a": prose(1_000)}))
    report = run(system)
    chunks = len(system.rows())
    assert (report.outcome, report.model) == ("indexed", system.config.model)
    assert (report.chunks, report.embedded, report.reused) == (chunks, chunks, 0)
    assert list(report.seconds) == ["chunking", "embedding", "upload", "swap"]


def test_a_text_that_only_moved_is_not_embedded_again() -> None:
    system, text = System(), prose(1_000)
    table = system.table({"a": text})
    system.tool(table)
    system.work()
    chunks = len(system.rows())
    system.replace(system.principal, table.id, {"a": text, "b": text})
    system.enumerate(int(str(system.queue.messages.pop(0)["index_id"])))
    report = run(system)
    assert (report.chunks, report.embedded, report.reused) == (chunks, 0, chunks)


def test_the_same_text_many_times_is_embedded_once() -> None:
    system = System(chunk_overlap=0)
    system.tool(system.table({"a": "x" * 2_000}))  # 20 chunks, all the same
    report = run(system)
    assert (report.chunks, report.embedded, report.reused) == (20, 1, 19)
    assert system.embedder.embedded == 1
    assert len(system.documents()) == 20


def test_equal_windows_of_one_chunk_are_embedded_once() -> None:
    system = System(chunk_overlap=0, chunk_size=400, window_tokens=25)
    system.tool(system.table({"a": "x" * 400}))
    assert run(system).chunks == 1
    assert (system.embedder.embedded, len(system.documents())) == (1, 4)


def test_a_second_run_over_the_same_set_creates_no_chunks() -> None:
    system = System()
    system.tool(system.table({"a": prose(1_000)}))
    node_id = next_node(system)
    system.embedder.errors = [EmbeddingUnavailableError("down", retry_after_s=5)]
    with pytest.raises(RetryLater) as caught:
        system.indexer.index_one(node_id, system.deadline())
    failed = caught.value.report
    assert failed is not None
    assert (failed.outcome, failed.chunks > 0, failed.embedded) == ("retried", True, 0)
    assert failed.error is not None
    assert failed.error.code == "EMBEDDING_UNAVAILABLE"
    assert list(failed.seconds) == ["chunking", "embedding"]
    system.clock.advance(6)
    again = system.indexer.index_one(node_id, system.deadline())
    assert (again.outcome, again.chunks, again.embedded) == ("indexed", 0, failed.chunks)


def test_a_message_that_comes_too_early_reports_nothing() -> None:
    system = System()
    system.tool(system.table({"a": prose(500)}))
    node_id = next_node(system)
    system.embedder.errors = [EmbeddingUnavailableError("down", retry_after_s=5)]
    for expected in (True, False):
        with pytest.raises(RetryLater) as caught:
            system.indexer.index_one(node_id, system.deadline())
        assert (caught.value.report is not None) == expected


def test_a_quarantined_node_reports_why() -> None:
    system = System()
    system.tool(system.table({"a": prose(500)}))
    system.embedder.errors = [EmbeddingDimensionMismatchError("3 instead of 16")]
    report = run(system)
    assert report.outcome == "quarantined"
    assert report.error is not None
    assert report.error.code == "EMBEDDING_DIMENSION_MISMATCH"


def test_a_message_for_a_node_that_is_done_has_nothing_to_do() -> None:
    system = System()
    system.tool(system.table({"a": prose(500)}))
    node_id = next_node(system)
    system.indexer.index_one(node_id, system.deadline())
    assert system.indexer.index_one(node_id, system.deadline()) == NodeReport("nothing_to_do")


class Overtaken(MoodyEmbedder):
    """Fails, and by then the text has changed: the node belongs to another message."""

    def __init__(self, system: System, table: Table, error: ContextSearchError) -> None:
        super().__init__()
        self.system, self.table, self.errors = system, table, [error]

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.system.replace(self.system.principal, self.table.id, {"a": prose(1_000, 2)})
        [index_id] = self.system.model_store.rows.indexes
        self.system.enumerate(index_id)
        return super().embed_passages(texts, timeout_s=timeout_s)


@pytest.mark.parametrize("error", [EmbeddingUnavailableError, EmbeddingDimensionMismatchError])
def test_a_failure_of_a_node_that_is_somebody_elses_by_now_is_not_reported(
    error: type[ContextSearchError],
) -> None:
    system = System()
    table = system.table({"a": prose(1_000)})
    system.tool(table)
    system.embedder = Overtaken(system, table, error("no"))
    report = run(system)
    assert (report.outcome, report.error) == ("nothing_to_do", None)
    [node] = system.model_store.rows.nodes.values()
    assert (node.state, node.last_error) == ("queued", None)


CONFIG = IndexConfig("m", 3)


def test_it_is_the_same_in_every_release() -> None:
    """Another hash would embed every text of every deployment anew."""
    half = replace(CONFIG, precision="f16", window_tokens=250)
    assert [input_hash("text", each).hex() for each in (CONFIG, half)] == [
        "1361b10dd88d33afecade569efebd8152b523c0122dce1ac78e3dbb3d3ff678b",
        "b6bd1170faabe644c10ca88af8bb80b946053cbe1ed39301ae8897efa7b1f65d",
    ]


def test_whatever_changes_a_vector_changes_it() -> None:
    others = [
        replace(CONFIG, model="n"),
        replace(CONFIG, dimensions=4),
        replace(CONFIG, precision="f16"),
        replace(CONFIG, window_tokens=250),
    ]
    hashes = {input_hash("text", each) for each in (CONFIG, *others)}
    hashes |= {input_hash("other", CONFIG), input_hash("text", CONFIG, "k")}
    hashes |= {input_hash("text", CONFIG, "l"), input_hash("text", others[2], "k")}
    assert len(hashes) == 9
