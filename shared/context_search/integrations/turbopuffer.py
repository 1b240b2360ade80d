"""turbopuffer behind the port ``VectorStore``, through its own SDK.

A proxy, a portal or a wrong address answers 200, too: every reply is checked here.
"""

from __future__ import annotations

import binascii
import struct
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Literal, TypeVar

import httpx2
import msgspec
import turbopuffer
from turbopuffer import DefaultHttpxClient, Turbopuffer

from context_search.core.config import IndexConfig
from context_search.core.errors import (
    NamespaceMissingError,
    VectorStoreRejectedError,
    VectorStoreTimeoutError,
    VectorStoreUnavailableError,
)
from context_search.core.ids import first_row_ids
from context_search.core.limits import LONGEST_RETRY_S
from context_search.core.named_tuples import maker_of
from context_search.integrations.bounded_http import bounded
from context_search.integrations.ports import (
    MAX_QUERY_ROWS,
    Billed,
    Legs,
    OnBilled,
    Ranked,
    VectorQuery,
    VectorRow,
)

WRITE_TIMEOUT_S = 30.0
WRITE_RETRIES = 2
MAX_PAGE = 1_000
LONGEST_PAUSE_S = 2.0
_ranked = maker_of(Ranked)
Reply = TypeVar("Reply", bound=msgspec.Struct)
_PASSING = (401, 403)
_LATE = (408, 504)
_FILTERABLE = {"filterable": True}
_SCHEMA = {
    "ancestors": {"type": "[]string", **_FILTERABLE},
    "table_id": {"type": "int", **_FILTERABLE},
    "chunk_id": {"type": "int", **_FILTERABLE},
    "updated_at": {"type": "datetime", **_FILTERABLE},
    "json_pointer": {"type": "string", "filterable": False},
}
# Our own tokens, matched as they are: docs/decisions/0007-keyword-analysis.md.
_CONTENT = {
    "type": "[]string",
    # The default length of 39 would drop longer identifiers and paths without a word.
    "full_text_search": {"tokenizer": "pre_tokenized_array", "max_token_length": 254},
}


class _Row(msgspec.Struct):
    id: str


class _Scored(_Row):
    dist: float = msgspec.field(name="$dist")


class _Stored(_Row):
    vector: list[float]


class _Rows(msgspec.Struct):
    rows: list[_Row]
    billing: Any = None


class _StoredRows(msgspec.Struct):
    rows: list[_Stored]
    billing: Any = None


class _Leg(msgspec.Struct):
    rows: list[_Scored]


class _Legs(msgspec.Struct):
    results: list[_Leg]
    billing: Any = None


class _Written(msgspec.Struct):
    status: Literal["OK"]
    rows_affected: int
    billing: Any = None


class _Deleted(msgspec.Struct):
    status: Literal["OK"]


class _Names(msgspec.Struct):
    namespaces: list[_Row]
    next_cursor: str | None = None


class TurbopufferVectors:
    """One client for the life of the process; it keeps connections and is safe for threads."""

    def __init__(
        self,
        *,
        api_key: str,
        region: str | None = None,
        base_url: str | None = None,
        instead_of: Callable[[str], str | None] = lambda _: None,
        on_billed: OnBilled = lambda _: None,
    ) -> None:
        """``base_url`` names another server than turbopuffer's own, and then takes no region.

        ``instead_of`` tells which key has taken the place of one that is refused, if one has.
        ``on_billed`` is told what each reply says of the bill.
        """
        self._on_billed = on_billed
        http_client = bounded(
            DefaultHttpxClient(
                auth=RenewedKey(api_key, instead_of),
                event_hooks={"response": [refuse_long_pauses]},
                # One would hand vectors and tokens to another host than the one that was chosen.
                follow_redirects=False,
            ),
            httpx2,
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

    def ping(self, *, timeout_s: float) -> None:
        client = self._client.with_options(timeout=timeout_s, max_retries=0)
        # A key that may not list gets 403, so the store answers.
        with translated(final=403), suppress(turbopuffer.PermissionDeniedError):
            read(client.with_raw_response.namespaces(page_size=1), _Names)

    def upsert(self, namespace: str, rows: Sequence[VectorRow], *, config: IndexConfig) -> None:
        """The whole schema goes with every write, so that filters always resolve."""
        with translated():
            raw = self._client.namespace(namespace).with_raw_response.write(
                distance_metric="cosine_distance",
                schema=schema_of(config),  # type: ignore[arg-type]
                # As ``upsert_rows=`` the SDK would visit every token of every row in Python.
                extra_body={"upsert_rows": [columns_of(row) for row in rows]},
            )
            reply = read(raw, _Written)
            if reply.rows_affected != len(rows):
                raise ValueError(f"{reply.rows_affected} rows of {len(rows)} were written")
        self._on_billed(billed_of(reply.billing))

    def delete(self, namespace: str, ids: Sequence[str]) -> None:
        """How many rows were there is not known, so any number of deleted ones is an answer."""
        try:
            with translated():
                raw = self._client.namespace(namespace).with_raw_response.write(deletes=list(ids))
                reply = read(raw, _Written)
        except NamespaceMissingError:
            return
        self._on_billed(billed_of(reply.billing))

    def query(self, namespace: str, query: VectorQuery, *, timeout_s: float) -> Legs:
        """One request for both legs; at most one retry within the deadline."""
        queries = list(subqueries(query))
        client = self._client.with_options(timeout=timeout_s / 2, max_retries=1)
        with translated():
            # As an argument the SDK would look at each number of the vector for what to rename.
            raw = client.namespace(namespace).with_raw_response.multi_query(
                queries=[], extra_body={"queries": queries}
            )
            reply = read(raw, _Legs)
            if len(reply.results) != len(queries):
                raise ValueError("another number of queries")
            legs = (leg.rows for leg in reply.results)
            nearest = None if query.vector is None else next(legs)
            vector = None if nearest is None else _best(nearest, query.limit, sign=-1.0, offset=1.0)
            keyword = None if query.tokens is None else _best(next(legs), query.limit)
        self._on_billed(billed_of(reply.billing))
        longest = max(len(vector or ()), len(keyword or ()))
        return Legs(
            vector=vector,
            keyword=keyword,
            is_cut=longest >= query.limit or len(nearest or ()) >= query.vector_rows,
        )

    def vectors(self, namespace: str, ids: Sequence[str]) -> dict[str, Sequence[float]]:
        if not ids:
            return {}
        with translated():
            raw = self._client.namespace(namespace).with_raw_response.query(
                rank_by=("id", "asc"),
                filters=("id", "In", list(ids)),
                limit=len(ids),
                include_attributes=["vector"],
            )
            reply = read(raw, _StoredRows)
            if len({len(row.vector) for row in reply.rows}) > 1:
                raise ValueError("vectors of several lengths")
        self._on_billed(billed_of(reply.billing))
        return {row.id: row.vector for row in reply.rows}

    def existing(self, namespace: str, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for first in range(0, len(ids), MAX_QUERY_ROWS):
            names = list(ids[first : first + MAX_QUERY_ROWS])
            with translated():
                raw = self._client.namespace(namespace).with_raw_response.query(
                    rank_by=("id", "asc"), filters=("id", "In", names), limit=len(names)
                )
                reply = read(raw, _Rows)
            self._on_billed(billed_of(reply.billing))
            found |= {row.id for row in reply.rows}
        return found

    def ids_after(self, namespace: str, after: str, limit: int) -> list[str]:
        with translated():
            raw = self._client.namespace(namespace).with_raw_response.query(
                rank_by=("id", "asc"),
                filters=("id", "Gt", after),
                limit=min(limit, MAX_QUERY_ROWS),
            )
            reply = read(raw, _Rows)
        self._on_billed(billed_of(reply.billing))
        return [row.id for row in reply.rows]

    def namespaces_after(self, prefix: str, after: str, limit: int) -> list[str]:
        """The service's own cursors are opaque, so the pages before are read too."""
        with translated(final=403):  # a key may be good for all else, and not for this
            listed = self._names(prefix, min(limit, MAX_PAGE))
            return list(islice((name for name in listed if name > after), limit))

    def _names(self, prefix: str, page_size: int) -> Iterator[str]:
        cursor: str | None = ""
        while cursor is not None:
            raw = self._client.with_raw_response.namespaces(
                prefix=prefix, page_size=page_size, cursor=cursor or turbopuffer.omit
            )
            page = read(raw, _Names)
            yield from (each.id for each in page.namespaces)
            if page.next_cursor and page.next_cursor == cursor:
                raise ValueError("the same page again")
            cursor = page.next_cursor or None

    def delete_namespace(self, namespace: str) -> None:
        try:
            with translated():
                read(self._client.namespace(namespace).with_raw_response.delete_all(), _Deleted)
        except NamespaceMissingError:
            return


class RenewedKey(httpx2.Auth):
    """Sends the key with every request, and once more where another has taken its place.

    A refused request was not carried out, so whatever it asks for may be asked again.
    """

    def __init__(self, key: str, instead_of: Callable[[str], str | None]) -> None:
        self._key = key
        self._instead_of = instead_of

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """httpx's way to answer a refusal:
        https://www.python-httpx.org/advanced/authentication/."""
        key = self._key
        response = yield _with(request, key)
        if response.status_code in (401, 403) and (other := self._instead_of(key)) is not None:
            self._key = other
            yield _with(request, other)


def _with(request: httpx2.Request, key: str) -> httpx2.Request:
    request.headers["Authorization"] = f"Bearer {key}"
    return request


@contextmanager
def translated(*, final: int | None = None) -> Iterator[None]:
    """Maps the SDK's errors. Only a definite 4xx means that the request is refused.

    A refused key (401, 403) is not definite: a rotated one may be accepted. ``final`` is a status
    that is definite nonetheless.
    """
    try:
        yield
    except turbopuffer.NotFoundError as error:
        raise NamespaceMissingError("the namespace does not exist") from error
    except (turbopuffer.RateLimitError, turbopuffer.ConflictError) as error:
        raise _unavailable(error) from error
    except turbopuffer.APITimeoutError as error:
        raise VectorStoreTimeoutError("turbopuffer did not answer in time") from error
    except turbopuffer.APIStatusError as error:
        if error.status_code in _LATE:
            late = f"turbopuffer answered {error.status_code}"
            raise VectorStoreTimeoutError(
                late, retry_after_s=_retry_after_s(error.response)
            ) from error
        passing = error.status_code not in range(400, 500) or error.status_code in _PASSING
        if passing and error.status_code != final:
            raise _unavailable(error) from error
        raise VectorStoreRejectedError(f"turbopuffer answered {error.status_code}") from error
    except turbopuffer.APIError as error:
        raise VectorStoreUnavailableError(type(error).__name__) from error
    except (ValueError, RecursionError) as error:  # of ``read`` and ``first_row_ids``
        raise VectorStoreUnavailableError("the reply is not turbopuffer's") from error


def _unavailable(error: turbopuffer.APIStatusError) -> VectorStoreUnavailableError:
    return VectorStoreUnavailableError(
        f"turbopuffer answered {error.status_code}", retry_after_s=_retry_after_s(error.response)
    )


def refuse_long_pauses(response: httpx2.Response) -> None:
    """Lets the error out at once; the SDK would sleep for up to half an hour if told so."""
    if (_retry_after_s(response) or 0.0) > LONGEST_PAUSE_S:
        response.headers["x-should-retry"] = "false"


def _retry_after_s(response: httpx2.Response) -> float | None:
    try:
        return min(LONGEST_RETRY_S, max(0.0, float(response.headers["retry-after"])))
    except (KeyError, ValueError):
        return None


def read(raw: Any, kind: type[Reply]) -> Reply:
    """Returns the reply of the SDK's raw response. Raises msgspec's error for what is none.

    The SDK itself takes anything, and makes a model of each of 10,000 rows.
    """
    return msgspec.json.decode(raw.http_response.content, type=kind)


def billed_of(billing: object) -> Billed:
    """Returns what a reply of a write or a query says of the bill; 0 for what is no count."""
    reported = billing if isinstance(billing, dict) else {}

    def count(name: str) -> int:
        value = reported.get(f"billable_logical_bytes_{name}")
        return value if type(value) is int and value >= 0 else 0

    return Billed(
        written_bytes=count("written"),
        queried_bytes=count("queried"),
        returned_bytes=count("returned"),
    )


def schema_of(config: IndexConfig) -> dict[str, object]:
    """Returns the schema of a namespace. Lean storage has no tokens."""
    every: dict[str, object] = {
        **_SCHEMA,
        "vector": {"type": f"[{config.dimensions}]{config.precision}", "ann": True},
    }
    if config.storage == "full":
        every["content"] = _CONTENT
    return every


def columns_of(row: VectorRow) -> dict[str, object]:
    """Returns the columns of a row as it is written."""
    columns: dict[str, object] = {
        "id": row.id,
        "vector": encoded(row.vector),
        "ancestors": row.ancestors,
        "table_id": row.table_id,
        "chunk_id": row.chunk_id,
        "updated_at": row.updated_at,
        "json_pointer": row.json_pointer,
    }
    if row.tokens is not None:
        columns["content"] = row.tokens
    return columns


def encoded(vector: Sequence[float]) -> str:
    """Returns a vector as the SDK would send it: base64 of little-endian float32."""
    packed = struct.pack(f"<{len(vector)}f", *vector)
    return binascii.b2a_base64(packed, newline=False).decode("ascii")


def subqueries(query: VectorQuery) -> Iterator[dict[str, object]]:
    """Yields the vector leg, then the keyword leg, as far as they are asked for."""
    inside: list[tuple[object, ...]] = [("ancestors", "Contains", query.scope_key)]
    if query.table_ids is not None:
        inside.append(("table_id", "In", list(query.table_ids)))
    if query.keys is not None:
        inside.append(("ancestors", "ContainsAny", list(query.keys)))
    common = {
        "filters": inside[0] if len(inside) == 1 else ("And", inside),
        "include_attributes": False,
    }
    if query.vector is not None:
        nearest = ("vector", "ANN", query.vector)
        yield {"rank_by": nearest, "limit": query.vector_rows, **common}
    if query.tokens is not None:
        yield {"rank_by": _by_words(query.tokens), "limit": query.limit, **common}


def _by_words(tokens: Mapping[str, float]) -> tuple[object, ...]:
    """Returns the order by BM25 of tokens that count as much as their values say."""
    alike: dict[float, list[str]] = {}
    for token, weight in tokens.items():
        alike.setdefault(weight, []).append(token)
    parts = [
        leg if weight == 1.0 else ("Product", weight, leg)
        for weight, leg in ((weight, ("content", "BM25", names)) for weight, names in alike.items())
    ]
    return parts[0] if len(parts) == 1 else ("Sum", parts)


def _best(
    rows: Sequence[_Scored], limit: int, *, sign: float = 1.0, offset: float = 0.0
) -> list[Ranked]:
    """Returns one row per chunk, that of its best window, in the order of the leg."""
    names = first_row_ids([row.id for row in rows])  # thousands
    scores = [offset + sign * row.dist for row in rows]
    best: dict[str, float] = {}
    deque(map(best.setdefault, names, scores), maxlen=0)
    return list(map(_ranked, islice(best.items(), limit)))
