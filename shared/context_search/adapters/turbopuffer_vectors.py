"""turbopuffer behind the port ``VectorStore``, through its own SDK."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from itertools import islice

import turbopuffer
from turbopuffer import DefaultHttpxClient, Turbopuffer

from context_search.adapters.renewed_key import RenewedKey
from context_search.adapters.turbopuffer_errors import refuse_long_pauses, translated
from context_search.adapters.turbopuffer_queries import subqueries
from context_search.adapters.turbopuffer_rows import columns_of, schema_of
from context_search.domain.config import IndexConfig
from context_search.domain.errors import NamespaceMissingError, VectorStoreUnavailableError
from context_search.domain.ids import first_row_id
from context_search.ports.outside import Legs, Ranked, VectorQuery, VectorRow

WRITE_TIMEOUT_S = 30.0
WRITE_RETRIES = 2
MAX_QUERY_LIMIT = 10_000
MAX_PAGE = 1_000


class TurbopufferVectors:
    """One client for the life of the process; it keeps connections and is safe for threads."""

    def __init__(
        self,
        *,
        api_key: str,
        region: str | None = None,
        base_url: str | None = None,
        instead_of: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """``base_url`` names another server than turbopuffer's own, and then takes no region.

        ``instead_of`` tells which key has taken the place of one that is refused, if one has.
        """
        http_client = DefaultHttpxClient(
            auth=RenewedKey(api_key, instead_of),
            event_hooks={"response": [refuse_long_pauses]},
        )
        weakref.finalize(self, http_client.close)
        self._client = Turbopuffer(
            api_key=api_key,
            # Both always: what is None here the SDK reads from the environment, where the one that
            # was not chosen is there too, and empty.
            region=base_url or f"https://{region}.turbopuffer.com",
            base_url="{region}",
            timeout=WRITE_TIMEOUT_S,
            max_retries=WRITE_RETRIES,
            http_client=http_client,
        )

    def upsert(self, namespace: str, rows: Sequence[VectorRow], *, config: IndexConfig) -> None:
        """The whole schema goes with every write, so that filters always resolve."""
        with translated():
            self._client.namespace(namespace).write(
                upsert_rows=[columns_of(row) for row in rows],  # type: ignore[misc]
                distance_metric="cosine_distance",
                schema=schema_of(config),  # type: ignore[arg-type]
            )

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        try:
            with translated():
                self._client.namespace(namespace).write(deletes=list(ids))
        except NamespaceMissingError:
            return

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        """One request for both legs; at most one retry within the deadline."""
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
        with translated():
            reply = self._client.namespace(namespace).query(
                rank_by=("id", "asc"),
                filters=("id", "Gt", after),
                limit=min(limit, MAX_QUERY_LIMIT),
            )
        return [str(row.id) for row in reply.rows or []]

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        """The service's own cursors are opaque, so the pages before are read too."""
        with translated(final=403):  # a key may be good for all else, and not for this
            listed = self._client.namespaces(prefix=prefix, page_size=min(limit, MAX_PAGE))
            return list(islice((each.id for each in listed if each.id > after), limit))

    def delete_namespace(self, namespace: str) -> None:
        try:
            with translated():
                self._client.namespace(namespace).delete_all()
        except NamespaceMissingError:
            return


def _best(rows: Sequence[turbopuffer.types.Row], *, sign: float, offset: float) -> list[Ranked]:
    """Returns one row per chunk, that of its best window, in the order of the leg."""
    best: dict[str, float] = {}
    for row in rows:
        score = offset + sign * float(row["$dist"])
        best.setdefault(first_row_id(str(row.id)), score)
    return [Ranked(doc_id, score) for doc_id, score in best.items()]


def _floats(vector: object) -> Sequence[float]:
    if not isinstance(vector, list):
        raise VectorStoreUnavailableError("turbopuffer answered a vector in another encoding")
    return vector
