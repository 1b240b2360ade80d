"""One namespace: its state in memory, its file, and the locking between writes and queries.

A write is planned while queries go on, staged in SQLite, and then, while queries wait, committed
and applied in memory. So a query sees either all of a write or nothing, in memory and on disk.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from local.turbopuffer.catalogue import Catalogue
from local.turbopuffer.declarations import declared_attributes
from local.turbopuffer.document_index import ALWAYS, DocumentIndex
from local.turbopuffer.errors import invalid, namespace_missing
from local.turbopuffer.request_bodies import WriteBody
from local.turbopuffer.schema import Schema
from local.turbopuffer.shared_lock import SharedLock
from local.turbopuffer.store import Store, remove_files
from local.turbopuffer.write_plan import Current, Planner, WritePlan


@dataclass(frozen=True, slots=True)
class State:
    """A namespace as it is now. The index changes in place, under the lock."""

    schema: Schema
    index: DocumentIndex
    store: Store
    created_at: str
    updated_at: str
    read_only: bool = False


class Namespace:
    """A name that may or may not exist yet; loaded from disk when first needed."""

    def __init__(self, name: str, catalogue: Catalogue) -> None:
        self.name = name
        self._catalogue = catalogue
        self._writing = threading.Lock()
        self._guard = SharedLock()
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

    def write(self, body: WriteBody, max_filter_deletes: int) -> WritePlan:
        """Carry out a write, durably, and say what was done."""
        with self._writing:
            state = self._load()
            if state is None and not _creates(body):
                raise namespace_missing(self.name)
            _check_writable(state)
            current = Current(state.schema, state.index, state.store) if state else None
            plan = Planner(body, current, max_filter_deletes).plan()
            self._apply(state, plan)
            return plan

    def update_schema(self, declared: dict[str, Any]) -> Schema:
        """Add attributes or change how they are indexed."""
        with self._writing:
            state = self._existing()
            _check_writable(state)
            metric = state.schema.distance_metric
            changes = declared_attributes(declared, state.schema, metric)
            if any(a.is_vector and name not in state.schema.vectors for name, a in changes.items()):
                raise invalid("vector attributes cannot be added to an existing namespace")
            plan = WritePlan(state.schema.with_attributes(changes))
            self._apply(state, plan)
            return plan.schema

    def set_read_only(self, *, read_only: bool) -> None:
        """Refuse, or take again, documents and schema changes."""
        with self._writing:
            state = replace(self._existing(), read_only=read_only)
            self._apply(state, WritePlan(state.schema))

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

    def _existing(self) -> State:
        state = self._load()
        if state is None:
            raise namespace_missing(self.name)
        return state

    def _load(self) -> State | None:
        """The state, from disk at the first call. The caller holds the write lock."""
        if not self._loaded:
            file = self._catalogue.file_of(self.name)
            if file:
                store = Store(file)
                saved = store.settings()
                schema = Schema.from_json(saved.pop("schema"))
                self._state = State(schema, _index(store, schema), store, **saved)
            self._loaded = True
        return self._state

    def _apply(self, state: State | None, plan: WritePlan) -> None:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        file = None
        if state is None:
            file = self._catalogue.new_file()
            state = State(plan.schema, DocumentIndex(plan.schema), Store(file), now, now)
        state = replace(state, schema=plan.schema, updated_at=now)
        try:
            state.store.stage(_settings(state), plan.removed, plan.batch)
            with self._guard.exclusive():
                state.store.commit()
                state = self._indexed(state, plan)
                if file:
                    self._catalogue.add(self.name, file)
                self._state = state
        except BaseException:
            state.store.rollback()
            if file:
                state.store.close()
                remove_files(file)
            raise

    def _indexed(self, state: State, plan: WritePlan) -> State:
        """The state after a committed write; built anew when an attribute is indexed otherwise."""
        before = self._state.schema.attributes if self._state else {}
        if any(state.schema.attributes[name] != before[name] for name in before):
            return replace(state, index=_index(state.store, state.schema))
        state.index.adopt(state.schema)
        state.index.replace(plan.removed, plan.batch, time.monotonic())
        return state


def _settings(state: State) -> dict[str, Any]:
    return {
        "schema": state.schema.to_json(),
        "created_at": state.created_at,
        "updated_at": state.updated_at,
        "read_only": state.read_only,
    }


def _index(store: Store, schema: Schema) -> DocumentIndex:
    index = DocumentIndex(schema)
    for batch in store.batches(schema):
        index.replace((), batch, ALWAYS)
    return index


def _creates(body: WriteBody) -> bool:
    """A namespace comes to be with its first documents, or when the write says so."""
    if body.create_namespace is not None:
        return body.create_namespace
    columns = body.upsert_columns or {}
    return bool(body.upsert_rows or columns.get("id"))


def _check_writable(state: State | None) -> None:
    if state and state.read_only:
        raise invalid("💔 Writes not permitted. This namespace is read-only.")
