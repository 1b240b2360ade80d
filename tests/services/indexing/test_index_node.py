"""From a message to chunks that can be found."""

from __future__ import annotations

import pytest

from context_search.domain.errors import (
    EmbeddingDimensionMismatchError,
    EmbeddingUnavailableError,
)
from context_search.services.indexing.node_report import RetryLater
from tests.services.house import House, prose


def test_a_string_becomes_chunks_that_are_its_exact_slices() -> None:
    house, text = House(), prose(1_000)
    house.tool(house.table({"a": text, "b": "short"}))
    house.work()
    chunks = sorted(house.memory.rows.chunks.values(), key=lambda chunk: chunk.index)
    assert [chunk.text for chunk in chunks] == [text[c.start : c.end] for c in chunks]
    assert all(chunk.present for chunk in chunks)
    assert house.documents() == house.rows()


def test_a_message_that_comes_twice_changes_nothing() -> None:
    house = House()
    house.tool(house.table({"a": prose(1_000)}))
    messages = list(house.queue.messages)
    house.work()
    before, embedded = house.rows(), house.embedder.embedded
    house.queue.messages.extend(messages * 2)
    house.work()
    assert (house.rows(), house.embedder.embedded) == (before, embedded)


def test_the_same_tool_again_indexes_nothing_again() -> None:
    house = House()
    table = house.table({"a": prose(1_000)})
    house.tool(table)
    house.work()
    embedded = house.embedder.embedded
    second = house.tool(table, scope="/a")
    assert second.progress.status == "ready"
    assert not house.queue.messages
    assert house.embedder.embedded == embedded


def test_white_space_has_no_chunks_and_is_indexed() -> None:
    house = House()
    status = house.tool(house.table({"a": " \n" * 50}))
    house.work()
    progress = house.read_status(status.tool.id, house.principal).progress
    assert (progress.status, progress.chunks_count) == ("ready", 0)


@pytest.mark.parametrize("position", [0, 500_000, 999_000])
def test_a_new_paragraph_in_a_long_text_embeds_at_most_five_chunks(position: int) -> None:
    house = House(chunk_size=1_000, chunk_overlap=100)
    text = prose(1_000_000)
    table = house.table({"a": text})
    house.tool(table)
    house.work()
    before = house.embedder.embedded
    edge = text.index("\n\n", position) + 2 if position else 0
    house.replace(house.principal, table.id, {"a": text[:edge] + prose(300, 2) + text[edge:]})
    house.work()
    assert 0 < house.embedder.embedded - before <= 5


def test_a_text_that_only_moved_is_not_embedded_again() -> None:
    house, text = House(), prose(1_000)
    table = house.table({"a": text})
    house.tool(table)
    house.work()
    embedded = house.embedder.embedded
    house.replace(house.principal, table.id, {"b": {"c": text}, "a": text})
    house.work()
    assert house.embedder.embedded == embedded
    assert house.documents() == house.rows()


def test_several_windows_are_several_documents_of_one_chunk() -> None:
    house = House(window_tokens=8)
    status = house.tool(house.table({"a": prose(500)}))
    house.work()
    rows = list(house.memory.rows.chunks.values())
    assert all(row.window_count > 1 and row.present for row in rows)
    assert len(house.documents()) == sum(row.window_count for row in rows)
    answer = house.search(status.tool.id, house.principal, "harbour winter", 20)
    found = [hit.chunk.id for hit in answer.hits]
    assert len(found) == len(set(found)) > 0
    namespace = house.vectors.namespaces[status.index.namespace]
    with_tokens = {name for name, document in namespace.items() if document.tokens is not None}
    assert with_tokens == {row.doc_id for row in rows}


def test_a_worker_without_time_hands_over_what_is_left() -> None:
    house = House()
    house.tool(house.table({"a": prose(2_000)}))
    worker = house.worker(batch_chunks=3, batch_reserve_s=60)
    message = house.queue.messages.pop()
    node_id = int(str(message["node_id"]))
    begun = house.book.begin(int(str(message["order"])))
    assert begun is not None
    assert worker.index_one(node_id, house.deadline(seconds=30)).outcome == "handed_over"
    house.book.finish(begun)
    [again] = house.queue.messages
    assert again == {**message, "order": again["order"]}
    house.work(worker)
    assert house.documents() == house.rows()


def test_a_run_with_half_of_the_reserve_indexes_one_batch() -> None:
    house = House()
    house.tool(house.table({"a": prose(2_000)}))
    worker = house.worker(batch_chunks=3, batch_reserve_s=60)
    node_id = int(str(house.queue.messages.pop()["node_id"]))

    def present_after(seconds: float) -> int:
        assert worker.index_one(node_id, house.deadline(seconds)).outcome == "handed_over"
        return sum(chunk.present for chunk in house.memory.rows.chunks.values())

    assert [present_after(29), present_after(31), present_after(59)] == [0, 3, 6]


def test_a_throttled_provider_decides_when_the_message_comes_back() -> None:
    house = House()
    status = house.tool(house.table({"a": prose(500)}))
    house.embedder.errors = [EmbeddingUnavailableError("429", retry_after_s=17)]
    node_id = int(str(house.queue.messages.pop()["node_id"]))
    with pytest.raises(RetryLater) as caught:
        house.indexer.index_one(node_id, house.deadline())
    assert caught.value.after_s == 17
    state = house.read_status(status.tool.id, house.principal).progress
    assert state.last_error is not None
    assert (state.last_error["code"], state.last_error["retryable"]) == (
        "EMBEDDING_UNAVAILABLE",
        True,
    )
    with pytest.raises(RetryLater, match="again in 17 s"):
        house.indexer.index_one(node_id, house.deadline())  # too early


def test_a_wrong_dimension_is_quarantined_and_the_old_version_stays_searchable() -> None:
    house = House()
    table = house.table({"a": "winter harbour. " * 20})
    status = house.tool(table)
    house.work()
    before = house.documents()
    house.replace(house.principal, table.id, {"a": "quarry meadow. " * 20})
    house.embedder.errors = [EmbeddingDimensionMismatchError("3 instead of 16")]
    house.work()
    state = house.read_status(status.tool.id, house.principal)
    assert state.progress.status == "degraded"
    assert state.nodes[0].last_error is not None
    assert state.nodes[0].last_error["code"] == "EMBEDDING_DIMENSION_MISMATCH"
    answer = house.search(status.tool.id, house.principal, "winter harbour", 5)
    assert answer.hits[0].chunk.stale
    assert house.documents() == before


def test_attempts_end_in_quarantine_with_the_last_error() -> None:
    house = House()
    status = house.tool(house.table({"a": prose(500)}))
    house.embedder.errors = [EmbeddingUnavailableError("down")] * 9
    house.work(house.worker(max_attempts=3))
    state = house.read_status(status.tool.id, house.principal).progress
    assert state.states == {"quarantined": 1}
    assert len(house.embedder.errors) == 6


def test_a_node_that_kills_its_workers_ends_in_quarantine() -> None:
    house = House()
    status = house.tool(house.table({"a": prose(500)}))
    node_id = int(str(house.queue.messages.pop()["node_id"]))
    for _ in range(3):
        with house.store.for_all("test") as work:  # a worker that is killed right after its claim
            assert work.nodes.claim(node_id, lease_s=1)
        house.clock.advance(2)
    report = house.worker(max_attempts=3).index_one(node_id, house.deadline())
    assert report.outcome == "quarantined"
    error = house.read_status(status.tool.id, house.principal).progress.last_error
    assert error is not None
    assert error["code"] == "ATTEMPTS_EXHAUSTED"


def test_progress_is_no_failed_attempt() -> None:
    house = House()
    house.tool(house.table({"a": prose(2_000)}))
    worker = house.worker(max_attempts=2, batch_chunks=1, batch_reserve_s=60)
    node_id = int(str(house.queue.messages.pop()["node_id"]))
    for _ in range(5):  # killed after its first batch each time
        with pytest.raises(KeyboardInterrupt):
            worker.index_one(node_id, _KillingDeadline())  # type: ignore[arg-type]
        house.clock.advance(10_000)
    house.queue.send([{"kind": "node", "node_id": node_id}])
    house.work(worker)
    assert house.documents() == house.rows()


class _KillingDeadline:
    """Lets one batch pass, then the process is gone."""

    def __init__(self) -> None:
        self._batches = 0

    def left_s(self) -> float:
        self._batches += 1
        if self._batches > 1:
            raise KeyboardInterrupt
        return 900.0
