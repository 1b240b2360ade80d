"""What a write will do, worked out whole before anything is touched.

Order in one request (turbopuffer.com/docs/write): ``delete_by_filter`` first, then upserts,
patches and deletes. Conditions see the state after ``delete_by_filter``. An upsert of a missing
document ignores its condition, a patch or conditional delete of one does nothing, and a plain
delete of one counts as a delete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from local.turbopuffer.document_batch import DocumentBatch
from local.turbopuffer.document_index import DocumentIndex
from local.turbopuffer.documents import read_documents, read_patches, row_ids, rows_of
from local.turbopuffer.errors import invalid
from local.turbopuffer.filter_parsing import mentions_new, parse_filter
from local.turbopuffer.ids import Id, canonical_id
from local.turbopuffer.request_bodies import WriteBody
from local.turbopuffer.schema import ID, Schema
from local.turbopuffer.schema_evolution import evolve
from local.turbopuffer.store import Store

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WritePlan:
    """The changes and what to answer. ``affected`` maps operation to ids, for those used."""

    schema: Schema
    removed: Sequence[Id] = ()
    batch: DocumentBatch = field(default_factory=DocumentBatch)
    affected: Mapping[str, Sequence[Id]] = field(default_factory=dict)
    rows_remaining: bool = False


@dataclass(frozen=True, slots=True)
class Current:
    """The namespace before the write."""

    schema: Schema
    index: DocumentIndex
    store: Store


class Planner:
    """Plans one write against ``current``, which is None where there is no namespace yet."""

    def __init__(self, body: WriteBody, current: Current | None, max_filter_deletes: int) -> None:
        self._body = body
        self._current = current
        self._max_filter_deletes = max_filter_deletes
        self._upserts = rows_of(body.upsert_rows, body.upsert_columns)
        self._patches = rows_of(body.patch_rows, body.patch_columns)
        self._schema = evolve(
            current.schema if current else None,
            body.declared,
            body.distance_metric,
            [*self._upserts, *self._patches],
        )
        self._gone: set[Id] = set()
        # Conditions read the documents as they are, so they are read under the schema as it is.
        self._condition_schema = current.schema if current else self._schema

    def plan(self) -> WritePlan:
        """The whole write; 400 or 422 when any part of it is wrong."""
        body, schema = self._body, self._schema
        upserts = read_documents(self._upserts, schema)
        patch_ids, patches = row_ids(self._patches, schema), read_patches(self._patches, schema)
        deletes = [canonical_id(raw, schema.id_kind) for raw in body.deletes or ()]
        _check_explicit_ids([*upserts.ids, *patch_ids, *deletes])
        self._check_conditions()
        by_filter, remaining = self._deleted_by_filter()
        self._gone = set(by_filter)
        upserts = self._permitted_upserts(upserts)
        patched = self._patched(dict(zip(patch_ids, patches, strict=True)))
        if body.delete_condition is not None:
            deletes = self._passing(deletes, body.delete_condition)
        removed = list(dict.fromkeys([*by_filter, *deletes]))
        affected = self._affected(upserts.ids, patched.ids, removed)
        return WritePlan(schema, removed, upserts.joined(patched), affected, remaining)

    def _check_conditions(self) -> None:
        body = self._body
        used = {
            "upsert_condition": (body.upsert_condition, self._upserts),
            "patch_condition": (body.patch_condition, self._patches),
            "delete_condition": (body.delete_condition, body.deletes),
        }
        for name, (condition, targets) in used.items():
            if condition is None:
                continue
            if not targets:
                raise invalid(f"{name} needs documents to apply to")
            # It is wrong even where no document is checked against it.
            parse_filter(condition, self._condition_schema, {})

    def _deleted_by_filter(self) -> tuple[list[Id], bool]:
        """Ids in order, and whether more match than one request may delete."""
        raw = self._body.delete_by_filter
        if raw is None or self._current is None:
            return [], False
        index, limit = self._current.index, self._max_filter_deletes
        found = parse_filter(raw, self._current.schema).mask(index) & index.visible()
        rows = np.flatnonzero(found).tolist()
        if len(rows) > limit and not self._body.delete_by_filter_allow_partial:
            raise invalid(f"delete_by_filter matches more than {limit} documents")
        ids = sorted(index.ids[row] for row in rows)
        return ids[:limit], len(ids) > limit

    def _permitted_upserts(self, upserts: DocumentBatch) -> DocumentBatch:
        condition = self._body.upsert_condition
        if condition is None:
            return upserts
        existing = [i for i, identity in enumerate(upserts.ids) if self._exists(identity)]
        new = {upserts.ids[i]: {ID: upserts.ids[i], **upserts.attributes[i]} for i in existing}
        passing = set(self._passing(list(new), condition, new))
        refused = set(new) - passing
        return upserts.take(
            [i for i, identity in enumerate(upserts.ids) if identity not in refused]
        )

    def _patched(self, patches: Mapping[Id, Mapping[str, Any]]) -> DocumentBatch:
        """The documents as they will be; missing ones are left out."""
        ids = [identity for identity in patches if self._exists(identity)]
        condition = self._body.patch_condition
        if condition is not None:
            ids = self._passing(ids, condition, {i: {ID: i, **patches[i]} for i in ids})
        if not ids or self._current is None:
            return DocumentBatch()
        index, stored = self._current.index, self._current.store.attributes(ids)
        merged = [{**stored[identity], **patches[identity]} for identity in ids]
        rows = index.rows(ids)
        return DocumentBatch(
            ids,
            [{name: v for name, v in document.items() if v is not None} for document in merged],
            {name: column.vectors[rows] for name, column in index.vectors.items()},
        )

    def _passing(
        self, ids: Sequence[Id], condition: Any, new: Mapping[Id, Row] | None = None
    ) -> list[Id]:
        """Those of ``ids`` that exist and satisfy ``condition`` as they are now."""
        ids = [identity for identity in ids if self._exists(identity)]
        if not ids or self._current is None:
            return []
        index, schema = self._current.index, self._current.schema
        if new is not None and mentions_new(condition):
            filters = (parse_filter(condition, schema, new[identity]) for identity in ids)
            masks: Iterable[Any] = (one.mask(index) for one in filters)
            return [i for i, mask in zip(ids, masks, strict=True) if mask[index.row_of[i]]]
        mask = parse_filter(condition, schema).mask(index)
        return [identity for identity in ids if mask[index.row_of[identity]]]

    def _exists(self, identity: Id) -> bool:
        if self._current is None or identity in self._gone:
            return False
        return identity in self._current.index.row_of

    def _affected(
        self, upserted: Sequence[Id], patched: Sequence[Id], deleted: Sequence[Id]
    ) -> dict[str, Sequence[Id]]:
        body = self._body
        used = {
            "upserted": (upserted, self._upserts),
            "patched": (patched, self._patches),
            "deleted": (deleted, body.deletes or body.delete_by_filter),
        }
        return {operation: ids for operation, (ids, asked) in used.items() if asked}


def _check_explicit_ids(ids: Sequence[Id]) -> None:
    if len(set(ids)) < len(ids):
        raise invalid("duplicate document id in one write")
