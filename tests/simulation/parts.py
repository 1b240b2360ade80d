"""The ports as an unreliable network shows them: refused, applied without a reply, or late."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from context_search.adapters.in_memory.clock import ManualClock
from context_search.adapters.in_memory.embedder import WordEmbedder
from context_search.adapters.in_memory.store import MemoryStore, MemoryUnitOfWork
from context_search.adapters.in_memory.vectors import DictVectors
from context_search.domain.config import IndexConfig
from context_search.domain.errors import (
    CommitUnknownError,
    DatabaseUnavailableError,
    EmbeddingDimensionMismatchError,
    EmbeddingUnavailableError,
    QueueUnavailableError,
    VectorStoreUnavailableError,
)
from context_search.ports.queue import Message
from context_search.ports.vectors import Legs, VectorDocument, VectorQuery
from tests.simulation.scheduler import Scheduler

NETWORK_S = 60.0


@dataclass
class Weather:
    """How bad it is: the chance of a fault per call; 0 before and after the faults."""

    random: random.Random
    chance: float

    def fault(self, *kinds: str) -> str | None:
        """Returns what goes wrong with this call, or None."""
        return self.random.choice(kinds) if self.random.random() < self.chance else None


@dataclass
class Network:
    """Effects that were sent and have not arrived: they arrive late, at most after a minute."""

    clock: ManualClock
    late: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def delay(self, effect: Callable[[], None]) -> None:
        """Lets an effect arrive later."""
        self.late.append((self.clock.monotonic() + NETWORK_S, effect))

    def deliver(self, position: int) -> None:
        """Lets one effect arrive now."""
        self.late.pop(position)[1]()

    def deliver_all(self) -> None:
        """Lets everything arrive."""
        while self.late:
            self.deliver(0)

    def deliver_overdue(self) -> None:
        """Lets everything arrive that cannot be later."""
        now = self.clock.monotonic()
        for effect in [effect for due, effect in self.late if due <= now]:
            effect()
        self.late = [(due, effect) for due, effect in self.late if due > now]


@dataclass
class SimStore:
    """The port ``Store``: a transaction is one step; a lost COMMIT reply is possible."""

    inner: MemoryStore
    scheduler: Scheduler
    weather: Weather

    @contextmanager
    def transaction(self) -> Iterator[MemoryUnitOfWork]:
        """See the port."""
        self.scheduler.pause()
        fault = self.weather.fault("refused", "lost reply")
        if fault == "refused":
            raise DatabaseUnavailableError("simulated")
        with self.inner.transaction() as work:
            yield work
        if fault == "lost reply":
            raise CommitUnknownError("simulated")


@dataclass
class SimVectors:
    """The port ``VectorStore``; ``version`` grows with every write that arrives."""

    inner: DictVectors
    scheduler: Scheduler
    weather: Weather
    network: Network
    version: int = 0

    def upsert(
        self, namespace: str, documents: Sequence[VectorDocument], *, config: IndexConfig
    ) -> None:
        """See the port."""
        self._change(lambda: self.inner.upsert(namespace, documents, config=config))

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        """See the port."""
        self._change(lambda: self.inner.delete(namespace, ids))

    def delete_namespace(self, namespace: str) -> None:
        """See the port."""
        self._change(lambda: self.inner.delete_namespace(namespace))

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        """See the port."""
        self._read()
        return self.inner.query(namespace, query, timeout_s=timeout_s)

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """See the port."""
        self._read()
        return self.inner.vectors(namespace, ids)

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        """See the port."""
        self._read()
        return self.inner.existing(namespace, ids)

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        """See the port."""
        self._read()
        return self.inner.ids_after(namespace, after, limit)

    def _read(self) -> None:
        self.scheduler.pause()
        if self.weather.fault("refused"):
            raise VectorStoreUnavailableError("simulated")

    def _change(self, effect: Callable[[], None]) -> None:
        self.scheduler.pause()
        fault = self.weather.fault("refused", "lost reply", "late")
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
    weather: Weather

    def __post_init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        """See the port."""
        self.scheduler.pause()
        fault = self.weather.fault("unavailable", "unavailable", "unavailable", "mismatch")
        if fault == "mismatch":
            self.refused.update(texts)
            raise EmbeddingDimensionMismatchError("simulated")
        if fault:
            raise EmbeddingUnavailableError("simulated", retry_after_s=5)
        return super().embed_passages(texts, timeout_s=timeout_s)


@dataclass(eq=False)
class Envelope:
    """A message in the queue."""

    body: Message
    visible_at: float
    receives: int = 0
    in_flight: bool = False


@dataclass
class SimQueue:
    """The port ``Queue``: at least once, in any order, after five receives never again."""

    clock: ManualClock
    scheduler: Scheduler
    weather: Weather
    waiting: list[Envelope] = field(default_factory=list)
    ever_sent: list[Message] = field(default_factory=list)

    def send(self, messages: Sequence[Message]) -> list[int]:
        """See the port."""
        self.scheduler.pause()
        fault = self.weather.fault("refused", "partial", "lost reply", "lost")
        taken = list(range(len(messages)))
        if fault == "refused":
            raise QueueUnavailableError("simulated")
        if fault == "partial":
            taken = [position for position in taken if self.weather.random.random() < 0.5]
        for position in taken:
            if fault != "lost":  # as if it had been received too often and put aside
                self.waiting.append(Envelope(messages[position], self.clock.monotonic()))
            self.ever_sent.append(messages[position])
        if fault == "lost reply":
            raise QueueUnavailableError("simulated")
        return taken

    def deliverable(self) -> list[Envelope]:
        """Returns the messages that a worker could receive now."""
        now = self.clock.monotonic()
        return [each for each in self.waiting if not each.in_flight and each.visible_at <= now]
