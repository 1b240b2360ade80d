"""turbopuffer behind the port ``VectorStore``, through its own SDK."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from itertools import islice

import turbopuffer
from turbopuffer import DefaultHttpxClient, Turbopuffer

from context_search.adapters.turbopuffer_errors import refuse_long_pauses, translated
from context_search.adapters.turbopuffer_queries import subqueries
from context_search.domain.config import IndexConfig
from context_search.domain.errors import NamespaceMissingError, VectorStoreUnavailableError
from context_search.domain.ids import chunk_document_id
from context_search.ports.vectors import Legs, Ranked, VectorDocument, VectorQuery

WRITE_TIMEOUT_S = 30.0
WRITE_RETRIES = 2
MAX_QUERY_LIMIT = 10_000
MAX_PAGE = 1_000

_FILTERABLE = {"filterable": True}
_STORED = {"filterable": False}
_SCHEMA = {
    "ancestors": {"type": "[]string", **_FILTERABLE},
    "table_id": {"type": "int", **_FILTERABLE},
    "set_id": {"type": "int", **_FILTERABLE},
    "chunk_id": {"type": "int", **_FILTERABLE},
    "updated_at": {"type": "datetime", **_FILTERABLE},
    "json_pointer": {"type": "string", **_STORED},
    "chunk_index": {"type": "int", **_STORED},
    "total_chunks": {"type": "int", **_STORED},
    "content_hash": {"type": "string", **_STORED},
}
# Our own tokens, matched as they are: docs/decisions/0007-keyword-analysis.md.
_CONTENT = {
    "type": "[]string",
    # The default length of 39 would drop longer identifiers and paths without a word.
    "full_text_search": {"tokenizer": "pre_tokenized_array", "max_token_length": 254},
}


class TurbopufferVectors:
    """One client for the life of the process; it keeps connections and is safe for threads."""

    def __init__(
        self, *, api_key: str, region: str | None = None, base_url: str | None = None
    ) -> None:
        """``base_url`` names another server than turbopuffer's own, and then takes no region."""
        http_client = DefaultHttpxClient(event_hooks={"response": [refuse_long_pauses]})
        weakref.finalize(self, http_client.close)
        self._client = Turbopuffer(
            api_key=api_key,
            region=None if base_url else region,
            base_url=base_url,
            timeout=WRITE_TIMEOUT_S,
            max_retries=WRITE_RETRIES,
            http_client=http_client,
        )

    def upsert(
        self, namespace: str, documents: Sequence[VectorDocument], *, config: IndexConfig
    ) -> None:
        """See the port. The whole schema goes with every write, so that filters always resolve."""
        schema: dict[str, object] = {
            **_SCHEMA,
            "vector": {"type": f"[{config.dimensions}]f32", "ann": True},
        }
        if config.storage == "full":
            schema["content"] = _CONTENT
        with translated():
            self._client.namespace(namespace).write(
                upsert_rows=[_row(document) for document in documents],  # type: ignore[misc]
                distance_metric="cosine_distance",
                schema=schema,  # type: ignore[arg-type]
            )

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        """See the port."""
        try:
            with translated():
                self._client.namespace(namespace).write(deletes=list(ids))
        except NamespaceMissingError:
            return

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        """See the port. One request for both legs; at most one retry within the deadline."""
        queries = list(subqueries(query))
        client = self._client.with_options(timeout=timeout_s / 2, max_retries=1)
        with translated():
            reply = client.namespace(namespace).multi_query(queries=queries)  # type: ignore[arg-type]
        results = [result.rows or [] for result in reply.results]
        if len(results) != len(queries):
            raise VectorStoreUnavailableError("turbopuffer answered another number of queries")
        legs = iter(results)
        return Legs(
            vector=None if query.vector is None else _best(next(legs), sign=-1.0, offset=1.0),
            keyword=None if query.tokens is None else _best(next(legs), sign=1.0, offset=0.0),
            is_cut=any(len(rows) >= query.limit for rows in results),
        )

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        """See the port."""
        if not ids:
            return {}
        with translated():
            reply = self._client.namespace(namespace).query(
                rank_by=("id", "asc"),
                filters=("id", "In", list(ids)),
                limit=len(ids),
                include_attributes=["vector"],
            )
        return {str(row.id): _floats(row.vector) for row in reply.rows or [] if row.vector}

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        """See the port."""
        found: set[str] = set()
        for first in range(0, len(ids), MAX_QUERY_LIMIT):
            names = list(ids[first : first + MAX_QUERY_LIMIT])
            with translated():
                reply = self._client.namespace(namespace).query(
                    rank_by=("id", "asc"), filters=("id", "In", names), limit=len(names)
                )
            found |= {str(row.id) for row in reply.rows or []}
        return found

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        """See the port."""
        with translated():
            reply = self._client.namespace(namespace).query(
                rank_by=("id", "asc"),
                filters=("id", "Gt", after),
                limit=min(limit, MAX_QUERY_LIMIT),
            )
        return [str(row.id) for row in reply.rows or []]

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        """See the port. The service's own cursors are opaque, so the pages before are read too."""
        with translated():
            listed = self._client.namespaces(prefix=prefix, page_size=min(limit, MAX_PAGE))
            return list(islice((each.id for each in listed if each.id > after), limit))

    def delete_namespace(self, namespace: str) -> None:
        """See the port."""
        try:
            with translated():
                self._client.namespace(namespace).delete_all()
        except NamespaceMissingError:
            return


def _row(document: VectorDocument) -> dict[str, object]:
    row: dict[str, object] = {
        "id": document.id,
        "vector": document.vector,
        "ancestors": document.ancestors,
        "table_id": document.table_id,
        "set_id": document.set_id,
        "chunk_id": document.chunk_id,
        "updated_at": document.updated_at,
        "json_pointer": document.json_pointer,
        "chunk_index": document.chunk_index,
        "total_chunks": document.total_chunks,
        "content_hash": document.content_hash,
    }
    if document.tokens is not None:
        row["content"] = document.tokens
    return row


def _best(rows: Sequence[turbopuffer.types.Row], *, sign: float, offset: float) -> list[Ranked]:
    """Returns one row per chunk, that of its best window, in the order of the leg."""
    best: dict[str, float] = {}
    for row in rows:
        score = offset + sign * float(row["$dist"])
        best.setdefault(chunk_document_id(str(row.id)), score)
    return [Ranked(doc_id, score) for doc_id, score in best.items()]


def _floats(vector: object) -> Sequence[float]:
    if not isinstance(vector, list):
        raise VectorStoreUnavailableError("turbopuffer answered a vector in another encoding")
    return vector
