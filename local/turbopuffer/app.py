"""The ASGI application: which route does what, and how errors become answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from local.turbopuffer.admin import admin_routes
from local.turbopuffer.errors import ApiError, unsupported
from local.turbopuffer.faults import DroppedError
from local.turbopuffer.incoming import authenticate, namespace_name, read_body
from local.turbopuffer.replies import BrokenReply, error_reply, json_reply
from local.turbopuffer.request_bodies import refusal
from local.turbopuffer.service import Limits, Service

Operation = Callable[[Service, Request], Awaitable[Any]]


def create_app(
    data_dir: Path | str, *, query_slots: int = 16, limits: Limits | None = None
) -> Starlette:
    """The server over ``data_dir``, which one process at a time may use.

    ``query_slots`` is the number of queries a namespace runs at once.
    """
    service = Service(Path(data_dir), query_slots, limits or Limits())

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.namespaces.close()

    return Starlette(
        routes=[*admin_routes(service), *_namespace_routes(service)],
        middleware=[Middleware(RawPath)],
        exception_handlers={
            ApiError: _on_error,
            ValidationError: _on_error,
            DroppedError: _on_dropped,
        },
        lifespan=lifespan,
    )


class RawPath:
    """Routes by the path as it was sent, so that ``%2F`` stays inside a namespace's name."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its undecoded path."""
        if scope["type"] == "http" and scope.get("raw_path"):
            scope = {**scope, "path": scope["raw_path"].split(b"?")[0].decode("ascii")}
        await self._app(scope, receive, send)


def _namespace_routes(service: Service) -> list[Route]:
    one = "/namespaces/{name}"
    table: list[tuple[str, str, Operation, int]] = [
        ("GET", "/v1/namespaces", _names, 200),
        ("POST", f"/v2{one}", _write, 200),
        ("DELETE", f"/v2{one}", _delete, 200),
        ("POST", f"/v2{one}/query", _query, 200),
        ("GET", f"/v1{one}/schema", _schema, 200),
        ("POST", f"/v1{one}/schema", _update_schema, 200),
        ("GET", f"/v1{one}/hint_cache_warm", _warm, 202),
    ]
    for version in ("v1", "v2"):
        path = f"/{version}{one}/metadata"
        table.append(("GET", path, partial(_metadata, version), 200))
        table.append(("PATCH", path, partial(_update_metadata, version), 200))
    # Whatever else the real service has must not look like a missing namespace.
    table += [(m, "/{path:path}", _elsewhere, 200) for m in ("GET", "POST", "PATCH", "DELETE")]
    return [_route(service, *line) for line in table]


def _route(service: Service, method: str, path: str, operation: Operation, status: int) -> Route:
    async def endpoint(request: Request) -> Response:
        authenticate(request)
        if operation not in (_write, _query):  # these two strike inside, by their own kind
            service.faults.strike("other", namespace_name(request) if "{name}" in path else None)
        return json_reply(await operation(service, request), status)

    return Route(path, endpoint, methods=[method])


async def _names(service: Service, request: Request) -> Any:
    query = request.query_params
    prefix, cursor = query.get("prefix", ""), query.get("cursor")
    return service.names(prefix, cursor, query.get("page_size", "100"))


async def _write(service: Service, request: Request) -> Any:
    return await service.write(
        namespace_name(request), await read_body(request, service.limits.body_bytes)
    )


async def _delete(service: Service, request: Request) -> Any:
    return await service.delete(namespace_name(request))


async def _query(service: Service, request: Request) -> Any:
    return await service.query(
        namespace_name(request), await read_body(request, service.limits.body_bytes)
    )


async def _schema(service: Service, request: Request) -> Any:
    return await service.schema(namespace_name(request))


async def _update_schema(service: Service, request: Request) -> Any:
    return await service.update_schema(
        namespace_name(request), await read_body(request, service.limits.body_bytes)
    )


async def _warm(service: Service, request: Request) -> Any:
    return await service.warm(namespace_name(request))


async def _metadata(version: str, service: Service, request: Request) -> Any:
    return await service.metadata(namespace_name(request), version)


async def _update_metadata(version: str, service: Service, request: Request) -> Any:
    raw = await read_body(request, service.limits.body_bytes)
    return await service.update_metadata(namespace_name(request), raw, version)


async def _elsewhere(_: Service, request: Request) -> Any:
    raise unsupported(f"{request.method} {request.url.path}")


async def _on_error(_: Request, error: Exception) -> Response:
    return error_reply(refusal(error) if isinstance(error, ValidationError) else _api(error))


def _api(error: Exception) -> ApiError:
    return error if isinstance(error, ApiError) else ApiError(500, "internal error")


async def _on_dropped(_: Request, __: Exception) -> Response:
    return BrokenReply()
