"""The vectors of questions."""

from __future__ import annotations

import pytest

from context_search.core.config import IndexConfig
from context_search.core.errors import (
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
)
from context_search.searching.breaker import FAILURES_TO_OPEN, Breakers
from context_search.searching.embed_question import (
    KEPT_S,
    EmbedQuestion,
    QuestionVectors,
)
from testing.in_memory.clock import ManualClock
from testing.in_memory.embedder import WordEmbedder

CONFIG = IndexConfig("in-memory/words", 16)
TOO_LONG = "more than the model reads"
OTHER_MODEL = IndexConfig("in-memory/others", 16)
OTHER_LENGTH = IndexConfig("in-memory/words", 8)


class CountingEmbedder(WordEmbedder):
    """Counts questions; fails while told to."""

    def __init__(self) -> None:
        super().__init__(16)
        self.questions: list[str] = []
        self.is_down = False

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        self.questions.append(text)
        if text == TOO_LONG:
            raise EmbeddingRejectedError("too long")
        if self.is_down:
            raise EmbeddingUnavailableError("down")
        return super().embed_query(text, timeout_s=timeout_s)


class Setup:
    """An EmbedQuestion with its parts."""

    def __init__(self, size: int = 10) -> None:
        self.clock = ManualClock()
        self.embedder = CountingEmbedder()
        kept = QuestionVectors(self.clock, size)
        self.others = CountingEmbedder()
        self.embed = EmbedQuestion(self.embedder_of, kept, Breakers(self.clock))

    def embedder_of(self, config: IndexConfig) -> CountingEmbedder:
        return self.others if config.model == OTHER_MODEL.model else self.embedder

    def ask(self, text: str, config: IndexConfig = CONFIG, project_id: int = 1) -> list[float]:
        return self.embed.embed(project_id, config, text, timeout_s=1)[0]


def test_a_question_is_embedded_once_an_hour_for_each_model() -> None:
    setup = Setup()
    first = setup.ask("harbour")
    assert setup.ask("harbour") == pytest.approx(first)
    assert setup.embedder.questions == ["harbour"]
    setup.ask("harbour", OTHER_MODEL)
    assert (setup.embedder.questions, setup.others.questions) == (["harbour"], ["harbour"])
    setup.clock.advance(KEPT_S - 1)
    setup.ask("harbour")
    assert len(setup.embedder.questions) == 1
    setup.clock.advance(2)  # that it was asked for does not make it younger
    setup.ask("harbour")
    assert len(setup.embedder.questions) == 2


def test_a_project_does_not_see_what_another_one_asked() -> None:
    setup = Setup()
    setup.ask("harbour", project_id=1)
    setup.ask("harbour", project_id=2)
    assert setup.embedder.questions == ["harbour", "harbour"]


def test_vectors_of_another_length_are_kept_apart() -> None:
    setup = Setup()
    kept = setup.embed.kept
    kept.put(1, CONFIG, "harbour", [1.0] * 16)
    assert kept.get(1, OTHER_LENGTH, "harbour") is None
    kept.put(1, OTHER_LENGTH, "harbour", [0.5] * 8)
    assert [kept.get(1, each, "harbour") for each in (CONFIG, OTHER_LENGTH)] == [
        [1.0] * 16,
        [0.5] * 8,
    ]
    assert kept.get(1, CONFIG, "Harbour") is None


def test_a_kept_vector_is_not_taken_when_the_model_is_asked_otherwise() -> None:
    setup = Setup()
    setup.ask("harbour")
    setup.embedder.query_key = "another prefix"
    setup.ask("harbour")
    setup.ask("harbour")
    assert setup.embedder.questions == ["harbour", "harbour"]


def test_the_memory_is_bounded() -> None:
    setup = Setup(size=2)
    for text in ("one", "two", "three", "one"):
        setup.ask(text)
    assert setup.embedder.questions == ["one", "two", "three", "one"]


def test_a_model_that_keeps_failing_takes_no_other_model_with_it() -> None:
    setup = Setup()
    setup.embedder.is_down = True
    for _ in range(FAILURES_TO_OPEN + 1):
        with pytest.raises(EmbeddingUnavailableError):
            setup.ask("harbour")
    assert setup.ask("harbour", OTHER_MODEL)
    assert setup.ask("garden", OTHER_MODEL)
    with pytest.raises(EmbeddingUnavailableError):  # what the other one answers does not close it
        setup.ask("garden")
    assert len(setup.embedder.questions) == FAILURES_TO_OPEN


def test_a_search_that_has_no_time_left_says_nothing_about_the_model() -> None:
    setup = Setup()
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(EmbeddingTimeoutError):
            setup.embed.embed(1, CONFIG, "harbour", timeout_s=0)
    assert setup.ask("harbour")


def test_refused_questions_do_not_keep_others_from_the_model() -> None:
    setup = Setup()
    for _ in range(FAILURES_TO_OPEN):
        with pytest.raises(EmbeddingRejectedError):
            setup.ask(TOO_LONG)
    assert setup.ask("harbour")
