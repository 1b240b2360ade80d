"""Whatever is wrong with a request: one form of answer, and nothing of the request in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter

from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.web.app import http_app
from tests.web.api import CANARY, PROBLEM, SECRET, Api, LocalParts, exposed, problem
from tests.web.in_process import client_of

BODIES: dict[str, dict[str, object]] = {
    "/api/v1/projects": {"name": "x"},
    "/api/v1/tables": {"project_id": 1, "name": "x", "data": 1},
    "/api/v1/tools/search": {"project_id": 1, "table_id": 1, "name": "x"},
}
EVERY_BODY = pytest.mark.parametrize("path", sorted(BODIES))


def send(api: Api, path: str, content: bytes, **headers: str) -> Any:
    """A POST of bytes that carries both kinds of credentials."""
    sent = {"x-internal-secret": SECRET, "content-type": "application/json", **headers}
    return api("POST", path, content=content, headers=sent)


@EVERY_BODY
@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"",
        b"not json",
        b'{"name": "\\u0000"}',
        b'{"name": "\\ud800"}',
        b'{"\\udfff": 1}',
        b"[" * 60_000,
        b'{"name":' * 258 + b"1" + b"}" * 258,
        b'{"name": NaN}',
        b'{"name": 1e400}',
        b'{"name": ' + b"9" * 1001 + b"}",
        b'{"name": "\xff"}',
        b'{"name": "\xed\xa0\x80"}',
        b"\xff\xfe{\x00}\x00",
    ],
    ids=lambda content: repr(content[:24]),
)
def test_a_body_that_breaks_a_border_rule_is_refused(api: Api, path: str, content: bytes) -> None:
    code = "INVALID_DOCUMENT" if content else "INVALID_INPUT"
    problem(send(api, path, content), 422, code)


@pytest.mark.parametrize("content", [b"1e299", b"-1.5", b"7", b"true", b'"x"', b"[]", b"[[]]"])
@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/tables/{table_id}/uploads",
        "/api/v1/projects/{project_id}/keys",
        "/api/v1/projects/{project_id}/keys/1/rotate",
        "/api/v1/projects/{project_id}/search",
        "/api/v1/tools/1/retrieve",
    ],
)
def test_a_body_that_is_no_object_is_refused(api: Api, path: str, content: bytes) -> None:
    where = path.format(table_id=api.table(1)["id"], project_id=api.project_id)
    problem(send(api, where, content), 422, "INVALID_INPUT")


@pytest.mark.parametrize("content", [b"1e299", b"[]"])
def test_a_part_that_is_no_object_is_refused(api: Api, content: bytes) -> None:
    body = b'{"project_id": 1, "table_id": 1, "name": "x", "search_config": %b}' % content
    problem(send(api, "/api/v1/tools/search", body), 422, "INVALID_INPUT")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@pytest.mark.parametrize("content", [b"", b"{", b'"\\u0000"', b"[" * 257 + b"]" * 257, b"Infinity"])
def test_a_document_that_breaks_a_border_rule_is_refused(
    api: Api, method: str, content: bytes
) -> None:
    path = f"/api/v1/tables/{api.table({'kept': 1})['id']}/data"
    problem(api(method, path, content=content), 422, "INVALID_DOCUMENT")
    assert api("GET", path).json() == {"kept": 1}


def test_a_key_with_nul_cannot_come_in_by_a_pointer(api: Api) -> None:
    path = f"/api/v1/tables/{api.table({})['id']}/data"
    response = api("PUT", path, params={"pointer": "/a\0b"}, json=1)
    assert problem(response, 422, "INVALID_INPUT")
    assert api("GET", path).json() == {}


@EVERY_BODY
def test_an_unknown_field_is_refused_by_name(api: Api, path: str) -> None:
    body = {**BODIES[path], "extra": CANARY, "project": 1}
    refused = problem(
        api("POST", path, json=body, headers={"x-internal-secret": SECRET}), 422, "INVALID_INPUT"
    )
    assert {error["field"] for error in refused["errors"]} == {"body.extra", "body.project"}


@pytest.mark.parametrize(
    "value", ["1", 1.0, True, None, [1], {}, 0, -1, 2**63, 1e3, "１"], ids=repr
)
@pytest.mark.parametrize("field", ["project_id", "table_id"])
def test_an_id_in_a_body_is_an_integer_and_nothing_like_it(
    api: Api, field: str, value: object
) -> None:
    body = {"project_id": api.project_id, "table_id": 1, "name": "x", field: value}
    refused = problem(api("POST", "/api/v1/tools/search", json=body), 422, "INVALID_INPUT")
    assert [error["field"] for error in refused["errors"]] == [f"body.{field}"]


@pytest.mark.parametrize("name", ["", "x" * 201, 7, None, ["x"], True], ids=lambda n: repr(n)[:9])
@pytest.mark.parametrize("path", ["/api/v1/projects", "/api/v1/tables"])
def test_a_name_is_a_string_of_1_to_200_characters(api: Api, path: str, name: object) -> None:
    body = {**BODIES[path], "project_id": api.project_id, "name": name}
    if "projects" in path:
        del body["project_id"]
    response = api("POST", path, json=body, headers={"x-internal-secret": SECRET})
    refused = problem(response, 422, "INVALID_INPUT")
    assert [error["field"] for error in refused["errors"]] == ["body.name"]


@pytest.mark.parametrize("number", ["x", "-1", "0", "1.5", str(2**63), "%00", "1;", "é", "1%2F.."])
def test_a_path_without_a_possible_id_is_refused(api: Api, number: str) -> None:
    for path in (f"/api/v1/tables/{number}", f"/api/v1/tools/{number}"):
        response = api("GET", path)
        assert response.headers["content-type"] == PROBLEM
        assert response.status_code in (404, 422)


@pytest.fixture
def faulty(parts: LocalParts) -> Iterator[httpx2.Client]:
    """An application with a route that fails in a way that nobody has thought of."""
    router = APIRouter()

    @router.get("/fails")
    async def fails() -> None:
        raise KeyError(f"{CANARY} in an exception")

    with client_of(http_app([router], parts.use_cases)) as client:
        yield client


def test_an_unexpected_error_is_logged_with_its_place_and_without_its_values(
    faulty: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    response = faulty.get("/fails", headers={"x-request-id": "trace-me"})
    assert problem(response, 500, "INTERNAL")["retryable"] is False
    [record] = [found for found in caplog.records if found.levelno == logging.ERROR]
    assert vars(record)["request_id"] == "trace-me"
    reported = exposed([record])
    assert "KeyError" in reported
    assert "test_refusals.py" in reported


def test_a_broken_database_is_a_500_that_tells_no_sql(
    api: Api, owner_url: DatabaseUrl, caplog: pytest.LogCaptureFixture
) -> None:
    owner = Database(owner_url)
    with owner.transaction() as tx:
        tx.run("ALTER TABLE context_table RENAME COLUMN description TO gone")
    try:
        body = problem(api("GET", "/api/v1/tables/1"), 500, "INTERNAL")
    finally:
        with owner.transaction() as tx:
            tx.run("ALTER TABLE context_table RENAME COLUMN gone TO description")
        owner.close()
    assert "SQLSTATE" not in str(body)
    assert "SQLSTATE 42703" in exposed(caplog.records)


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
