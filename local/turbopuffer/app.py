"""The ASGI application: routes, authentication, bodies, errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from local.turbopuffer.errors import ApiError
from local.turbopuffer.faults import DroppedError, Fault
from local.turbopuffer.namespaces import check_name
from local.turbopuffer.replies import BrokenReply, error_reply, json_reply
from local.turbopuffer.request_bodies import (
    gunzipped,
    parse_body,
    parse_json,
    refusal,
    too_large,
)
from local.turbopuffer.service import Limits, Service

Endpoint = Callable[[Request], Awaitable[Response]]
Operation = Callable[[Request], Awaitable[Any]]


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
        routes=[*_namespace_routes(service), *_admin_routes(service)],
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
    async def names(request: Request) -> Any:
        query = request.query_params
        return service.names(
            query.get("prefix", ""), query.get("cursor"), query.get("page_size", "100")
        )

    async def write(request: Request) -> Any:
        return await service.write(_name(request), await _body(request, service.limits))

    async def query(request: Request) -> Any:
        return await service.query(_name(request), await _body(request, service.limits))

    async def update_schema(request: Request) -> Any:
        return await service.update_schema(_name(request), await _body(request, service.limits))

    async def update_metadata(request: Request) -> Any:
        raw = await _body(request, service.limits)
        return await service.update_metadata(_name(request), raw, request.path_params["version"])

    def on(path: str, method: str, operation: Operation, status: int = 200) -> Route:
        async def endpoint(request: Request) -> Response:
            _authenticate(request)
            name = request.path_params.get("name") and _name(request)
            if operation not in (write, query):  # these two strike inside, by their own kind
                service.faults.strike("other", name)
            return json_reply(await operation(request), status)

        return Route(path, endpoint, methods=[method])

    one = "/namespaces/{name}"
    return [
        on("/v1/namespaces", "GET", names),
        on(f"/v2{one}", "POST", write),
        on(f"/v2{one}", "DELETE", lambda r: service.delete(_name(r))),
        on(f"/v2{one}/query", "POST", query),
        on(f"/v1{one}/schema", "GET", lambda r: service.schema(_name(r))),
        on(f"/v1{one}/schema", "POST", update_schema),
        on(f"/v1{one}/hint_cache_warm", "GET", lambda r: service.warm(_name(r)), 202),
        on(
            "/{version}" + one + "/metadata",
            "GET",
            lambda r: service.metadata(_name(r), r.path_params["version"]),
        ),
        on("/{version}" + one + "/metadata", "PATCH", update_metadata),
    ]


def _admin_routes(service: Service) -> list[Route]:
    async def health(_: Request) -> Response:
        in_use = {name: slots.in_use for name, slots in service.slots.items() if slots.in_use}
        return json_reply({"status": "ok", "query_slots_in_use": in_use})

    async def arm(request: Request) -> Response:
        service.faults.arm(parse_body(Fault, parse_json(await request.body())))
        return json_reply({"faults": service.faults.view()}, 201)

    async def show(_: Request) -> Response:
        return json_reply({"faults": service.faults.view()})

    async def clear(_: Request) -> Response:
        service.faults.clear()
        return json_reply({"faults": []})

    return [
        Route("/_admin/health", health, methods=["GET"]),
        Route("/_admin/faults", arm, methods=["POST"]),
        Route("/_admin/faults", show, methods=["GET"]),
        Route("/_admin/faults", clear, methods=["DELETE"]),
    ]


def _authenticate(request: Request) -> None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise ApiError(401, "missing or blank API key")


def _name(request: Request) -> str:
    return check_name(unquote(request.path_params["name"]))


async def _body(request: Request, limits: Limits) -> bytes:
    """The body, unpacked; 413 as soon as it is known to be too large."""
    if int(request.headers.get("content-length", 0)) > limits.body_bytes:
        raise too_large(limits.body_bytes)
    raw = await request.body()
    if request.headers.get("content-encoding", "identity") == "gzip":
        return gunzipped(raw, limits.body_bytes)
    if len(raw) > limits.body_bytes:
        raise too_large(limits.body_bytes)
    return raw


async def _on_error(_: Request, error: Exception) -> Response:
    return error_reply(refusal(error) if isinstance(error, ValidationError) else _api(error))


def _api(error: Exception) -> ApiError:
    return error if isinstance(error, ApiError) else ApiError(500, "internal error")


async def _on_dropped(_: Request, __: Exception) -> Response:
    return BrokenReply()
