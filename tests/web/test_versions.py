"""Versions over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import english
from tests.web.api import Api, answer, problem


def versions(table: dict[str, Any], rest: str = "") -> str:
    return f"/api/v1/tables/{table['id']}/versions{rest}"


def put(api: Api, table: dict[str, Any], document: object, **more: Any) -> dict[str, Any]:
    return answer(api("PUT", f"/api/v1/tables/{table['id']}/data", json=document, **more), 200)


def test_a_revision_says_who_made_it_and_in_which_request(api: Api) -> None:
    table = api.table({"a": 1})
    put(api, table, {"a": 2}, headers={"X-Request-Id": "my-request"})
    page = answer(api("GET", versions(table)), 200)
    assert page["cursor"] is None
    live, first = page["versions"]
    assert (live["revision"], live["live"], live["recorded"], live["gap"]) == (2, True, True, None)
    assert (live["cause"], live["request_id"], live["bytes"]) == ("put", "my-request", None)
    assert live["actor"] == first["actor"]
    assert live["actor"].startswith("key:")
    assert (first["cause"], first["live"], first["recorded"]) == ("create", False, True)
    assert first["bytes"] == len('{"a": 1}')
    assert first["overwritten_at"] >= first["created_at"]
    assert answer(api("GET", versions(table, "/1")), 200) == first


def test_a_version_is_read_whole_and_by_pointer_as_postgres_wrote_it(api: Api) -> None:
    table = api.table({"b": [1, "x"], "a": 1})
    put(api, table, 0)
    whole = api("GET", versions(table, "/1/data"))
    assert whole.headers["content-type"] == "application/json"
    assert whole.text == '{"a": 1, "b": [1, "x"]}'
    assert api("GET", versions(table, "/1/data"), params={"pointer": "/b/1"}).text == '"x"'
    assert api("GET", versions(table, "/2/data")).json() == 0
    problem(api("GET", versions(table, "/1/data"), params={"pointer": "/no"}), 404, "NOT_FOUND")
    problem(api("GET", versions(table, "/3/data")), 404, "NOT_FOUND")
    problem(api("GET", versions(table, "/0")), 422, "INVALID_INPUT")


def test_versions_are_compared(api: Api) -> None:
    table = api.table({"a": "他走进了废弃仓库", "n": 1})
    put(api, table, {"a": "他走进了荒废工厂", "m": True})
    diff = answer(api("GET", versions(table, "/1/diff")), 200)
    assert (diff["from"], diff["to"], diff["cursor"]) == (1, 2, None)
    changed, removed, added = diff["changes"]
    assert (changed["json_pointer"], changed["kind"], changed["in_string"]) == (
        "/a",
        "changed",
        True,
    )
    assert changed["spans"] == [
        {
            "before_start": 4,
            "before": "废弃仓库",
            "before_chars": 4,
            "after_start": 4,
            "after": "荒废工厂",
            "after_chars": 4,
        }
    ]
    assert (removed["kind"], removed["spans"][0]["before"], removed["spans"][0]["after"]) == (
        "removed",
        "1",
        None,
    )
    assert (added["kind"], added["in_string"]) == ("added", False)
    assert answer(api("GET", versions(table, "/2/diff"), params={"to": 2}), 200)["changes"] == []


def test_a_restored_version_is_a_new_revision_and_is_found_again(api: Api) -> None:
    table = api.table({"a": english(400)})
    tool = api.tool(table)
    put(api, table, {"a": "nothing"})
    restored = api("POST", versions(table, "/1/restore"), headers={"If-Match": '"2"'})
    assert answer(restored, 200)["revision"] == 3
    assert restored.headers["etag"] == '"3"'
    api.parts.work()
    assert api.search(tool, "harbour winter")["results"]
    late = api("POST", versions(table, "/2/restore"), headers={"If-Match": '"2"'})
    problem(late, 409, "CONFLICT")


def test_a_large_version_is_restored_as_an_upload(api: Api) -> None:
    document = {"a": ["x" * 1_000] * 7_000}
    table = api.table({})
    content = json.dumps(document).encode()
    uploads = f"/api/v1/tables/{table['id']}/uploads"
    upload = answer(api("POST", uploads, json={"format": "json", "size": len(content)}), 201)
    api.parts.objects.contents[upload["url"]] = content
    path = f"{uploads}/{upload['upload_id']}"
    answer(api("POST", f"{path}/complete"), 202)
    api.parts.work()
    put(api, table, 1)
    problem(api("GET", versions(table, "/2/data")), 413, "DOCUMENT_TOO_LARGE")
    accepted = api("POST", versions(table, "/2/restore"))
    made = answer(accepted, 202)
    assert (made["status"], made["from_revision"]) == ("importing", 2)
    assert made["bytes"] > 6_000_000
    api.parts.work()
    done = answer(api("GET", accepted.headers["location"]), 200)
    assert (done["status"], done["revision"]) == ("done", 4)
    assert api("GET", f"/api/v1/tables/{table['id']}/data", params={"pointer": "/a/6999"}).json()
    found = answer(api("GET", versions(table)), 200)["versions"]
    assert [each["cause"] for each in found] == ["restore", "put", "import", "create"]
    assert all(each["recorded"] for each in found)


def test_labels_are_given_and_taken(api: Api) -> None:
    table = api.table(1)
    put(api, table, 2)
    labelled = answer(api("PATCH", versions(table, "/1"), json={"label": "初稿"}), 200)
    assert labelled["label"] == "初稿"
    assert answer(api("PATCH", versions(table, "/1"), json={"label": None}), 200)["label"] is None
    for refused in ({}, {"label": ""}, {"label": "a\nb"}, {"label": 7}, {"name": "x"}):
        problem(api("PATCH", versions(table, "/1"), json=refused), 422, "INVALID_INPUT")


def test_a_version_is_erased_or_all_are_but_not_what_is_live(api: Api) -> None:
    table = api.table("one")
    put(api, put(api, table, "two"), "three")
    assert api("DELETE", versions(table, "/1")).status_code == 204
    erased = answer(api("GET", versions(table, "/1")), 200)
    assert (erased["recorded"], erased["gap"]) == (False, "erased")
    assert (erased["bytes"], erased["label"]) == (None, None)
    problem(api("DELETE", versions(table, "/3")), 409, "CONFLICT")
    assert answer(api("GET", versions(table, "/2")), 200)["recorded"]
    assert api("DELETE", versions(table)).status_code == 204
    assert not answer(api("GET", versions(table, "/2")), 200)["recorded"]


def test_a_project_says_how_much_it_keeps(api: Api) -> None:
    path = f"/api/v1/projects/{api.project_id}/history-settings"
    first = api("GET", path)
    assert first.headers["etag"] == '"0"'
    assert answer(first, 200) == {
        "project_id": api.project_id,
        "version": 0,
        "keep_days": 30,
        "keep_count": 100,
        "max_bytes": 2_000_000_000,
    }
    changed = api("PATCH", path, json={"keep_count": 5}, headers={"If-Match": '"0"'})
    assert answer(changed, 200)["keep_count"] == 5
    assert changed.headers["etag"] == '"1"'
    assert answer(api("PATCH", path, json={"keep_days": 9, "keep_count": None}), 200) == {
        **first.json(),
        "version": 2,
        "keep_days": 9,
    }
    problem(api("PATCH", path, json={}, headers={"If-Match": '"0"'}), 409, "CONFLICT")


@pytest.mark.parametrize(
    "body",
    [
        {"keep_days": 0},
        {"keep_count": -1},
        {"max_bytes": 2_000_000_001},
        {"keep": 1},
        {"keep_days": 1.5},
    ],
)
def test_settings_out_of_range_are_refused(reader: Api, body: dict[str, Any]) -> None:
    path = f"/api/v1/projects/{reader.project_id}/history-settings"
    problem(reader("PATCH", path, json=body), 422, "INVALID_INPUT")
