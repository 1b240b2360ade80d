"""Store, vectors and embedder as an unreliable network shows them: refused, unanswered, late."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from context_search.core.config import IndexConfig
from context_search.core.errors import (
    CommitUnknownError,
    DatabaseUnavailableError,
    EmbeddingDimensionMismatchError,
    EmbeddingUnavailableError,
    VectorStoreUnavailableError,
)
from context_search.integrations.ports import Deadline, Legs, VectorQuery, VectorRow
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.vectors import DictVectors
from tests.faults.simulation.fault_chances import FaultChances, Network
from tests.faults.simulation.model.store import ModelStore, ModelUnitOfWork
from tests.faults.simulation.scheduler import Scheduler


@dataclass
class SimStore:
    """Implements ``Store``: a transaction is one step; a lost COMMIT reply is possible."""

    inner: ModelStore
    scheduler: Scheduler
    fault_chances: FaultChances

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[ModelUnitOfWork]:
        return self._opened(self.inner.for_project(project_id, deadline))

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[ModelUnitOfWork]:
        return self._opened(self.inner.for_all(reason, deadline))

    @contextmanager
    def _opened(self, opened: AbstractContextManager[ModelUnitOfWork]) -> Iterator[ModelUnitOfWork]:
        self.scheduler.pause()
        fault = self.fault_chances.fault("transaction", "refused", "lost reply", weight=0.25)
        if fault == "refused":
            raise DatabaseUnavailableError("simulated")
        with opened as work:
            yield work
        if fault == "lost reply":
            raise CommitUnknownError("simulated")


@dataclass
class SimVectors:
    """The port ``VectorStore``; ``version`` grows with every write that arrives."""

    inner: DictVectors
    scheduler: Scheduler
    fault_chances: FaultChances
    network: Network
    version: int = 0

    def ping(self, *, timeout_s: float) -> None:
        self._read("ping")
        self.inner.ping(timeout_s=timeout_s)

    def upsert(self, namespace: str, rows: Sequence[VectorRow], *, config: IndexConfig) -> None:
        self._change("upsert", lambda: self.inner.upsert(namespace, rows, config=config))

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        self._change("delete", lambda: self.inner.delete(namespace, ids))

    def delete_namespace(self, namespace: str) -> None:
        self._change("delete namespace", lambda: self.inner.delete_namespace(namespace))

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        self._read("query")
        return self.inner.query(namespace, query, timeout_s=timeout_s)

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        self._read("read vectors")
        return self.inner.vectors(namespace, ids)

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        self._read("read ids")
        return self.inner.existing(namespace, ids)

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        self._read("list")
        return self.inner.ids_after(namespace, after, limit)

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        self._read("list namespaces")
        return self.inner.namespaces_after(prefix, after, limit)

    def _read(self, call: str) -> None:
        self.scheduler.pause()
        if self.fault_chances.fault(call, "refused"):
            raise VectorStoreUnavailableError("simulated")

    def _change(self, call: str, effect: Callable[[], None]) -> None:
        self.scheduler.pause(is_write=True)
        fault = self.fault_chances.fault(call, "refused", "lost reply", "late", weight=3)
        if fault is None or fault == "lost reply":
            self._arrive(effect)
        elif fault == "late":
            self.network.delay(lambda: self._arrive(effect))
        if fault:
            raise VectorStoreUnavailableError("simulated")

    def _arrive(self, effect: Callable[[], None]) -> None:
        self.version += 1
        effect()


@dataclass
class SimEmbedder(WordEmbedder):
    """The port ``Embedder``; ``refused`` holds the texts that once got no usable vector."""

    scheduler: Scheduler
    fault_chances: FaultChances

    def __post_init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.scheduler.pause()
        if self.fault_chances.fault("embed questions", "unavailable"):
            raise EmbeddingUnavailableError("simulated", retry_after_s=5)
        return super().embed_queries(texts, timeout_s=timeout_s)

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.scheduler.pause()
        fault = self.fault_chances.fault("embed", "unavailable", "unavailable", "mismatch")
        if fault == "mismatch":
            self.refused.update(texts)
            raise EmbeddingDimensionMismatchError("simulated")
        if fault:
            raise EmbeddingUnavailableError("simulated", retry_after_s=5)
        return super().embed_passages(texts, timeout_s=timeout_s)
