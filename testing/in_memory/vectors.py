"""turbopuffer in dictionaries: exact cosine and BM25."""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from context_search.core.config import IndexConfig
from context_search.core.errors import NamespaceMissingError, VectorStoreRejectedError
from context_search.core.ids import first_row_id
from context_search.integrations.ports import MAX_QUERY_BYTES, Legs, Ranked, VectorQuery, VectorRow
from context_search.ranking.bm25 import idf, term_weight


class DictVectors:
    """The port ``VectorStore``; ``namespaces`` holds the rows by id."""

    def __init__(self) -> None:
        self.namespaces: dict[str, dict[str, VectorRow]] = {}

    def ping(self, *, timeout_s: float) -> None:
        """It is always there."""

    def upsert(self, namespace: str, rows: Sequence[VectorRow], *, config: IndexConfig) -> None:
        if any(len(row.vector) != config.dimensions for row in rows):
            raise VectorStoreRejectedError("a vector has the wrong dimension")
        known = self.namespaces.setdefault(namespace, {})
        known.update({row.id: _as_kept(row, config) for row in rows})

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        for doc_id in ids:
            self.namespaces.get(namespace, {}).pop(doc_id, None)

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:  # noqa: ARG002
        if sum(len(token.encode()) for token in query.tokens or ()) > MAX_QUERY_BYTES:
            raise VectorStoreRejectedError("the tokens of the query are too long")
        rows = [
            row
            for row in self._rows(namespace).values()
            if query.scope_key in row.ancestors
            and (query.table_ids is None or row.table_id in query.table_ids)
            and (query.keys is None or not set(query.keys).isdisjoint(row.ancestors))
        ]
        vector = None if query.vector is None else _by_vector(rows, query)
        keyword = None if query.tokens is None else _by_keyword(rows, query)
        nearest = None if vector is None else _best(vector, query.vector_rows)
        longest = max(len(nearest or ()), len(keyword or ()))
        return Legs(
            vector=nearest and nearest[: query.limit],
            keyword=None if keyword is None else _best(keyword, query.limit),
            is_cut=longest >= query.limit or len(vector or ()) >= query.vector_rows,
        )

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        rows = self._rows(namespace)
        return {name: rows[name].vector for name in ids if name in rows}

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        return set(ids) & set(self._rows(namespace))

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        return sorted(doc_id for doc_id in self._rows(namespace) if doc_id > after)[:limit]

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        names = (name for name in self.namespaces if name.startswith(prefix) and name > after)
        return sorted(names)[:limit]

    def delete_namespace(self, namespace: str) -> None:
        self.namespaces.pop(namespace, None)

    def _rows(self, namespace: str) -> dict[str, VectorRow]:
        if namespace not in self.namespaces:
            raise NamespaceMissingError("the namespace does not exist")
        return self.namespaces[namespace]


def _as_kept(row: VectorRow, config: IndexConfig) -> VectorRow:
    """Rounds the vector as a namespace of f16 does."""
    if config.precision == "f32":
        return row
    form = f"<{len(row.vector)}e"
    return replace(row, vector=struct.unpack(form, struct.pack(form, *row.vector)))


def _by_vector(rows: Sequence[VectorRow], query: VectorQuery) -> dict[str, float]:
    asked = query.vector or ()
    return {row.id: _cosine(asked, row.vector) for row in rows}


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (math.hypot(*one) * math.hypot(*other) or 1.0)


def _by_keyword(rows: Sequence[VectorRow], query: VectorQuery) -> dict[str, float]:
    counted = {row.id: Counter(row.tokens or ()) for row in rows}
    mean = sum(counts.total() for counts in counted.values()) / (len(counted) or 1) or 1.0
    scores: dict[str, float] = {}
    for token, weight in (query.tokens or {}).items():
        having = [doc_id for doc_id, counts in counted.items() if token in counts]
        worth = weight * idf(len(having), len(counted))
        for doc_id in having:
            count, length = counted[doc_id][token], counted[doc_id].total()
            scores[doc_id] = scores.get(doc_id, 0.0) + worth * term_weight(count, length, mean)
    return scores


def _best(scores: dict[str, float], rows: int) -> list[Ranked]:
    best: dict[str, float] = {}
    for doc_id in sorted(scores, key=lambda name: (-scores[name], name))[:rows]:
        best.setdefault(first_row_id(doc_id), scores[doc_id])
    return [Ranked(doc_id, score) for doc_id, score in best.items()]
