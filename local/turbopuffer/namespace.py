"""One namespace: its state in memory, its file, and the locking between writes and queries.

A write is checked while queries go on, staged in SQLite, and then, while queries wait, committed
and applied in memory. So a query sees either all of a write or nothing, in memory and on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from local.turbopuffer.billing import written_bytes
from local.turbopuffer.bodies import WriteBody
from local.turbopuffer.catalogue import Catalogue
from local.turbopuffer.document_index import DocumentIndex
from local.turbopuffer.documents import DocumentBatch, read_documents
from local.turbopuffer.errors import invalid, namespace_missing
from local.turbopuffer.schema import Schema, check_id
from local.turbopuffer.store import Store, remove_files


@dataclass(frozen=True, slots=True)
class State:
    """A namespace as it is now. The index changes in place, under the lock."""

    schema: Schema
    index: DocumentIndex
    store: Store


class Namespace:
    """A name that may or may not exist yet; loaded from disk when first needed."""

    def __init__(self, name: str, catalogue: Catalogue) -> None:
        self.name = name
        self._catalogue = catalogue
        self._writing = threading.Lock()
        self._guard = _SharedLock()
        self._loaded = False
        self._state: State | None = None

    @contextmanager
    def reading(self) -> Iterator[State]:
        """The state, unchanged for as long as the context is open; 404 where there is none."""
        if not self._loaded:
            with self._writing:
                self._load()
        with self._guard.shared():
            if self._state is None:
                raise namespace_missing(self.name)
            yield self._state

    def write(self, body: WriteBody) -> int:
        """Carry out a write, durably, and return the bytes that it is billed.

        400 or 422 when any part of it is wrong, then none is done.

        A namespace comes to be with its first documents; any other write to a missing one is 404.
        """
        with self._writing:
            state = self._load()
            if state is None and not body.upsert_rows:
                raise namespace_missing(self.name)
            if state is None and body.distance_metric is None:
                raise invalid("distance_metric is required when a namespace gets its first vectors")
            known = state.schema if state else Schema({}, body.distance_metric or "")
            if body.distance_metric not in (None, known.metric):
                raise invalid(f"distance_metric of the namespace is {known.metric}")
            schema = known.with_declared(body.declared)
            batch = read_documents(body.upsert_rows, schema)
            deletes = [check_id(raw) for raw in body.deletes]
            if len({*batch.ids, *deletes}) < len(batch) + len(deletes):
                raise invalid("duplicate document id in one write")
            self._apply(state, schema, deletes, batch)
            return written_bytes(batch, schema, deletes)

    def delete(self) -> None:
        """Drop everything; 404 where there is nothing."""
        with self._writing:
            file = self._catalogue.file_of(self.name)
            if file is None:
                raise namespace_missing(self.name)
            with self._guard.exclusive():
                self._catalogue.remove(self.name)
                self.close()
                self._loaded = True
            remove_files(file)

    def close(self) -> None:
        """Close the file. What is on disk stays."""
        if self._state:
            self._state.store.close()
        self._state = None

    def _load(self) -> State | None:
        """The state, from disk at the first call. The caller holds the write lock."""
        if not self._loaded:
            file = self._catalogue.file_of(self.name)
            if file:
                store = Store(file)
                schema = store.schema()
                index = DocumentIndex(schema)
                for batch in store.batches(schema):
                    index.replace((), batch)
                self._state = State(schema, index, store)
            self._loaded = True
        return self._state

    def _apply(
        self, state: State | None, schema: Schema, removed: list[str], batch: DocumentBatch
    ) -> None:
        file = None
        if state is None:
            file = self._catalogue.new_file()
            state = State(schema, DocumentIndex(schema), Store(file))
        index, store = state.index, state.store
        try:
            store.stage(schema, removed, batch)
            with self._guard.exclusive():
                store.commit()
                index.adopt(schema)
                index.replace(removed, batch)
                if file:
                    self._catalogue.add(self.name, file)
                self._state = State(schema, index, store)
        except BaseException:
            store.rollback()
            if file:
                store.close()
                remove_files(file)
            raise


class Namespaces:
    """Finds and opens namespaces; one object per name for the life of the process."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._open: dict[str, Namespace] = {}
        self._opening = threading.Lock()

    def existing(self, name: str) -> Namespace:
        """A namespace to read from or to delete; 404 where there is none."""
        if name not in self._open and self._catalogue.file_of(name) is None:
            raise namespace_missing(name)
        return self.for_writing(name)

    def for_writing(self, name: str) -> Namespace:
        """A namespace that the write may bring into being."""
        with self._opening:
            return self._open.setdefault(name, Namespace(name, self._catalogue))

    def close(self) -> None:
        """Close every file."""
        for namespace in self._open.values():
            namespace.close()
        self._catalogue.close()


class _SharedLock:
    """A lock that many readers or one writer hold; a waiting writer goes before new readers.

    For threads. Not reentrant. There is at most one writer waiting (writers have a mutex).
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._readers = 0
        self._writing = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it together with other readers."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold it alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing)
            self._writing = True
            self._changed.wait_for(lambda: not self._readers)
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
