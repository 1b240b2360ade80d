"""What holds for every request: an id that follows it, and how long its body may be."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator

import httpx2
import pytest
from fastapi import APIRouter

from context_search.core.limits import MAX_INLINE_BYTES
from context_search.web.app import http_app
from context_search.web.openapi import contract
from context_search.web.request_body import (
    BODY_BYTES,
    MEASURED_BYTES,
    QUESTION_BYTES,
    SIGN_IN_BYTES,
)
from tests.web.api import SMALL, Api, LocalParts, exposed, problem
from tests.web.in_process import client_of

ASKING = [
    "/tools/1/search",
    "/tools/1/search/explain",
    "/tools/1/retrieve",
    "/projects/1/search",
    "/projects/1/search/explain",
]


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


@pytest.fixture
def faulty(parts: LocalParts) -> Iterator[httpx2.Client]:
    """An application with a route that fails in a way that nobody has thought of."""
    router = APIRouter()

    @router.get("/fails")
    async def fails() -> None:
        raise KeyError

    with client_of(http_app([router], parts.use_cases)) as client:
        yield client


def test_an_unexpected_error_is_logged_under_the_id_that_its_problem_tells(
    faulty: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    response = faulty.get("/fails", headers={"x-request-id": "trace-me"})
    problem(response, 500, "INTERNAL")
    assert response.headers["x-request-id"] == "trace-me"
    [record] = [found for found in caplog.records if found.levelno == logging.ERROR]
    assert vars(record)["request_id"] == "trace-me"


def test_a_search_is_logged_under_its_id(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    tool = api.tool(api.table({"a": "The lighthouse keeper counted nine comets."}), SMALL)
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    api("POST", path, json={"query": "comets"}, headers={"x-request-id": "find-me"})
    assert "find-me" in exposed(caplog.records)


@pytest.mark.parametrize("path", ASKING)
def test_a_question_of_over_a_million_bytes_is_not_even_read(api: Api, path: str) -> None:
    content = b'{"query": "harbour"' + b" " * QUESTION_BYTES + b"}"
    headers = {"content-type": "application/json"}
    response = api("POST", f"/api/v1{path}", content=content, headers=headers)
    problem(response, 413, "PAYLOAD_TOO_LARGE")


def test_a_question_of_a_million_bytes_and_a_longer_document_pass(api: Api) -> None:
    content = b'{"query": "harbour"}'.ljust(QUESTION_BYTES)
    headers = {"content-type": "application/json"}
    response = api("POST", "/api/v1/tools/1/search", content=content, headers=headers)
    problem(response, 404, "NOT_FOUND")
    assert api.table({"a": "x" * QUESTION_BYTES})["revision"] == 1


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
        ("POST", "/api/v1/projects/1/replace/preview", QUESTION_BYTES),
        ("POST", "/api/v1/projects/1/measures", MEASURED_BYTES),
        ("PUT", "/api/v1/tables/1/data", MAX_INLINE_BYTES),
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
