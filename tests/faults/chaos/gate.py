"""Every outside call of a process, counted; something happens right before or after one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

from context_search.core.config import IndexConfig
from context_search.integrations.ports import (
    Embedder,
    Legs,
    MessageBody,
    Queue,
    VectorQuery,
    VectorRow,
    VectorStore,
)
from context_search.store import UnitOfWork
from tests.stores import StoreInFront

When = Literal["before", "after"]


class Point(NamedTuple):
    """Right before, or right after, the call ``name``, when it happens for the ``nth`` time from 0.

    Before a transaction means before its COMMIT.
    """

    name: str
    nth: int
    when: When


def points(calls: Sequence[str]) -> Iterator[Point]:
    """Every gap: before each call, and after the last.

    After a call nothing happens outside until the next one, so that point is before the next.
    """
    for number, name in enumerate(calls):
        yield Point(name, calls[:number].count(name), "before")
    yield Point(calls[-1], calls.count(calls[-1]) - 1, "after")


def after_commits(calls: Sequence[str]) -> Iterator[Point]:
    """After each transaction; a name with a dot in it is one."""
    for number, name in enumerate(calls):
        if "." in name:
            yield Point(name, calls[:number].count(name), "after")


class Gate:
    """Lets every call pass; at an armed point something happens. ``calls`` names all of them."""

    def __init__(self) -> None:
        self.arm(None, lambda: None)

    def arm(self, point: Point | None, act: Callable[[], None]) -> None:
        """``act`` is called at the point, once. What was noted until now is forgotten."""
        self._point, self._act = point, act
        self.calls: list[str] = []

    def before(self, name: str) -> int:
        """Notes a call; returns how many of this name there were before."""
        nth = self.calls.count(name)
        self.calls.append(name)
        self._pass(Point(name, nth, "before"))
        return nth

    def after(self, name: str, nth: int) -> None:
        """The call has ended well."""
        self._pass(Point(name, nth, "after"))

    @contextmanager
    def around(self, name: str) -> Iterator[None]:
        """One call."""
        nth = self.before(name)
        yield
        self.after(name, nth)

    def _pass(self, here: Point) -> None:
        if here == self._point:
            self._point = None
            self._act()


@dataclass
class _Noted:
    """Whatever it stands for, and the names of the methods that were called."""

    inner: Any
    called: list[str]
    prefix: str = ""

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.inner, name)
        if callable(value):
            self.called.append(f"{self.prefix}{name}")
            return value
        return _Noted(value, self.called, f"{name}.")


@dataclass
class GatedStore(StoreInFront):
    """Implements ``Store``. A transaction is one call, named by what was done in it."""

    gate: Gate

    @contextmanager
    def around(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        names: list[str] = []
        with opened as work:
            yield cast(UnitOfWork, _Noted(work, names))
            name = "+".join(names)
            nth = self.gate.before(name)
        self.gate.after(name, nth)


@dataclass
class GatedVectors:
    """The port ``VectorStore``."""

    inner: VectorStore
    gate: Gate

    def upsert(self, namespace: str, rows: Sequence[VectorRow], *, config: IndexConfig) -> None:
        with self.gate.around("upsert"):
            self.inner.upsert(namespace, rows, config=config)

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        with self.gate.around("delete"):
            self.inner.delete(namespace, ids)

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        return self.inner.query(namespace, query, timeout_s=timeout_s)

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        with self.gate.around("read vectors"):
            return self.inner.vectors(namespace, ids)

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        with self.gate.around("look for ids"):
            return self.inner.existing(namespace, ids)

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        with self.gate.around("list ids"):
            return self.inner.ids_after(namespace, after, limit)

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        with self.gate.around("list namespaces"):
            return self.inner.namespaces_after(prefix, after, limit)

    def delete_namespace(self, namespace: str) -> None:
        with self.gate.around("delete namespace"):
            self.inner.delete_namespace(namespace)


@dataclass
class GatedQueue:
    """The port ``Queue``."""

    inner: Queue
    gate: Gate

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        if not messages:
            return []
        with self.gate.around("send"):
            return self.inner.send(messages)

    def is_empty(self) -> bool:
        return self.inner.is_empty()


@dataclass
class GatedEmbedder:
    """The port ``Embedder``."""

    inner: Embedder
    gate: Gate

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimensions(self) -> int:
        return self.inner.dimensions

    @property
    def passage_key(self) -> str:
        return self.inner.passage_key

    @property
    def query_key(self) -> str:
        return self.inner.query_key

    def warm_up(self) -> None:
        self.inner.warm_up()

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        with self.gate.around("embed"):
            return self.inner.embed_passages(texts, timeout_s=timeout_s)

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        return self.inner.embed_query(text, timeout_s=timeout_s)

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        with self.gate.around("embed"):
            return self.inner.embed_queries(texts, timeout_s=timeout_s)
