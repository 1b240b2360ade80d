"""What has no route is answered as a problem, too."""

from __future__ import annotations

import pytest

from tests.web.api import Api, problem


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nowhere",
        "/api/v1/tables/1/",
        "/api/v1/tables//data",
        "/healthz/",
        "/api/v2/tables",
        "/api/v1/projects/1/search/explained",
    ],
)
def test_an_unknown_path_is_404(api: Api, path: str) -> None:
    problem(api("GET", path), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/api/v1/tables/1/data", "DELETE, GET, PATCH, PUT"),
        ("OPTIONS", "/api/v1/tables", "GET, POST"),
        ("GET", "/api/v1/tools/search", "POST"),
        ("GET", "/api/v1/tools/search?wait=0", "POST"),
        ("DELETE", "/api/v1/tools/search", "POST"),
        ("GET", "/api/v1/tools/1/search", "POST"),
        ("PUT", "/api/v1/mcps/1", "DELETE, GET, PATCH"),
        ("TRACE", "/healthz", "GET"),
    ],
)
def test_a_method_that_a_path_does_not_take_is_405(
    api: Api, method: str, path: str, allowed: str
) -> None:
    response = api(method, path)
    problem(response, 405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == allowed
