"""Answers as the service sends them: JSON bodies, error bodies, and a cut connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from local.turbopuffer.abortable import ABORT
from local.turbopuffer.errors import ApiError
from local.turbopuffer.ids import Id
from local.turbopuffer.namespace import State
from local.turbopuffer.write_plan import WritePlan


def json_reply(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``body`` as JSON; numpy vectors and floats keep their shortest f32 form."""
    raw = orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(raw, status, headers, media_type="application/json")


def error_reply(error: ApiError) -> Response:
    """``{"status": "error", "error": …}``, or plain text for errors in the URL."""
    if error.plain:
        return PlainTextResponse(error.message, error.status)
    body = {"status": "error", "error": error.message}
    return json_reply(body, error.status, error.headers)


class BrokenReply(Response):
    """No reply at all: the connection is cut."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Cut the connection and wait until it is gone; needs ``AbortableProtocol``."""
        del send
        scope["extensions"][ABORT]()
        while (await receive())["type"] != "http.disconnect":
            continue


def write_answer(plan: WritePlan, *, with_ids: bool) -> dict[str, Any]:
    """The body of a successful write."""
    counts = {f"rows_{operation}": len(ids) for operation, ids in plan.affected.items()}
    answer: dict[str, Any] = {
        "status": "OK",
        "message": "documents committed successfully",
        "rows_affected": sum(counts.values()),
        **counts,
        "billing": {"billable_logical_bytes_written": 0},
        "performance": {"server_total_ms": 0},
    }
    if with_ids:
        answer |= {f"{operation}_ids": ids for operation, ids in plan.affected.items() if ids}
    if plan.rows_remaining:
        answer["rows_remaining"] = True
    return answer


def query_answer(answer: dict[str, Any], rows: int, elapsed_ms: int) -> dict[str, Any]:
    """The body of a successful query: ``rows``, ``aggregations`` or ``results``, and figures."""
    return {
        **answer,
        "billing": {"billable_logical_bytes_queried": 0, "billable_logical_bytes_returned": 0},
        "performance": {
            "cache_hit_ratio": 1.0,
            "cache_temperature": "hot",
            "server_total_ms": elapsed_ms,
            "query_execution_ms": elapsed_ms,
            "exhaustive_search_count": rows,
            "approx_namespace_size": rows,
        },
    }


def metadata_answer(state: State, version: str) -> dict[str, Any]:
    """The body of ``GET /{version}/namespaces/{name}/metadata``."""
    answer: dict[str, Any] = {
        "schema": state.schema.metadata_view(),
        "approx_row_count": len(state.index.row_of),
        "approx_logical_bytes": state.store.size(),
        "created_at": state.created_at,
        "updated_at": state.updated_at,
        "encryption": {"sse": True} if version == "v1" else {"mode": "default"},
        "index": {"status": "up-to-date"},
    }
    return answer | ({"read_only": True} if state.read_only else {})


def ids_page(names: Sequence[Id], cursor: str | None) -> dict[str, Any]:
    """The body of ``GET /v1/namespaces``."""
    return {"namespaces": [{"id": name} for name in names], "next_cursor": cursor}
