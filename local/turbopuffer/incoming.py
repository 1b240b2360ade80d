"""Reading a request: its key, its namespace, its body."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.requests import Request

from local.turbopuffer.errors import ApiError
from local.turbopuffer.namespaces import check_name
from local.turbopuffer.request_bodies import gunzipped, too_large


def authenticate(request: Request) -> None:
    """401 unless there is a bearer token; any will do."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise ApiError(401, "missing or blank API key")


def namespace_name(request: Request) -> str:
    """The namespace in the path; 400 in plain text when the name is not allowed."""
    return check_name(unquote(request.path_params["name"]))


async def read_body(request: Request, limit: int) -> bytes:
    """The body, unpacked; 413 when it has more than ``limit`` bytes, packed or not."""
    if int(request.headers.get("content-length", 0)) > limit:
        raise too_large(limit)
    raw = await request.body()
    if request.headers.get("content-encoding", "identity") == "gzip":
        return gunzipped(raw, limit)
    if len(raw) > limit:
        raise too_large(limit)
    return raw
