"""What the server does for each request, apart from HTTP: parsing, slots, faults, answers."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import orjson

from local.turbopuffer.errors import invalid, malformed
from local.turbopuffer.faults import DroppedError, FaultBoard
from local.turbopuffer.multi_query import answer_multi, check_count
from local.turbopuffer.namespace import Namespace
from local.turbopuffer.namespaces import Namespaces
from local.turbopuffer.queries import compile_query, query_cost
from local.turbopuffer.replies import ids_page, metadata_answer, query_answer, write_answer
from local.turbopuffer.request_bodies import (
    MetadataPatch,
    MultiQueryBody,
    QueryBody,
    WriteBody,
    parse_body,
    parse_json,
)
from local.turbopuffer.slots import QuerySlots

Result = TypeVar("Result")
_THREADS = 64
_MAX_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes that tests lower: bytes of a body, and documents that one filter may delete."""

    body_bytes: int = 512 * 1024 * 1024
    filter_deletes: int = 5_000_000


class Service:
    """The operations. Work on namespaces runs in threads, so that the event loop stays free."""

    def __init__(self, directory: Path, query_slots: int, limits: Limits) -> None:
        self.namespaces = Namespaces(directory)
        self.faults = FaultBoard()
        self.limits = limits
        self.slots: dict[str, QuerySlots] = defaultdict(lambda: QuerySlots(query_slots))
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def write(self, name: str, raw: bytes) -> Any:
        """``POST /v2/namespaces/{name}``."""
        self.faults.strike("write", name)
        await asyncio.sleep(self.faults.delay_s("write", name))
        answer = await self._in_thread(partial(self._write, name, raw))
        if self.faults.take(("drop_after",), "write", name):
            raise DroppedError
        return answer

    async def query(self, name: str, raw: bytes) -> Any:
        """``POST /v2/namespaces/{name}/query``, one query or several."""
        self.faults.strike("query", name)
        value = parse_json(raw)
        body: QueryBody | MultiQueryBody
        if isinstance(value, dict) and "queries" in value:
            body = parse_body(MultiQueryBody, value)
            check_count(body)
            cost = sum(map(query_cost, body.queries))
        else:
            body = parse_body(QueryBody, value)
            cost = query_cost(body)
        namespace = self.namespaces.existing(name)
        as_of = self._as_of(name, body)
        async with self.slots[name].take(cost):
            await asyncio.sleep(self.faults.delay_s("query", name))
            answer = await self._in_thread(partial(_answer, namespace, body, as_of))
        if self.faults.take(("drop_after",), "query", name):
            raise DroppedError
        return answer

    async def schema(self, name: str) -> Any:
        """``GET /v1/namespaces/{name}/schema``."""
        namespace = self.namespaces.existing(name)
        return await self._in_thread(partial(_read, namespace, lambda s: s.schema.view()))

    async def update_schema(self, name: str, raw: bytes) -> Any:
        """``POST /v1/namespaces/{name}/schema``: a bare map of attributes."""
        declared = parse_json(raw)
        if not isinstance(declared, dict):
            raise malformed("the schema is a map of attributes")
        namespace = self.namespaces.existing(name)
        return (await self._in_thread(partial(namespace.update_schema, declared))).view()

    async def metadata(self, name: str, version: str) -> Any:
        """``GET /v1`` and ``/v2/namespaces/{name}/metadata``."""
        namespace = self.namespaces.existing(name)
        view = partial(metadata_answer, version=version)
        return await self._in_thread(partial(_read, namespace, view))

    async def update_metadata(self, name: str, raw: bytes, version: str) -> Any:
        """``PATCH …/metadata``: ``read_only`` only."""
        read_only = parse_body(MetadataPatch, parse_json(raw)).read_only
        namespace = self.namespaces.existing(name)
        await self._in_thread(partial(namespace.set_read_only, read_only=read_only))
        return await self.metadata(name, version)

    async def warm(self, name: str) -> Any:
        """``GET /v1/namespaces/{name}/hint_cache_warm``: loads the namespace."""
        namespace = self.namespaces.existing(name)
        await self._in_thread(partial(_read, namespace, lambda _: None))
        return {"status": "ACCEPTED", "message": "cache is warm"}

    async def delete(self, name: str) -> Any:
        """``DELETE /v2/namespaces/{name}``."""
        await self._in_thread(self.namespaces.existing(name).delete)
        return {"status": "OK"}

    def names(self, prefix: str, cursor: str | None, page_size: str) -> Any:
        """``GET /v1/namespaces``: one page, in order."""
        if not page_size.isdecimal() or not 1 <= int(page_size) <= _MAX_PAGE:
            raise invalid(f"page_size must be between 1 and {_MAX_PAGE}")
        after = "" if cursor is None else _read_cursor(cursor)
        names = self.namespaces.catalogue.names(prefix, after, int(page_size))
        # The service hands out a cursor behind every full page, the last one too.
        full = len(names) == int(page_size)
        return ids_page(names, _write_cursor(names[-1]) if full else None)

    def _write(self, name: str, raw: bytes) -> Any:
        body = parse_body(WriteBody, parse_json(raw))
        plan = self.namespaces.for_writing(name).write(body, self.limits.filter_deletes)
        return write_answer(plan, with_ids=body.return_affected_ids)

    def _as_of(self, name: str, body: QueryBody | MultiQueryBody) -> float | None:
        """The moment an eventually consistent query sees, when a lag is armed."""
        if body.consistency.level == "strong":
            return None
        fault = self.faults.take(("lag",), "query", name)
        return time.monotonic() - fault.delay_ms / 1000 if fault else None

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await anyio.to_thread.run_sync(work, limiter=self._threads)


def _answer(
    namespace: Namespace, body: QueryBody | MultiQueryBody, as_of: float | None
) -> dict[str, Any]:
    start = time.perf_counter()
    with namespace.reading() as state:
        if isinstance(body, MultiQueryBody):
            answer: dict[str, Any] = {"results": answer_multi(body, state, as_of)}
        else:
            query = compile_query(body, state.schema, body.vector_encoding)
            answer = query.answer(state, as_of)
        rows = len(state.index.row_of)
    return query_answer(answer, rows, round(1000 * (time.perf_counter() - start)))


def _read(namespace: Namespace, view: Callable[[Any], Result]) -> Result:
    with namespace.reading() as state:
        return view(state)


def _write_cursor(last: str) -> str:
    return base64.b64encode(orjson.dumps({"start_after": last})).decode()


def _read_cursor(cursor: str) -> str:
    try:
        after = orjson.loads(base64.b64decode(cursor, validate=True))["start_after"]
    except (binascii.Error, ValueError, TypeError, KeyError):
        raise invalid("malformed cursor") from None
    if not isinstance(after, str):
        raise invalid("malformed cursor")
    return after
