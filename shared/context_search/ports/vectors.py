"""turbopuffer: documents in, ranked lists out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from context_search.domain.config import IndexConfig


@dataclass(frozen=True, slots=True)
class VectorDocument:
    """One turbopuffer document: a window of a chunk.

    ``tokens`` is the keyword field (None: not stored, as in lean storage and on later windows).
    """

    id: str
    vector: Sequence[float]
    tokens: Sequence[str] | None
    ancestors: Sequence[str]
    table_id: int
    set_id: int
    chunk_id: int
    json_pointer: str
    chunk_index: int
    total_chunks: int
    content_hash: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What to rank in one namespace; a leg is skipped when its operand is None.

    ``tokens`` are those of the keyword leg with what each counts, above 0 and at most 1.
    ``scope_key`` keeps only documents below one pointer, ``table_ids`` those of some tables.
    ``limit`` is per leg.
    """

    scope_key: str
    vector: Sequence[float] | None
    tokens: Mapping[str, float] | None
    limit: int
    table_ids: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row of a leg: ``score`` is cosine similarity or BM25, higher is better."""

    doc_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Legs:
    """The ranked lists of one query, best first; None where the leg did not run.

    ``is_cut``: a leg had as many documents as it may give, there may be more.
    """

    vector: list[Ranked] | None = None
    keyword: list[Ranked] | None = None
    is_cut: bool = False


class VectorStore(Protocol):
    """turbopuffer. A call that returns was acknowledged; anything unclear raises.

    Raises VectorStoreUnavailableError when there was no definite answer,
    VectorStoreRejectedError for a definite 4xx, NamespaceMissingError for a missing namespace.
    """

    def upsert(
        self, namespace: str, documents: Sequence[VectorDocument], *, config: IndexConfig
    ) -> None:
        """Writes whole documents; repeating the same call changes nothing."""
        ...

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        """Deletes documents; ids that are not there, and a missing namespace, are no error."""
        ...

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        """Returns both legs of one snapshot of the namespace."""
        ...

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """Returns the vectors of those documents that exist."""
        ...

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        """Returns those of ``ids`` that are documents of the namespace."""
        ...

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        """Returns up to ``limit`` document ids greater than ``after``, ascending."""
        ...

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        """Returns up to ``limit`` namespaces that begin with ``prefix`` and are greater than
        ``after``, ascending; all of the account, whoever made them.
        """
        ...

    def delete_namespace(self, namespace: str) -> None:
        """Deletes a namespace; a missing one is no error."""
        ...
