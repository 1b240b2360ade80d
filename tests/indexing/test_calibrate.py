"""An index that finds out by itself what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from context_search.core.callers import Internal
from context_search.core.errors import (
    ContextSearchError,
    EmbeddingDimensionMismatchError,
    EmbeddingRejectedError,
    EmbeddingUnavailableError,
)
from context_search.core.messages import CalibrateIndex
from context_search.core.model import Index, IndexCalibration
from context_search.indexing.calibrate import QUESTIONS, Calibrator
from context_search.indexing.node_report import RetryLater
from context_search.ranking.calibration import LEAST_QUESTIONS
from context_search.ranking.unanswered import UNANSWERED
from context_search.text.chunking import estimated_tokens
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.vectors import DictVectors
from tests.system import System, prose

STRINGS = 40
MOST_TEXTS = 120


class Watched(WordEmbedder):
    """Tells of each call and counts its texts."""

    def __init__(self, before: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.before = before
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.before()
        self.texts += texts
        return super().embed_passages(texts, timeout_s=timeout_s)

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.before()
        self.texts += texts
        return super().embed_queries(texts, timeout_s=timeout_s)


def document(strings: int = STRINGS, first: int = 0) -> dict[str, str]:
    return {f"s{seed}": prose(380, seed) for seed in range(first, first + strings)}


def indexed(strings: int = STRINGS) -> tuple[System, int]:
    """A tool over an index that is complete; its calibration is ordered, and nothing else."""
    system = System(chunk_size=400)
    tool_id = system.tool(system.table(document(strings))).tool.id
    while any(message["kind"] != "calibrate" for message in system.queue.messages):
        message = system.queue.messages.pop(0)
        if message["kind"] == "calibrate":
            system.queue.messages.append(message)
        elif (error := system.execute(message).error) is not None:
            raise error
    return system, tool_id


def index_of(system: System, tool_id: int) -> Index:
    with system.store.for_all("test") as work:
        tool = work.tools.find(tool_id, project_id=None)
        assert tool is not None
        index = work.indexes.find(tool.index_id)
    assert index is not None
    return index


def found_in(system: System, tool_id: int) -> IndexCalibration | None:
    return index_of(system, tool_id).generation.calibration


def calibrator(
    system: System, embedder: WordEmbedder, vectors: DictVectors | None = None
) -> Calibrator:
    return replace(
        system.calibrator, embedder_of=lambda _: embedder, vectors=vectors or system.vectors
    )


def run(system: System, hands: Calibrator, tool_id: int) -> str:
    index = index_of(system, tool_id)
    return hands.run(index.id, index.generation.id, system.deadline())


def to_the_end(system: System, hands: Calibrator, tool_id: int) -> None:
    while run(system, hands, tool_id) != "calibrated":
        assert found_in(system, tool_id) is None


def relayed(system: System) -> None:
    """Whatever was lost comes again."""
    system.clock.advance(10_000)
    system.queue.messages.clear()
    system.store.relay(silent_s=60.0)
    system.work()


def test_an_index_that_is_complete_is_calibrated_once() -> None:
    system, tool_id = indexed()
    index = index_of(system, tool_id)
    [message] = system.queue.messages
    expected = CalibrateIndex(index.id, index.generation.id).to_json()
    assert {**message, "order": None} == {**expected, "order": None}
    system.work()
    found = found_in(system, tool_id)
    assert found is not None
    assert found.questions >= LEAST_QUESTIONS
    assert found.vector_weight is not None
    assert found.chunks == len(system.rows())
    assert found.at == system.clock.now()
    assert system.model_store.rows.outbox == {}
    embedded = system.embedder.embedded
    assert run(system, system.calibrator, tool_id) == "nothing_to_do"
    assert system.embedder.embedded == embedded


def test_a_search_is_weighed_by_what_was_found_and_says_so() -> None:
    system, tool_id = indexed()
    before = system.search(tool_id, system.principal, "harbour", 5)
    assert (before.target.weights.source, before.target.weights.vector) == ("model", 0.5)
    system.work()
    system.clock.advance(60)
    answer = system.search(tool_id, system.principal, "harbour", 5)
    found = found_in(system, tool_id)
    assert found is not None
    weights = answer.target.weights
    assert (weights.source, weights.vector) == ("calibration", found.vector_weight)
    assert weights.vector + weights.bm25 == pytest.approx(1.0)
    status = system.tool(system.table(document(3, first=900)), vector_weight=0.9, bm25_weight=0.3)
    system.work()
    fixed = system.search(status.tool.id, system.principal, "harbour", 5).target.weights
    assert (fixed.source, fixed.vector, fixed.bm25) == ("tool", 0.9, 0.3)


def test_a_worker_that_lost_its_process_keeps_others_away_only_while_it_could_live() -> None:
    system, tool_id = indexed()
    pool = f"calibration of {index_of(system, tool_id).generation.id}"
    with system.store.for_project(1) as work:
        assert work.permits.take(pool, size=1, count=1, lease_s=900.0)
    with pytest.raises(RetryLater):
        run(system, system.calibrator, tool_id)
    system.clock.advance(901)
    assert run(system, system.calibrator, tool_id) == "questions_embedded"


def test_two_workers_never_calibrate_a_generation_at_once() -> None:
    system, tool_id = indexed()
    refused: list[float] = []

    def second() -> None:
        with pytest.raises(RetryLater) as later:
            run(system, system.calibrator, tool_id)
        refused.append(later.value.after_s)

    hands = calibrator(system, Watched(second))
    assert run(system, hands, tool_id) == "questions_embedded"
    assert run(system, hands, tool_id) == "calibrated"
    assert refused


def test_a_run_embeds_few_texts_and_costs_what_the_dry_run_said() -> None:
    system, tool_id = indexed(80)
    embedder = Watched()
    hands = calibrator(system, embedder)
    runs: list[list[str]] = []
    while found_in(system, tool_id) is None:
        run(system, hands, tool_id)
        runs.append(embedder.texts)
        embedder.texts = []
    assert [len(texts) for texts in runs] == [len(UNANSWERED), 2 * QUESTIONS]
    assert max(map(len, runs)) <= MOST_TEXTS
    paid = sum(estimated_tokens(text) for texts in runs for text in texts)
    estimate = system.rebuilds.estimate(tool_id, Internal())
    itself = sum(estimated_tokens(row.text) for row in system.model_store.rows.chunks.values())
    assert paid <= 1.02 * (estimate.tokens - itself) + 2 * len(UNANSWERED)
    assert paid >= 0.7 * (estimate.tokens - itself)


def test_another_index_of_the_model_asks_the_same_questions_for_nothing() -> None:
    system, _ = indexed()
    system.work()
    embedder = Watched()
    system.embedder.embed_queries = embedder.embed_queries  # type: ignore[method-assign]
    other = system.tool(system.table(document(first=500))).tool.id
    system.work()
    assert found_in(system, other) is not None
    assert not set(UNANSWERED) & set(embedder.texts)


def test_a_model_that_is_asked_in_another_way_has_its_own_vectors_of_the_questions() -> None:
    system, tool_id = indexed()
    assert run(system, system.calibrator, tool_id) == "questions_embedded"
    embedder = Watched()
    embedder.query_key = "another instruction"
    assert run(system, calibrator(system, embedder), tool_id) == "questions_embedded"
    assert embedder.texts == list(UNANSWERED)


@pytest.mark.parametrize("at", [0, 1])
def test_an_embedder_that_fails_leaves_the_defaults_and_is_asked_again(at: int) -> None:
    system, tool_id = indexed()
    errors: list[ContextSearchError] = [EmbeddingUnavailableError("down")]

    def fail() -> None:
        if errors:
            raise errors.pop()

    hands = calibrator(system, Watched(fail if at == 0 else lambda: None))
    if at:
        assert run(system, hands, tool_id) == "questions_embedded"
        hands = calibrator(system, Watched(fail))
    with pytest.raises(EmbeddingUnavailableError):
        run(system, hands, tool_id)
    assert found_in(system, tool_id) is None
    assert system.search(tool_id, system.principal, "harbour", 5).target.weights.source == "model"
    relayed(system)
    assert found_in(system, tool_id) is not None


def test_it_is_done_again_when_there_are_twice_as_many_chunks() -> None:
    system, tool_id = indexed()
    system.work()
    before = found_in(system, tool_id)
    assert before is not None
    [table] = system.model_store.rows.tables
    found = system.model_store.rows.tables[table]
    grown = document(STRINGS + 10)
    system.replace(system.principal, found.id, grown)
    system.work()
    assert found_in(system, tool_id) == before
    system.clock.advance(5)
    system.replace(system.principal, found.id, document(2 * STRINGS))
    system.work()
    after = found_in(system, tool_id)
    assert after is not None
    assert after.chunks >= 2 * before.chunks
    assert after.at > before.at


def test_a_new_generation_is_calibrated_when_it_answers() -> None:
    system, tool_id = indexed()
    system.work()
    before = index_of(system, tool_id).generation
    system.rebuilds.start(tool_id, Internal())
    system.work()
    after = index_of(system, tool_id).generation
    assert after.id != before.id
    assert after.calibration is not None
    assert before.calibration is not None
    assert after.calibration.vector_weight == before.calibration.vector_weight


def test_an_order_for_a_generation_that_does_not_answer_does_nothing() -> None:
    system, tool_id = indexed()
    index = index_of(system, tool_id)
    hands = system.calibrator
    assert hands.run(index.id, index.generation.id + 999, system.deadline()) == "nothing_to_do"
    assert hands.run(index.id + 999, index.generation.id, system.deadline()) == "nothing_to_do"
    system.delete_table(system.principal, next(iter(system.model_store.rows.tables)))
    with pytest.raises(RetryLater):
        hands.run(index.id, index.generation.id, system.deadline(seconds=10))


def test_a_small_index_is_not_calibrated_and_one_without_sentences_has_no_weight() -> None:
    system, tool_id = indexed(10)
    assert system.queue.messages == []
    system.work()
    assert found_in(system, tool_id) is None
    words = System(chunk_size=100)
    unsaid = words.tool(words.table({str(n): prose(90, n) for n in range(30)})).tool.id
    words.work()
    found = found_in(words, unsaid)
    assert found is not None
    assert (found.vector_weight, found.questions) == (None, 0)
    answer = words.search(unsaid, words.principal, "harbour", 5)
    assert answer.target.weights.source == "model"


def test_an_index_from_before_is_calibrated_when_it_is_searched() -> None:
    system = System(calibrates_from=None, chunk_size=400)
    tool_id = system.tool(system.table(document())).tool.id
    system.work()
    assert found_in(system, tool_id) is None
    system.clock.advance(120)
    system.search(tool_id, system.principal, "harbour", 5)
    assert [message["kind"] for message in system.queue.messages] == ["calibrate"]
    system.work()
    assert found_in(system, tool_id) is not None


def test_a_quarantined_string_keeps_no_index_from_being_calibrated() -> None:
    system = System(chunk_size=400)
    texts = document()
    system.embedder.refused = {texts["s7"]: EmbeddingDimensionMismatchError("3, not 16")}
    tool_id = system.tool(system.table(texts)).tool.id
    system.work()
    assert found_in(system, tool_id) is None
    system.clock.advance(120)
    system.search(tool_id, system.principal, "harbour", 5)
    system.work()
    assert found_in(system, tool_id) is not None


class Refusing(Watched):
    """A provider that refuses the passages that are asked about, as a filter of contents does."""

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        raise EmbeddingRejectedError(f"{len(texts)} texts, {timeout_s} s")


def test_a_sentence_that_the_provider_refuses_is_not_paid_for_again_and_again() -> None:
    system, tool_id = indexed()
    embedder = Refusing()
    to_the_end(system, calibrator(system, embedder), tool_id)
    found = found_in(system, tool_id)
    assert found is not None
    assert (found.vector_weight, found.questions) == (None, 0)
    assert run(system, calibrator(system, embedder), tool_id) == "nothing_to_do"


class Silent(Watched):
    """A provider that once answers vectors of zeros."""

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        found = super().embed_queries(texts, timeout_s=timeout_s)
        return [[0.0] * len(vector) for vector in found]


def test_vectors_of_zeros_are_kept_for_no_index_of_the_model() -> None:
    system, tool_id = indexed()
    with pytest.raises(EmbeddingDimensionMismatchError):
        run(system, calibrator(system, Silent()), tool_id)
    to_the_end(system, calibrator(system, Watched()), tool_id)
    found = found_in(system, tool_id)
    assert found is not None
    assert found.middle > 0


class RefusingQuestions(Watched):
    """A provider that refuses one of the fixed questions."""

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        super().embed_queries(texts, timeout_s=timeout_s)
        raise EmbeddingRejectedError("no")


@pytest.mark.parametrize("embedder", [RefusingQuestions(), Silent()], ids=["refused", "zeros"])
def test_fixed_questions_that_are_refused_are_asked_again_after_an_hour(embedder: Watched) -> None:
    system, _ = indexed()
    system.calibrator = calibrator(system, embedder)
    [message] = system.queue.messages
    assert system.execute(message).again_in_s == 3_600
    assert len(embedder.texts) == len(UNANSWERED)
