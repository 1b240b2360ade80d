"""Models that a search asks in a thread, which it leaves behind when time is up.

A timeout of a provider's client does not count a name that does not resolve, and some providers get
none from litellm. The first import of the client's library is not in the time: on a cold start it
took that of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from context_search.core.errors import (
    ContextSearchError,
    EmbeddingTimeoutError,
    RerankTimeoutError,
)
from context_search.integrations.ports import Embedder, Reranker

Model = TypeVar("Model", Embedder, Reranker)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Bounded(Generic[Model]):
    """A model, and the threads in which it is asked."""

    inner: Model
    threads: ThreadPoolExecutor

    @property
    def model(self) -> str:
        return self.inner.model

    def warm_up(self) -> None:
        self.inner.warm_up()

    def _in_time(self, ask: Callable[[], T], timeout_s: float, late: ContextSearchError) -> T:
        self.inner.warm_up()
        pending = self.threads.submit(ask)
        try:
            return pending.result(timeout_s)
        except TimeoutError:
            pending.cancel()
            raise late from None


class BoundedEmbedder(_Bounded[Embedder]):
    """The port ``Embedder``. Only one question is bounded: a search waits for it."""

    __slots__ = ()

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def passage_key(self) -> str:
        return self.inner.passage_key

    @property
    def query_key(self) -> str:
        return self.inner.query_key

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Not bounded further."""
        return self.inner.embed_passages(texts, timeout_s=timeout_s)

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Not bounded further."""
        return self.inner.embed_queries(texts, timeout_s=timeout_s)

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        ask = partial(self.inner.embed_query, text, timeout_s=timeout_s)
        late = EmbeddingTimeoutError("no vector of the question in time")
        return self._in_time(ask, timeout_s, late)


class BoundedReranker(_Bounded[Reranker]):
    """The port ``Reranker``."""

    __slots__ = ()

    def scores(self, question: str, texts: Sequence[str], *, timeout_s: float) -> dict[int, float]:
        ask = partial(self.inner.scores, question, texts, timeout_s=timeout_s)
        return self._in_time(ask, timeout_s, RerankTimeoutError("no second opinion in time"))
