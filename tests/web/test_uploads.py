"""Uploads over HTTP, and the size of what comes without one."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from context_search.core.limits import MAX_UPLOAD_BYTES
from tests.builders import english
from tests.web.api import Api, answer, problem

JSON = {"content-type": "application/json"}
ONE = {"format": "json", "size": 1}


def uploads(table: dict[str, Any]) -> str:
    return f"/api/v1/tables/{table['id']}/uploads"


def begin(api: Api, table: dict[str, Any], content: bytes = b"1", **more: object) -> dict[str, Any]:
    body = {"format": "json", "size": len(content), **more}
    return answer(api("POST", uploads(table), json=body), 201)


def put(api: Api, upload: dict[str, Any], content: bytes) -> None:
    api.parts.objects.contents[upload["url"]] = content


def complete(api: Api, table: dict[str, Any], upload: dict[str, Any]) -> dict[str, Any]:
    path = f"{uploads(table)}/{upload['upload_id']}/complete"
    return answer(api("POST", path), 202)


def state(api: Api, table: dict[str, Any], upload: dict[str, Any]) -> dict[str, Any]:
    return answer(api("GET", f"{uploads(table)}/{upload['upload_id']}"), 200)


def test_a_document_goes_the_whole_way_and_is_found(api: Api) -> None:
    table = api.table({})
    tool = api.tool(table)
    document = {"a": english(400)}
    content = json.dumps(document).encode()
    upload = begin(api, table, content)
    assert (upload["status"], upload["method"]) == ("pending", "PUT")
    assert upload["headers"] == {"Content-Type": "application/json"}
    assert "api_key" not in upload
    made, ends = (datetime.fromisoformat(upload[name]) for name in ("created_at", "expires_at"))
    assert (ends - made).total_seconds() == 900
    put(api, upload, content)
    assert complete(api, table, upload)["status"] == "importing"
    api.parts.work()
    done = state(api, table, upload)
    assert (done["status"], done["revision"], done["last_error"]) == ("done", 2, None)
    assert done["bytes"] == len(content)
    assert done.keys() & {"url", "headers"} == set()
    assert api("GET", f"/api/v1/tables/{table['id']}/data").json() == document
    assert api.search(tool, "harbour winter")["results"]


def test_what_was_said_of_a_document_is_shown_before_it_is_there(api: Api) -> None:
    table = api.table({})
    said = {"size": 12, "sha256": "AB" * 32}
    made = api("POST", uploads(table), json={"format": "json", **said}, headers={"if-match": '"1"'})
    upload = answer(made, 201)
    for shown in (upload, state(api, table, upload)):
        assert (shown["size"], shown["sha256"], shown["if_revision"]) == (12, "ab" * 32, 1)
        assert shown["bytes"] is None
    unsaid = begin(api, table)
    assert [unsaid[name] for name in ("sha256", "if_revision")] == [None] * 2


def test_nobody_gets_a_place_who_does_not_say_how_many_bytes_come(api: Api) -> None:
    table = api.table({})
    refused = api("POST", uploads(table), json={"format": "json"})
    detail = problem(refused, 422, "INVALID_INPUT")["detail"]
    assert detail == "body.size: Field required"
    with api.parts.store.for_project(api.project_id) as work:
        assert work.uploads.pending(api.project_id, younger_than_s=60) == 0


def test_a_url_is_not_to_be_kept_by_caches(api: Api) -> None:
    made = api("POST", uploads(api.table({})), json={"format": "jsonl", "size": 1})
    assert made.headers["cache-control"] == "no-store"
    assert made.json()["headers"] == {"Content-Type": "application/x-ndjson"}


def test_a_bad_document_says_what_is_wrong_with_it(api: Api) -> None:
    table = api.table({"old": 1})
    content = b'1\n{"a": "\\u0000"}\n'
    upload = begin(api, table, content, format="jsonl")
    put(api, upload, content)
    complete(api, table, upload)
    api.parts.work()
    failed = state(api, table, upload)
    assert failed["status"] == "failed"
    assert failed["last_error"] == {
        "code": "INVALID_DOCUMENT",
        "message": "line 2: a string holds the character U+0000",
        "retryable": False,
    }
    assert api("GET", f"/api/v1/tables/{table['id']}/data").json() == {"old": 1}


def test_completing_before_the_document_is_there_is_a_conflict(api: Api) -> None:
    table = api.table(1)
    upload = begin(api, table)
    path = f"{uploads(table)}/{upload['upload_id']}/complete"
    problem(api("POST", path), 409, "UPLOAD_MISSING")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"size": 1},
        *({"format": value, "size": 1} for value in ("csv", "JSON")),
        *({"format": "json", "size": value} for value in (0, "5", True)),
        *({**ONE, "sha256": value} for value in ("ab", "g" * 64, "a" * 64 + "\n")),
        {**ONE, "key": "uploads/1/1"},
    ],
)
def test_what_an_upload_may_say_is_strict(reader: Api, body: object) -> None:
    table = reader.table(1)
    problem(reader("POST", uploads(table), json=body), 422, "INVALID_INPUT")


def test_a_size_over_the_limit_is_413(reader: Api) -> None:
    body = {"format": "json", "size": MAX_UPLOAD_BYTES + 1}
    problem(reader("POST", uploads(reader.table(1)), json=body), 413, "DOCUMENT_TOO_LARGE")
