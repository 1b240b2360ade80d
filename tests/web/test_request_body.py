"""What holds for every request: an id that follows it, and how long its body may be."""

from __future__ import annotations

import re

import pytest

from context_search.core.limits import MAX_INLINE_BYTES
from context_search.web.openapi import contract
from context_search.web.request_body import (
    BODY_BYTES,
    MEASURED_BYTES,
    QUESTION_BYTES,
    SIGN_IN_BYTES,
)
from tests.web.api import SMALL, Api, exposed, problem


@pytest.mark.parametrize("given", ["a", "7f3c-22.A_b", "x" * 64])
def test_a_request_keeps_the_id_that_it_brings(api: Api, given: str) -> None:
    for path in ("/healthz", "/api/v1/tables/1", "/nowhere", "/mcp"):
        response = api("GET", path, headers={"x-request-id": given})
        assert response.headers["x-request-id"] == given


@pytest.mark.parametrize(
    "given", [None, "", " ", "x" * 65, "a b", "a;b", "a\tb", "<b>", '"', "é", "%0a"]
)
def test_a_missing_or_unsafe_id_is_replaced_by_a_new_one(api: Api, given: str | None) -> None:
    headers = {} if given is None else {b"x-request-id": given.encode()}
    seen = {api.http.get("/healthz", headers=headers).headers["x-request-id"] for _ in range(2)}
    assert len(seen) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in seen)


def test_no_answer_is_stored_or_taken_for_another_type(api: Api) -> None:
    for path in ("/healthz", "/openapi.json", "/api/v1/whoami", "/nowhere", "/mcp"):
        headers = api("GET", path).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
    assert api.http.get("/console").headers["cache-control"] == "no-cache"


def test_the_message_of_a_check_is_not_introduced_by_its_library(api: Api) -> None:
    answer = problem(api("GET", "/api/v1/tables?limit=x"), 422, "INVALID_INPUT")
    [error] = answer["errors"]
    assert error["message"].startswith("Input should be")
    assert answer["detail"] == f"query.limit: {error['message']}"


def test_a_search_is_logged_under_its_id(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    tool = api.tool(api.table({"a": "The lighthouse keeper counted nine comets."}), SMALL)
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    api("POST", path, json={"query": "comets"}, headers={"x-request-id": "find-me"})
    assert "find-me" in exposed(caplog.records)


JSON = {"content-type": "application/json"}
WITH_BODIES = [
    (method.upper(), path)
    for path, methods in contract()["paths"].items()
    for method, described in methods.items()
    if "requestBody" in described
]
PUBLIC = [("POST", "/api/v1/console/sign-in")]


@pytest.mark.parametrize(
    "operation", [each for each in WITH_BODIES if each not in PUBLIC], ids=" ".join
)
def test_a_body_without_credentials_is_not_even_read(api: Api, operation: tuple[str, str]) -> None:
    method, path = operation
    path = re.sub(r"\{.*?\}", "1", path)
    for headers in ({}, {"authorization": "Bearer cs_unknown"}, {"x-internal-secret": "wrong"}):
        response = api.http.request(method, path, content=b"{no JSON", headers=JSON | headers)
        problem(response, 401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("method", "path", "limit"),
    [
        ("POST", "/api/v1/mcps", BODY_BYTES),
        ("POST", "/api/v1/tables/1/uploads", BODY_BYTES),
        ("PATCH", "/api/v1/mcps/1", BODY_BYTES),
        ("POST", "/api/v1/console/sign-in", SIGN_IN_BYTES),
        ("POST", "/api/v1/tables/1/outline", QUESTION_BYTES),
        ("POST", "/api/v1/tools/1/search", QUESTION_BYTES),
        ("POST", "/api/v1/tools/1/search/explain", QUESTION_BYTES),
        ("POST", "/api/v1/tools/1/retrieve", QUESTION_BYTES),
        ("POST", "/api/v1/projects/1/search", QUESTION_BYTES),
        ("POST", "/api/v1/projects/1/search/explain", QUESTION_BYTES),
        ("POST", "/api/v1/projects/1/replace/preview", QUESTION_BYTES),
        ("POST", "/api/v1/projects/1/measures", MEASURED_BYTES),
        ("POST", "/api/v1/tables", MAX_INLINE_BYTES),
        ("PUT", "/api/v1/tables/1/data", MAX_INLINE_BYTES),
        ("PATCH", "/api/v1/tables/1/data", MAX_INLINE_BYTES),
        ("PUT", "/api/v1/projects/1/judged-sets/s", MAX_INLINE_BYTES),
        ("POST", "/api/v1/tables/1/data/merge", MAX_INLINE_BYTES),
    ],
)
def test_each_route_has_its_own_limit_of_a_body(
    api: Api, method: str, path: str, limit: int
) -> None:
    allowed = api(method, path, content=b"[1".ljust(limit), headers=JSON)
    assert allowed.status_code in (404, 422)
    refused = api(method, path, content=b"[1".ljust(limit + 1), headers=JSON)
    is_document = limit == MAX_INLINE_BYTES
    problem(refused, 413, "DOCUMENT_TOO_LARGE" if is_document else "PAYLOAD_TOO_LARGE")
