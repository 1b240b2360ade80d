"""Projects and tables over HTTP."""

from __future__ import annotations

import pytest

from tests.builders import english
from tests.web.api import CANARY, Api, answer, problem

DOCUMENT = {"a": {"t": f"{CANARY} text", "list": [1, 2]}, "m~n/o": None, "": {"": True}}


def data(table: dict[str, object]) -> str:
    return f"/api/v1/tables/{table['id']}/data"


def test_a_project_gets_a_key_that_works_and_is_shown_once(api: Api) -> None:
    made = answer(api.internally("POST", "/api/v1/projects", json={"name": "新项目"}), 201)
    assert made.keys() == {"id", "name", "api_key"}
    assert made["name"] == "新项目"
    assert len(made["api_key"]) >= 43
    table = {"project_id": made["id"], "name": "t", "data": 1}
    assert api("POST", "/api/v1/tables", key=made["api_key"], json=table).status_code == 201


def test_a_table_is_made_read_and_deleted(api: Api) -> None:
    table = api.table(DOCUMENT, description="words")
    assert (table["project_id"], table["name"], table["description"], table["revision"]) == (
        api.project_id,
        "table",
        "words",
        1,
    )
    path = f"/api/v1/tables/{table['id']}"
    read = api("GET", path)
    assert answer(read, 200) == table
    assert read.headers["etag"] == '"1"'
    assert api("DELETE", path).status_code == 204
    for method, where in (
        ("GET", path),
        ("DELETE", path),
        ("GET", data(table)),
        ("PUT", data(table)),
    ):
        problem(api(method, where, json=1 if method == "PUT" else None), 404, "NOT_FOUND")


def test_a_document_without_data_is_incomplete(api: Api) -> None:
    body = {"project_id": api.project_id, "name": "t"}
    problem(api("POST", "/api/v1/tables", json=body), 422, "INVALID_INPUT")


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("", DOCUMENT), ("/a/list/1", 2), ("/m~0n~1o", None), ("/", {"": True}), ("//", True)],
)
def test_a_part_of_a_document_is_read_by_its_pointer(api: Api, pointer: str, value: object) -> None:
    table = api.table(DOCUMENT)
    read = api("GET", data(table), params={"pointer": pointer})
    assert (read.status_code, read.json(), read.headers["etag"]) == (200, value, '"1"')


@pytest.mark.parametrize(
    "pointer",
    [
        "/no",
        "/a/list/2",
        "/a/list/-1",
        "/a/list/00",
        "/a/list/٠",
        "/a/t/0",
        "/a/list/" + "9" * 5000,
    ],
    ids=lambda pointer: pointer[:12],
)
def test_a_pointer_that_leads_nowhere_is_404(api: Api, pointer: str) -> None:
    table = api.table(DOCUMENT)
    problem(api("GET", data(table), params={"pointer": pointer}), 404, "NOT_FOUND")
    written = api("PUT", data(table), params={"pointer": f"{pointer}/x"}, json=1)
    problem(written, 404, "NOT_FOUND")


@pytest.mark.parametrize("pointer", ["a", "#/a", "/~2", "/a~"])
def test_what_is_no_pointer_is_422(api: Api, pointer: str) -> None:
    table = api.table(DOCUMENT)
    for method in ("GET", "PUT"):
        response = api(method, data(table), params={"pointer": pointer}, json=1)
        problem(response, 422, "INVALID_POINTER")


def test_a_change_is_compared_at_once(api: Api) -> None:
    table = api.table({"a": english(200)})
    tool = api.tool(table)
    before = api.search(tool, "harbour ferry")["results"]
    sentence = f"{CANARY} a lighthouse keeper counted the comets"
    assert api("PUT", data(table), json={"a": english(200) + sentence}).status_code == 200
    api.parts.work()
    after = api.search(tool, "lighthouse keeper comets")["results"]
    assert sentence[-20:] in after[0]["chunk"]["chunk_text"]
    assert "stale" not in after[0]
    old = {hit["chunk"]["content_hash"] for hit in before}
    assert old.isdisjoint(hit["chunk"]["content_hash"] for hit in after)


def test_a_document_or_a_part_of_it_is_replaced(api: Api) -> None:
    table = api.table(DOCUMENT)
    changed = api("PUT", data(table), params={"pointer": "/a/list/0"}, json={"new": "中"})
    assert answer(changed, 200)["revision"] == 2
    assert changed.headers["etag"] == '"2"'
    assert api("GET", data(table), params={"pointer": "/a/list"}).json() == [{"new": "中"}, 2]
    assert answer(api("PUT", data(table), json=[1]), 200)["revision"] == 3
    assert api("GET", data(table)).json() == [1]


@pytest.mark.parametrize("if_match", ['"1"', ' "1" '])
def test_a_change_may_name_the_revision_that_it_is_based_on(api: Api, if_match: str) -> None:
    table = api.table(1)
    response = api("PUT", data(table), json=2, headers={"if-match": if_match})
    assert answer(response, 200)["revision"] == 2
    stale = api("PUT", data(table), json=3, headers={"if-match": if_match})
    problem(stale, 409, "CONFLICT")
    partial = api("PUT", data(table), params={"pointer": ""}, json=3, headers={"if-match": '"9"'})
    problem(partial, 409, "CONFLICT")
    assert api("GET", data(table)).json() == 2


@pytest.mark.parametrize(
    "if_match",
    ["", "x", "1", "-1", "true", "１", "*", '"1', '1"', '"1", "2"', 'w/"1"', "W/1", '"1 "', '""1"'],
)
def test_a_revision_that_is_none_is_refused(api: Api, if_match: str) -> None:
    table = api.table(1)
    headers = {"if-match": if_match.encode()}
    problem(api("PUT", data(table), json=2, headers=headers), 422, "INVALID_INPUT")
    assert api("GET", data(table)).json() == 1


@pytest.mark.parametrize("if_match", ['W/"1"', '"01"', '"x"', '""', '"1.0"', f'"{"9" * 30}"'])
def test_a_tag_that_no_revision_has_never_matches(api: Api, if_match: str) -> None:
    table = api.table({"a": 1})
    headers = {"if-match": if_match}
    problem(api("PUT", data(table), json=2, headers=headers), 412, "PRECONDITION_FAILED")
    assert api("GET", data(table)).json() == {"a": 1}


def test_two_revisions_at_once_are_none(api: Api) -> None:
    table = api.table(1)
    both = [("if-match", '"1"'), ("if-match", '"1"'), ("authorization", f"Bearer {api.key}")]
    response = api.http.put(data(table), json=2, headers=both)
    problem(response, 422, "INVALID_INPUT")


def test_a_patch_changes_members_and_removes_those_that_are_null(api: Api) -> None:
    table = api.table(DOCUMENT)
    patch = {"t": None, "list": [3], "new": {"x": None, "y": 1}}
    changed = api("PATCH", data(table), params={"pointer": "/a"}, json=patch)
    assert answer(changed, 200)["revision"] == 2
    patched = api("GET", data(table)).json()
    assert patched == {**DOCUMENT, "a": {"list": [3], "new": {"y": 1}}}
    stale = api("PATCH", data(table), json={}, headers={"if-match": '"1"'})
    problem(stale, 409, "CONFLICT")


@pytest.mark.parametrize("text", ["x" * 3_000_100, '"' * 800_000], ids=["long", "quotes"])
def test_a_document_that_fits_no_answer_is_read_in_parts(api: Api, text: str) -> None:
    path = data(api.table({"a": text, "c": [1]}))
    assert api("GET", path).json() == {"a": text, "c": [1]}
    patched = answer(api("PATCH", path, json={"b": text}), 200)
    problem(api("GET", path), 413, "DOCUMENT_TOO_LARGE")
    part = api("GET", path, params={"pointer": "/a"})
    assert part.json() == text
    assert part.headers["etag"] == f'"{patched["revision"]}"'
    assert api("GET", path, params={"pointer": "/c/0"}).json() == 1


def test_a_table_says_where_its_owner_shows_its_places(api: Api) -> None:
    url = "https://wiki.example/{table_id}?at={pointer}&from={start}&to={end}#{cite}"
    table = api.table(DOCUMENT, url_template=url)
    assert (table["url_template"], api.table(1)["url_template"]) == (url, None)
    path = f"/api/v1/tables/{table['id']}"
    other = "http://localhost:3000/{cite}"
    changed = api("PATCH", path, json={"url_template": other})
    assert answer(changed, 200) == {**table, "url_template": other}
    assert changed.headers["etag"] == '"1"'
    assert answer(api("GET", path), 200) == {**table, "url_template": other}
    assert answer(api("PATCH", path, json={"url_template": None}), 200)["url_template"] is None
    problem(api.stranger()("PATCH", path, json={"url_template": url}), 404, "NOT_FOUND")
    assert api("DELETE", path).status_code == 204
    problem(api("PATCH", path, json={"url_template": url}), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    "template",
    [
        "",
        " ",
        "/{table_id}",
        "javascript:alert(1)",
        "https://{pointer}/",
        "https://user:password@a.example/",
        "https://a.example/{secret}",
        "https://a.example/{cite",
        "https://a.example/\n{cite}",
        "https://a.example/\u202e{cite}",
        "https://a.example/" + "x" * 2_000,
        7,
        ["https://a.example/"],
    ],
)
def test_what_is_no_template_of_addresses_is_refused(api: Api, template: object) -> None:
    made = api.table(1)
    body = {"url_template": template}
    refused = api("PATCH", f"/api/v1/tables/{made['id']}", json=body)
    assert "url_template" in problem(refused, 422, "INVALID_INPUT")["detail"]
    new = {"project_id": api.project_id, "name": "t", "data": 1, **body}
    problem(api("POST", "/api/v1/tables", json=new), 422, "INVALID_INPUT")
    problem(api("PATCH", f"/api/v1/tables/{made['id']}", json={}), 422, "INVALID_INPUT")
