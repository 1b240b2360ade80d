"""Vectors of a slow model in a file: asked for once, whatever is stopped or started again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evaluation.jsonl import UnreadableError
from evaluation.vectors import AT_ONCE, KeptVectors

TEXTS = ["red door", "green door", "red door"]


@dataclass
class Counting:
    """The port ``Embedder``: what it was asked, and its number as the vector."""

    model: str = "counting"
    dimensions: int = 2
    passage_key: str = ""
    query_key: str = ""
    asked: list[str] = field(default_factory=list)
    refused: str | None = None

    def warm_up(self) -> None: ...

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        return [self.embed_query(f"passage: {text}", timeout_s=timeout_s) for text in texts]

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:  # noqa: ARG002
        if text == self.refused:
            raise OSError(text)
        self.asked.append(text)
        return [float(len(self.asked)), 0.5]

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]


def test_a_second_run_asks_the_model_nothing(tmp_path: Path) -> None:
    first = KeptVectors(Counting(), tmp_path / "vectors")
    passages = first.embed_passages(TEXTS, timeout_s=1)
    question = first.embed_query("red door", timeout_s=1)
    model = Counting()
    second = KeptVectors(model, tmp_path / "vectors")
    assert second.embed_passages(TEXTS, timeout_s=1) == passages
    assert second.embed_query("red door", timeout_s=1) == question
    assert model.asked == []


def test_questions_passages_and_models_are_kept_apart(tmp_path: Path) -> None:
    one, other = Counting(), Counting("other")
    KeptVectors(one, tmp_path / "vectors").embed_passages(["red door"], timeout_s=1)
    kept = KeptVectors(other, tmp_path / "vectors")
    kept.embed_query("red door", timeout_s=1)
    kept.embed_passages(["red door"], timeout_s=1)
    assert (one.asked, other.asked) == (["passage: red door"], ["red door", "passage: red door"])


def test_a_run_that_is_stopped_loses_the_last_few_only(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(AT_ONCE + 2)]
    stopped = Counting(refused=f"passage: {texts[-1]}")
    with pytest.raises(OSError, match="text 17"):
        KeptVectors(stopped, tmp_path / "vectors").embed_passages(texts, timeout_s=1)
    model = Counting()
    KeptVectors(model, tmp_path / "vectors").embed_passages(texts, timeout_s=1)
    assert model.asked == [f"passage: {text}" for text in texts[AT_ONCE:]]


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("these are no vectors, but a text of many words\n" * 40)
    with pytest.raises(UnreadableError, match="vectors: file is not a database"):
        KeptVectors(Counting(), tmp_path / "vectors")
