"""The vector of a question: kept for an hour, and asked for only while the model answers."""

from __future__ import annotations

import hashlib
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from cachetools import TTLCache

from context_search.core.config import IndexConfig
from context_search.core.errors import EmbeddingTimeoutError, EmbeddingUnavailableError
from context_search.integrations.ports import Clock, Embedder
from context_search.searching.breaker import Breakers

KEPT_QUESTIONS = 1_000
KEPT_S = 3_600.0

_Key = tuple[int, str, int, str, bytes]


@dataclass
class QuestionVectors:
    """The vectors of recent questions, by project and model; holds hashes, never a question's text.

    A project has its own: how fast an answer comes must not tell what others ask.
    Single precision, as turbopuffer keeps them: 1,000 of 1,536 dimensions are 6 MB.
    """

    clock: Clock
    size: int = KEPT_QUESTIONS
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _kept: TTLCache[_Key, array[float]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._kept = TTLCache(self.size, KEPT_S, timer=self.clock.monotonic)

    def get(
        self, project_id: int, config: IndexConfig, text: str, query_key: str = ""
    ) -> list[float] | None:
        """Returns the vector that this model, asked in this way, once gave for this text."""
        with self._lock:
            kept = self._kept.get(_key(project_id, config, text, query_key))
        return None if kept is None else kept.tolist()

    def put(
        self,
        project_id: int,
        config: IndexConfig,
        text: str,
        vector: list[float],
        query_key: str = "",
    ) -> None:
        """Keeps a vector."""
        with self._lock:
            self._kept[_key(project_id, config, text, query_key)] = array("f", vector)


def _key(project_id: int, config: IndexConfig, text: str, query_key: str) -> _Key:
    text_hash = hashlib.sha256(text.encode()).digest()
    return project_id, config.model, config.dimensions, query_key, text_hash


@dataclass(frozen=True, slots=True)
class EmbedQuestion:
    """Asks the embedding model of an index for the vector of a question."""

    embedder_of: Callable[[IndexConfig], Embedder]
    kept: QuestionVectors
    breakers: Breakers

    def embed(
        self, project_id: int, config: IndexConfig, text: str, *, timeout_s: float
    ) -> tuple[list[float], bool]:
        """Returns the vector, and whether it was kept from before for the same project.

        Raises EmbeddingError; at once while the model keeps failing.
        """
        embedder = self.embedder_of(config)
        known = self.kept.get(project_id, config, text, embedder.query_key)
        if known is not None:
            return known, True
        if timeout_s <= 0:  # before the breaker: it says nothing about the model
            raise EmbeddingTimeoutError("no time is left for the vector of the question")
        # A refused question says nothing about the next one, which may be another caller's.
        guarding = self.breakers.of(config.model).guarding
        with guarding(EmbeddingUnavailableError, "the model failed several times in a row"):
            vector = embedder.embed_query(text, timeout_s=timeout_s)
        self.kept.put(project_id, config, text, vector, embedder.query_key)
        return vector, False
