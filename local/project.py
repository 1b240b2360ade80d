"""The project a fresh local stack begins with, made over HTTP like any other."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from local.state import StackError, read_json, write_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TIMEOUT_S = 30


def default_project(base_url: str, internal_secret: str, remembered: Path) -> dict[str, Any]:
    """``{project_id, api_key}`` of the default project, created unless ``remembered`` still holds.

    Raises StackError when the API refuses.
    """
    known = read_json(remembered)
    if known and _is_valid(base_url, known["api_key"]):
        return known
    status, answer = _call(
        base_url,
        "POST",
        "/api/v1/projects",
        {"x-internal-secret": internal_secret, "content-type": "application/json"},
        json.dumps({"name": "default"}).encode(),
    )
    if status != 201:
        raise StackError(f"POST /api/v1/projects answered {status}: {answer[:300]!r}")
    created = json.loads(answer)
    project = {"project_id": created["id"], "api_key": created["api_key"]}
    write_private(remembered, project)
    return project


def _is_valid(base_url: str, api_key: str) -> bool:
    """Whether the key is known: any route that wants one says 401 to a key of another database."""
    headers = {"authorization": f"Bearer {api_key}"}
    status, _ = _call(base_url, "GET", "/api/v1/tools/0", headers, None)
    return status != 401


def _call(
    base_url: str, method: str, path: str, headers: Mapping[str, str], body: bytes | None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=_TIMEOUT_S)
    try:
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return response.status, response.read()
    except OSError as error:
        raise StackError(f"{method} {path}: {error}") from error
    finally:
        connection.close()
