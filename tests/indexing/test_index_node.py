"""From a message to chunks that can be found."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from context_search.core.callers import Internal
from context_search.core.errors import (
    DatabaseUnavailableError,
    EmbeddingDimensionMismatchError,
    EmbeddingUnavailableError,
)
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.indexer import IndexLimits
from context_search.indexing.node_report import MAX_BACKOFF_S, RetryLater
from tests.system import MoodyEmbedder, System, prose


def test_a_string_becomes_chunks_that_are_its_exact_slices() -> None:
    system, text = System(), prose(1_000)
    system.tool(system.table({"a": text, "b": "short"}))
    system.work()
    chunks = sorted(system.model_store.rows.chunks.values(), key=lambda chunk: chunk.index)
    assert [chunk.text for chunk in chunks] == [text[c.start : c.end] for c in chunks]
    assert all(chunk.present for chunk in chunks)
    assert system.documents() == system.rows()


def test_a_new_paragraph_in_a_long_text_embeds_at_most_five_chunks() -> None:
    system = System(chunk_size=1_000, chunk_overlap=100)
    text = prose(60_000)
    table = system.table({"a": text})
    system.tool(table)
    system.work()
    before = system.embedder.embedded
    edge = text.index("\n\n", 30_000) + 2
    system.replace(system.principal, table.id, {"a": text[:edge] + prose(300, 2) + text[edge:]})
    system.work()
    assert 0 < system.embedder.embedded - before <= 5


def test_several_windows_are_several_documents_of_one_chunk() -> None:
    system = System(window_tokens=8)
    status = system.tool(system.table({"a": prose(500)}))
    system.work()
    rows = list(system.model_store.rows.chunks.values())
    assert all(row.window_count > 1 and row.present for row in rows)
    assert len(system.documents()) == sum(row.window_count for row in rows)
    answer = system.search(status.tool.id, system.principal, "harbour winter", 20)
    found = [hit.chunk.id for hit in answer.hits]
    assert len(found) == len(set(found)) > 0
    namespace = system.vectors.namespaces[status.index.generation.namespace]
    with_tokens = {name for name, document in namespace.items() if document.tokens is not None}
    assert with_tokens == {row.doc_id for row in rows}


def test_a_worker_without_time_hands_over_what_is_left() -> None:
    system = System()
    system.tool(system.table({"a": prose(2_000)}))
    worker = system.worker(batch_chunks=3, batch_reserve_s=60)
    message = system.queue.messages.pop()
    node_id = int(str(message["node_id"]))
    begun = system.outbox.begin(int(str(message["order"])))
    assert begun is not None
    assert worker.index_one(node_id, system.deadline(seconds=30)).outcome == "handed_over"
    system.outbox.finish(begun)
    [again] = system.queue.messages
    assert again == {**message, "order": again["order"]}
    system.work(worker)
    assert system.documents() == system.rows()


def test_a_run_with_half_of_the_reserve_indexes_one_batch() -> None:
    system = System()
    system.tool(system.table({"a": prose(2_000)}))
    worker = system.worker(batch_chunks=3, batch_reserve_s=60)
    node_id = int(str(system.queue.messages.pop()["node_id"]))

    def present_after(seconds: float) -> int:
        assert worker.index_one(node_id, system.deadline(seconds)).outcome == "handed_over"
        return sum(chunk.present for chunk in system.model_store.rows.chunks.values())

    assert [present_after(29), present_after(31), present_after(59)] == [0, 3, 6]


def test_a_throttled_provider_decides_when_the_message_comes_back() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    system.embedder.errors = [EmbeddingUnavailableError("429", retry_after_s=17)]
    node_id = int(str(system.queue.messages.pop()["node_id"]))
    with pytest.raises(RetryLater) as caught:
        system.indexer.index_one(node_id, system.deadline())
    assert caught.value.after_s == 17
    state = system.read_status(status.tool.id, system.principal).progress
    assert state.last_error is not None
    assert (state.last_error["code"], state.last_error["retryable"]) == (
        "EMBEDDING_UNAVAILABLE",
        True,
    )
    with pytest.raises(RetryLater, match="again in 17 s"):
        system.indexer.index_one(node_id, system.deadline())  # too early


def test_a_provider_that_asks_for_an_hour_is_asked_again_within_minutes() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    throttled = EmbeddingUnavailableError("429", retry_after_s=3_600)
    system.embedder.errors = [throttled] * (IndexLimits().max_attempts + 1)
    before = system.clock.now()
    system.work()  # no attempt before its hour counts, so the string is not given up
    took_s = (system.clock.now() - before).total_seconds()
    assert took_s / len(system.embedder.calls) <= MAX_BACKOFF_S + 1
    assert system.read_status(status.tool.id, system.principal).progress.status == "ready"


def test_a_wrong_dimension_is_quarantined_and_the_old_version_stays_searchable() -> None:
    system = System()
    table = system.table({"a": "winter harbour. " * 20})
    status = system.tool(table)
    system.work()
    before = system.documents()
    system.replace(system.principal, table.id, {"a": "quarry meadow. " * 20})
    system.embedder.errors = [EmbeddingDimensionMismatchError("3 instead of 16")]
    system.work()
    state = system.read_status(status.tool.id, system.principal)
    assert state.progress.status == "degraded"
    assert state.nodes[0].last_error is not None
    assert state.nodes[0].last_error["code"] == "EMBEDDING_DIMENSION_MISMATCH"
    answer = system.search(status.tool.id, system.principal, "winter harbour", 5)
    assert answer.hits[0].chunk.stale
    assert system.documents() == before


def test_attempts_end_in_quarantine_with_the_last_error() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    system.embedder.errors = [EmbeddingUnavailableError("down")] * 9
    system.work(system.worker(max_attempts=3))
    state = system.read_status(status.tool.id, system.principal).progress
    assert state.states == {"quarantined": 1}
    assert len(system.embedder.errors) == 6


def test_a_node_that_kills_its_workers_ends_in_quarantine() -> None:
    system = System()
    status = system.tool(system.table({"a": prose(500)}))
    node_id = int(str(system.queue.messages.pop()["node_id"]))
    for _ in range(3):
        with system.store.for_all("test") as work:  # a worker that is killed right after its claim
            assert work.nodes.claim(node_id, lease_s=1)
        system.clock.advance(2)
    report = system.worker(max_attempts=3).index_one(node_id, system.deadline())
    assert report.outcome == "quarantined"
    error = system.read_status(status.tool.id, system.principal).progress.last_error
    assert error is not None
    assert error["code"] == "ATTEMPTS_EXHAUSTED"


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
    [generation] = system.model_store.rows.generations.values()
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


class Breaking(Limits):
    """Breaks in the middle of a comparison."""

    error: Exception = MemoryError("canary-text")

    @property
    def max_node_chars(self) -> int:
        raise self.error


class Away(Breaking):
    error = DatabaseUnavailableError("away")


@pytest.mark.parametrize(
    ("limits", "code"), [(Breaking, "INTERNAL"), (Away, "DATABASE_UNAVAILABLE")]
)
def test_a_comparison_that_fails_is_shown_without_what_it_quotes(
    limits: type[Breaking], code: str
) -> None:
    system = System()
    table = system.table({"a": prose(300)})
    tool = system.tool(table).tool
    system.work()
    system.replace(system.principal, table.id, {"a": prose(400)})
    broken = Comparer(system.store, system.completion, object.__new__(limits))
    with pytest.raises(type(limits.error)):
        broken.compare(tool.index_id)
    error = system.read_status(tool.id, Internal()).progress.last_error
    assert error is not None
    assert (error["code"], error["retryable"], "at" in error) == (code, True, True)
    assert "canary" not in str(error)
    system.work()
    assert system.read_status(tool.id, Internal()).progress.last_error is None


def test_a_message_that_comes_twice_changes_nothing() -> None:
    system = System()
    system.tool(system.table({"a": prose(1_000)}))
    messages = list(system.queue.messages)
    system.work()
    before, embedded = system.rows(), system.embedder.embedded
    system.queue.messages.extend(messages * 2)
    system.work()
    assert (system.rows(), system.embedder.embedded) == (before, embedded)


def test_progress_is_no_failed_attempt() -> None:
    system = System()
    system.tool(system.table({"a": prose(2_000)}))
    worker = system.worker(max_attempts=2, batch_chunks=1, batch_reserve_s=60)
    message = system.queue.messages.pop()
    node_id = int(str(message["node_id"]))
    for _ in range(5):  # killed after its first batch each time
        with pytest.raises(KeyboardInterrupt):
            worker.index_one(node_id, _KillingDeadline())  # type: ignore[arg-type]
        system.clock.advance(10_000)
    system.queue.send([message])
    system.work(worker)
    assert system.documents() == system.rows()


class _KillingDeadline:
    """Lets one batch pass, then the process is gone."""

    def __init__(self) -> None:
        self._batches = 0

    def left_s(self) -> float:
        self._batches += 1
        if self._batches > 1:
            raise KeyboardInterrupt
        return 900.0


def test_white_space_has_no_chunks_and_is_indexed() -> None:
    system = System()
    status = system.tool(system.table({"a": " \n" * 50}))
    system.work()
    progress = system.read_status(status.tool.id, system.principal).progress
    assert (progress.status, progress.chunks_count) == ("ready", 0)
