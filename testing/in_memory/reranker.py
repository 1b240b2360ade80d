"""Second opinions from words, without a model."""

from __future__ import annotations

from collections.abc import Sequence

from context_search.core.errors import RerankError, RerankTimeoutError, RerankUnavailableError
from context_search.integrations.ports import Reranker
from context_search.text.analysis import tokens


class WordReranker:
    """The port ``Reranker``: the share of a text's words that the question has. Deterministic.

    It proves the wiring only: this is no better opinion than that of the keywords. ``asked`` are
    the questions so far, each with its texts and its time; the next one raises ``failure``.
    """

    def __init__(self, model: str = "in-memory/words") -> None:
        self._model = model
        self.asked: list[tuple[str, Sequence[str], float]] = []
        self.failure: RerankError | None = None

    @property
    def model(self) -> str:
        return self._model

    def warm_up(self) -> None: ...

    def scores(self, question: str, texts: Sequence[str], *, timeout_s: float) -> dict[int, float]:
        if timeout_s <= 0:
            raise RerankTimeoutError("no time")
        self.asked.append((question, texts, timeout_s))
        if self.failure is not None:
            raise self.failure
        wanted = set(tokens(question))
        return {place: _share(wanted, tokens(text)) for place, text in enumerate(texts)}


def _share(wanted: set[str], words: Sequence[str]) -> float:
    return sum(word in wanted for word in words) / len(words) if words else 0.0


def no_reranker(_model: str) -> Reranker:
    """Raises RerankUnavailableError: a deployment without a reranking model."""
    raise RerankUnavailableError("this deployment has no such reranking model")
