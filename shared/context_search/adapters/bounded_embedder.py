"""An embedder whose questions never take longer than agreed, whatever the library does."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from context_search.domain.errors import EmbeddingTimeoutError
from context_search.ports.outside import Embedder


@dataclass(frozen=True, slots=True)
class BoundedEmbedder:
    """The port ``Embedder``: asks in a thread and leaves it behind when time is up.

    A timeout of the provider's client does not count a name that does not resolve. The first import
    of its library is not counted here either: on a cold start it took the time of the question.
    """

    inner: Embedder
    threads: ThreadPoolExecutor

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    def warm_up(self) -> None:
        self.inner.warm_up()

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """Not bounded further."""
        return self.inner.embed_passages(texts, timeout_s=timeout_s)

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        self.inner.warm_up()
        pending = self.threads.submit(self.inner.embed_query, text, timeout_s=timeout_s)
        try:
            return pending.result(timeout_s)
        except TimeoutError:
            pending.cancel()
            raise EmbeddingTimeoutError("no vector of the question in time") from None
