"""The ASGI application: which route does what, in threads, within slots, and with faults."""

from __future__ import annotations

import asyncio
import gzip
import re
import time
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import orjson
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from local.turbopuffer.abortable import BrokenReply
from local.turbopuffer.billing import queried_bytes, returned_bytes
from local.turbopuffer.bodies import QueryBody, WriteBody, parse_body, parse_json, parse_query
from local.turbopuffer.catalogue import Catalogue
from local.turbopuffer.errors import ApiError, invalid, unsupported
from local.turbopuffer.faults import DroppedError, Fault, FaultBoard
from local.turbopuffer.namespace import Namespace, Namespaces
from local.turbopuffer.queries import Query
from local.turbopuffer.slots import QuerySlots

Result = TypeVar("Result")
_THREADS = 64
_MAX_PAGE = 1_000
# From which size on the SDK packs a request; that the service packs from there on is a guess.
_PACKED_BYTES = 1_024
_NAME = re.compile(r"[A-Za-z0-9\-_.]{1,128}\Z")


def create_app(data_dir: Path) -> Starlette:
    """The server over ``data_dir``, which one process at a time may use."""
    service = Service(data_dir)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.namespaces.close()

    one = "/v2/namespaces/{name}"
    every = ["GET", "POST", "PATCH", "DELETE"]
    return Starlette(
        routes=[
            Route("/_admin/health", service.health, methods=["GET"]),
            Route("/_admin/faults", service.arm, methods=["POST"]),
            Route("/_admin/faults", service.show_faults, methods=["GET"]),
            Route("/_admin/faults", service.clear_faults, methods=["DELETE"]),
            Route("/v1/namespaces", _endpoint(service.names), methods=["GET"]),
            Route("/v1/namespaces/{name}/schema", _endpoint(service.schema), methods=["GET"]),
            Route(one, _endpoint(service.write), methods=["POST"]),
            Route(one, _endpoint(service.delete), methods=["DELETE"]),
            Route(f"{one}/query", _endpoint(service.query), methods=["POST"]),
            # Whatever else the real service has must not look like a missing namespace.
            Route("/{path:path}", _endpoint(service.elsewhere), methods=every),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=_PACKED_BYTES, compresslevel=1)],
        exception_handlers={ApiError: _on_error, DroppedError: _on_dropped},
        lifespan=lifespan,
    )


class Service:
    """The routes. Work on namespaces runs in threads, so that the event loop stays free."""

    def __init__(self, directory: Path) -> None:
        self._catalogue = Catalogue(directory)
        self.namespaces = Namespaces(self._catalogue)
        self._faults = FaultBoard()
        self._slots: dict[str, QuerySlots] = defaultdict(QuerySlots)
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def write(self, request: Request) -> Response:
        """``POST /v2/namespaces/{name}``."""
        name = _namespace(request)
        self._faults.strike("write", name)
        raw = await _content(request)
        await asyncio.sleep(self._faults.delay_s("write", name))
        answer = await self._in_thread(lambda: self._write(name, raw))
        if self._faults.take(("drop_after",), "write", name):
            raise DroppedError
        return _json(answer)

    async def query(self, request: Request) -> Response:
        """``POST /v2/namespaces/{name}/query``, one query or several."""
        name = _namespace(request)
        self._faults.strike("query", name)
        body = parse_json(await _content(request))
        asked = parse_query(body)
        namespace = self.namespaces.existing(name)
        async with self._slots[name].take(len(asked)):
            await asyncio.sleep(self._faults.delay_s("query", name))
            answer, results = await self._in_thread(lambda: _answer(namespace, asked))
        if self._faults.take(("drop_after",), "query", name):
            raise DroppedError
        return _json(answer | ({"results": results} if "queries" in body else results[0]))

    async def schema(self, request: Request) -> Response:
        """``GET /v1/namespaces/{name}/schema``."""
        name = _namespace(request)
        self._faults.strike("other", name)
        namespace = self.namespaces.existing(name)
        return _json(await self._in_thread(lambda: _schema(namespace)))

    async def delete(self, request: Request) -> Response:
        """``DELETE /v2/namespaces/{name}``."""
        name = _namespace(request)
        self._faults.strike("other", name)
        await self._in_thread(self.namespaces.existing(name).delete)
        return _json({"status": "OK"})

    async def names(self, request: Request) -> Response:
        """``GET /v1/namespaces``: one page, in order."""
        self._faults.strike("other", None)
        asked = request.query_params
        for name in asked.keys() - {"prefix", "cursor", "page_size"}:
            raise unsupported(f"parameter {name!r}")
        page_size = asked.get("page_size", "100")
        if not page_size.isdecimal() or not 1 <= int(page_size) <= _MAX_PAGE:
            raise invalid(f"page_size must be between 1 and {_MAX_PAGE}")
        after = asked.get("cursor", "")  # the last name of the page before
        if "cursor" in asked and not _NAME.match(after):
            raise invalid("malformed cursor")
        names = self._catalogue.names(asked.get("prefix", ""), after, int(page_size))
        # The service hands out a cursor behind every full page, the last one too.
        full = len(names) == int(page_size)
        cursor = names[-1] if full else None
        return _json({"namespaces": [{"id": name} for name in names], "next_cursor": cursor})

    async def elsewhere(self, request: Request) -> Response:
        """Any other path: 400, named."""
        self._faults.strike("other", None)
        raise unsupported(f"{request.method} {request.url.path}")

    async def health(self, _: Request) -> Response:
        """Whether it serves, and the query slots that are taken."""
        in_use = {name: slots.in_use for name, slots in self._slots.items() if slots.in_use}
        return _json({"status": "ok", "query_slots_in_use": in_use})

    async def arm(self, request: Request) -> Response:
        """Arm a fault. These routes need no key."""
        self._faults.arm(parse_body(Fault, parse_json(await request.body())))
        return _json({"faults": self._faults.view()}, 201)

    async def show_faults(self, _: Request) -> Response:
        """The faults that are armed."""
        return _json({"faults": self._faults.view()})

    async def clear_faults(self, _: Request) -> Response:
        """Disarm all."""
        self._faults.clear()
        return _json({"faults": []})

    def _write(self, name: str, raw: bytes) -> dict[str, Any]:
        body = parse_body(WriteBody, parse_json(raw))
        billed = self.namespaces.for_writing(name).write(body)
        counts = {"rows_upserted": len(body.upsert_rows), "rows_deleted": len(body.deletes)}
        return {
            "status": "OK",
            "message": "documents committed successfully",
            "rows_affected": sum(counts.values()),
            **{name: count for name, count in counts.items() if count},
            "billing": {"billable_logical_bytes_written": billed},
            "performance": {"server_total_ms": 0},
        }

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await anyio.to_thread.run_sync(work, limiter=self._threads)


def _answer(
    namespace: Namespace, asked: Sequence[QueryBody]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The figures of an answer, and what every query found at the same moment."""
    start = time.perf_counter()
    with namespace.reading() as state, ThreadPoolExecutor(len(asked)) as threads:
        found = threads.map(lambda query: Query(query, state).rows(), asked)
        results = [{"rows": rows} for rows in found]
        rows = len(state.index.row_of)
        queried = queried_bytes(state.index.logical_bytes, len(asked))
        returned = returned_bytes([result["rows"] for result in results], state.schema)
    elapsed_ms = round(1000 * (time.perf_counter() - start))
    return {
        "billing": {
            "billable_logical_bytes_queried": queried,
            "billable_logical_bytes_returned": returned,
        },
        "performance": {
            "cache_hit_ratio": 1.0,
            "cache_temperature": "hot",
            "server_total_ms": elapsed_ms,
            "query_execution_ms": elapsed_ms,
            "exhaustive_search_count": rows,
            "approx_namespace_size": rows,
        },
    }, results


async def _content(request: Request) -> bytes:
    """The body, unpacked; 400 when it is not what its header says."""
    raw = await request.body()
    encoding = request.headers.get("content-encoding", "identity")
    if encoding == "identity":
        return raw
    if encoding != "gzip":
        raise unsupported(f"Content-Encoding {encoding!r}")
    try:
        return gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        raise invalid("the request body is not gzip") from None


def _schema(namespace: Namespace) -> dict[str, Any]:
    with namespace.reading() as state:
        return state.schema.view()


def _endpoint(
    operation: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """The operation for those who have a key; any will do."""

    async def endpoint(request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise ApiError(401, "missing or blank API key")
        return await operation(request)

    return endpoint


def _namespace(request: Request) -> str:
    name: str = request.path_params["name"]
    if not _NAME.match(name):
        raise invalid("a namespace's name has 1 to 128 of the characters [A-Za-z0-9-_.]")
    return name


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``body`` as JSON; numpy vectors and floats keep their shortest f32 form."""
    raw = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(raw, status, headers, media_type="application/json")


async def _on_error(_: Request, error: Exception) -> Response:
    if not isinstance(error, ApiError):
        raise error
    return _json({"status": "error", "error": error.message}, error.status, error.headers)


async def _on_dropped(_: Request, __: Exception) -> Response:
    return BrokenReply()
