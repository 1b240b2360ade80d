"""The FastAPI application around routers, and how it answers when something is wrong."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from aws_lambda_powertools import Logger
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from mangum import Mangum
from mangum.types import ASGI
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from context_search import __version__
from context_search.core.errors import ContextSearchError
from context_search.integrations.ports import Clock
from context_search.web.metrics import emit_request
from context_search.web.problems import (
    PROBLEM_JSON,
    log_text,
    misses_method,
    problem,
    problem_of,
    unrouted,
)
from context_search.web.query_parameters import KnownParameters
from context_search.web.request_body import BodyRefusedError, request_id, with_request_ids

# Mangum logs the path of every request, and a key may travel in it.
logging.getLogger("mangum").setLevel(logging.CRITICAL)

_OURS = "Value error, "
"""What pydantic writes before the message of a check of ours."""
_HOST = "context_search.host"
LambdaHandler = Callable[[dict[str, Any], Any], dict[str, Any]]


def http_app(
    routers: Sequence[APIRouter],
    use_cases: object,
    *,
    contract: Callable[[], dict[str, Any]] | None = None,
    log: Logger | None = None,
) -> FastAPI:
    """Returns an application that serves ``routers`` and answers every error as a problem.

    What went wrong on our side is written to ``log``, the function's.

    The routes find their use cases as attributes of ``use_cases``, a function's of ``composition``.
    """
    app = FastAPI(
        title="context-search",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        servers=[{"url": "/", "description": "the deployment that serves this document"}],
        generate_unique_id_function=lambda route: route.name,
        default_response_class=JSONResponse,  # numbers as Python writes them, not as pydantic does
        dependencies=[KnownParameters],
    )
    app.state.use_cases = use_cases
    app.state.contract = contract
    app.state.log = log or Logger(service="http")
    app.add_middleware(with_request_ids)
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(ContextSearchError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)
    return app


def lambda_handler_of(app: FastAPI) -> LambdaHandler:
    """Returns a Lambda handler for API Gateway's HTTP events."""
    adapter = Mangum(
        _with_host(app), lifespan="off", text_mime_types=["text/", "application/json", PROBLEM_JSON]
    )

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        # Mangum takes the thread's event loop; only a main thread has one from the start.
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            others = {name: text for name, text in event["headers"].items() if name != "host"}
            return adapter(
                {**event, "headers": others, _HOST: event["headers"].get("host")}, context
            )
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    return handler


def _with_host(app: ASGIApp) -> ASGI:
    """Returns ``app`` with the ``Host`` that a request brought, as it came.

    Mangum takes it apart at each colon, so an IPv6 address and a port that is no number ended it.
    Who may call is the business of those who judge a ``Host``.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        host = scope["aws.event"][_HOST]
        if host is not None:
            scope["headers"].append([b"host", host.encode()])
        await app(scope, receive, send)

    return serve


def counting_requests(
    handler: LambdaHandler, clock: Clock, routers: Sequence[APIRouter] | None = None
) -> LambdaHandler:
    """Returns a handler whose requests are metrics of management: all, or those of ``routers``."""
    counted = None if routers is None else set(route_keys(routers))

    def counting(event: dict[str, Any], context: Any) -> dict[str, Any]:
        route, started = event.get("routeKey", ""), clock.monotonic()
        answer = handler(event, context)
        if counted is None or route in counted:
            status, seconds = answer["statusCode"], clock.monotonic() - started
            emit_request(route, status, seconds, _code_of(answer))
        return answer

    return counting


def _code_of(answer: dict[str, Any]) -> str | None:
    """Returns the code of a problem that is the answer, None for every other answer."""
    if answer["headers"].get("content-type") != PROBLEM_JSON:
        return None
    code: str = json.loads(answer["body"])["code"]
    return code


def route_keys(routers: Iterable[APIRouter]) -> Iterator[str]:
    """Returns the routes of routers as API Gateway names them: ``GET /api/v1/mcps``."""
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                yield from (f"{method} {route.path}" for method in route.methods or ())


def _answer(status: int, body: dict[str, object], headers: dict[str, str]) -> Response:
    named = {**body, "requestId": request_id()}
    headers = {**headers, "X-Request-Id": request_id()}
    return JSONResponse(named, status, headers, media_type=PROBLEM_JSON)


async def _known(request: Request, error: Exception) -> Response:
    if not isinstance(error, ContextSearchError):
        raise error
    status, body, headers = problem_of(error)
    if status >= 500:
        reported = {"request_id": request_id(), "code": error.code, "detail": error.message}
        request.app.state.log.error("request failed", extra=reported)
    return _answer(status, body, headers)


async def _invalid(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    if misses_method(request):
        return _answer(*unrouted(request))
    errors = _wrong_fields(error)[:20]
    detail = f"{errors[0]['field']}: {errors[0]['message']}"
    body, headers = problem(422, "INVALID_INPUT", detail)
    return _answer(422, {**body, "errors": errors}, headers)


def _wrong_fields(error: RequestValidationError) -> list[dict[str, str]]:
    """Where and what: the value that was refused may be a secret or a document.

    Of a member that may be left out pydantic tells that it is not None, too, and names the type of
    the other branch as if that were a member.
    """
    found = error.errors()
    optional = {item["loc"][:-1] for item in found if item["type"] == "none_required"}
    reported = []
    for item in found:
        if item["type"] != "none_required":
            place = [
                part for at, part in enumerate(item["loc"]) if item["loc"][:at] not in optional
            ]
            message = item["msg"].removeprefix(_OURS)
            reported.append({"field": ".".join(map(str, place)), "message": message})
    return reported


async def _http(request: Request, error: Exception) -> Response:
    if isinstance(error, BodyRefusedError):
        return _answer(*problem_of(error.reason))
    if not isinstance(error, HTTPException):
        raise error
    if error.status_code in (404, 405):  # no route: what is missing inside one is a NotFoundError
        return _answer(*unrouted(request, (error.headers or {}).get("Allow", "")))
    body, headers = problem(error.status_code, "BAD_REQUEST", str(error.detail))
    return _answer(error.status_code, body, {**headers, **(error.headers or {})})


async def _unexpected(request: Request, error: Exception) -> Response:
    reported = {"request_id": request_id(), "trace": log_text(error)}
    request.app.state.log.error("unexpected error", extra=reported)
    body, headers = problem(500, "INTERNAL", "an unexpected error, see the log")
    return _answer(500, body, headers)
