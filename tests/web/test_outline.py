"""What is directly below a place of a document of any size, a page at a time."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.catalog.outline import LOOKED_AT
from tests.builders import english
from tests.web.api import SMALL, Api, answer, problem

DOCUMENT = (
    '{"id": 9223372036854775807, "price": 1.10, "on": true, "none": null, "name": "short",'
    ' "list": [], "rows": {"10": 1, "9": 2}, "a/b~c": {"x": 1}}'
)


def outline(api: Api, table: dict[str, Any], **body: object) -> dict[str, Any]:
    path = f"/api/v1/tables/{table['id']}/outline"
    by_body = api("POST", path, json=body)
    query = {"pointer" if name == "json_pointer" else name: body[name] for name in body}
    by_query = api("GET", path, params=query)
    assert by_body.json() == by_query.json()
    assert by_body.headers["etag"] == by_query.headers["etag"] == f'"{by_body.json()["revision"]}"'
    return answer(by_body, 200)


def keys(page: dict[str, Any]) -> list[str]:
    return [child["key"] for child in page["children"]]


def walked(api: Api, table: dict[str, Any], **body: object) -> list[list[str]]:
    """The keys of each page, to the last one."""
    pages, cursor = [], "0"
    while cursor is not None:
        page = outline(api, table, cursor=cursor, **body)
        pages.append(keys(page))
        cursor = page["cursor"]
    return pages


@pytest.fixture
def table(api: Api) -> dict[str, Any]:
    body = f'{{"project_id": {api.project_id}, "name": "table", "data": {DOCUMENT}}}'
    return answer(api("POST", "/api/v1/tables", content=body.encode()), 201)


def test_children_are_shown_with_kind_length_and_every_digit(
    api: Api, table: dict[str, Any]
) -> None:
    page = outline(api, table)
    assert (page["type"], page["length"]) == ("object", 8)
    assert (page["index"], page["cursor"]) == (None, None)
    shown = {
        child["json_pointer"]: (child["type"], child["length"], child["text"])
        for child in page["children"]
    }
    assert shown == {
        "/id": ("number", 19, "9223372036854775807"),
        "/on": ("boolean", None, "true"),
        "/list": ("array", 0, None),
        "/name": ("string", 5, "short"),
        "/none": ("null", None, "null"),
        "/rows": ("object", 2, None),
        "/a~1b~0c": ("object", 1, None),
        "/price": ("number", 4, "1.10"),
    }
    read = answer(api("GET", f"/api/v1/tables/{table['id']}/data"), 200)
    assert keys(page) == list(read)
    assert all(child["bytes"] > 0 for child in page["children"])
    assert keys(outline(api, table, json_pointer="/a~1b~0c")) == ["x"]
    assert keys(outline(api, table, json_pointer="/rows")) == ["9", "10"]


def test_a_scalar_has_no_children_and_a_long_text_is_cut(api: Api) -> None:
    table = api.table({"s": "🐡" * 500, "n": 7})
    page = outline(api, table)
    long = next(child for child in page["children"] if child["key"] == "s")
    assert (long["length"], long["text"]) == (500, "🐡" * 120)
    scalar = outline(api, table, json_pointer="/n")
    assert (scalar["type"], scalar["length"], scalar["children"]) == ("number", 1, [])


def test_pages_one_behind_the_other_are_all_children(api: Api) -> None:
    table = api.table({"in": [*range(450)]})
    pages = walked(api, table, json_pointer="/in")
    assert [len(page) for page in pages] == [200, 200, 50]
    assert [key for page in pages for key in page] == [str(number) for number in range(450)]
    exact = walked(api, table, json_pointer="/in", limit=150)
    assert [len(page) for page in exact] == [150, 150, 150]


def test_a_key_is_found_by_a_part_of_it(api: Api, table: dict[str, Any]) -> None:
    assert keys(outline(api, table, key="N")) == ["on", "name", "none"]
    many = api.table([*range(450)])
    assert keys(outline(api, many, key="449")) == ["449"]
    assert [keys(outline(api, many, key=part)) for part in ("450", "4x", "01")] == [[], [], []]
    named = api.table({f"k{n:03}": n for n in range(450)})
    assert sum(map(len, walked(api, named, key="9", limit=7))) == 81


def test_the_strings_of_an_index_are_told_of(api: Api) -> None:
    table = api.table({"a": {"t": english(240), "u": english(240)}, "ab": english(350), "c": "x"})
    tool = api.tool(table)
    page = outline(api, table)
    assert (page["index"], page["tool_id"]) == ("tool", tool["tool_id"])
    assert [(c["key"], c["large_strings"], c["problems"]) for c in page["children"]] == [
        ("a", 2, 0),
        ("c", 0, 0),
        ("ab", 1, 0),
    ]
    text = page["children"][2]["string"]
    assert (text["state"], text["attempts"], text["last_error"]) == ("indexed", 0, None)
    assert text["chunks_count"] > 0
    assert [child["string"] for child in page["children"][:2]] == [None, None]


def test_children_with_large_strings_or_problems_only(api: Api) -> None:
    table = api.table({"rows": [{"t": english(240)} if n % 50 == 7 else n for n in range(250)]})
    tool = api.tool(table)
    wanted = ["7", "57", "107", "157", "207"]
    rows = {"json_pointer": "/rows"}
    assert keys(outline(api, table, only="large", **rows)) == wanted
    assert walked(api, table, only="large", limit=2, **rows) == [
        wanted[:2],
        wanted[2:4],
        wanted[4:],
    ]
    assert keys(outline(api, table, only="problem", **rows)) == []
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE node SET state = 'quarantined', attempt = 8 "
            "WHERE table_id = :table AND json_pointer = '/rows/107/t'",
            table=table["id"],
        )
    page = outline(api, table, only="problem", tool_id=tool["tool_id"], **rows)
    assert [(c["key"], c["problems"], c["large_strings"]) for c in page["children"]] == [
        ("107", 1, 1)
    ]
    text = outline(api, table, json_pointer="/rows/107")["children"][0]["string"]
    assert (text["state"], text["attempts"]) == ("quarantined", 8)


def test_a_request_with_only_looks_at_so_many_children(api: Api) -> None:
    large = (3, 2 * LOOKED_AT + 5)
    table = api.table([english(240) if n in large else n for n in range(3 * LOOKED_AT + 9)])
    api.tool(table)
    assert walked(api, table, only="large") == [["3"], [], [str(large[1])], []]


def test_without_a_tool_the_index_of_the_project_tells(api: Api) -> None:
    table, other = (api.table({"a": english(12_000), "b": 1}) for _ in range(2))
    before = outline(api, table)
    assert (before["index"], before["children"][0]["large_strings"]) == (None, None)
    assert outline(api, table, only="large")["children"] == []
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index"), 202)
    api.parts.work()
    page = outline(api, table)
    assert (page["index"], page["tool_id"]) == ("project", None)
    assert [child["large_strings"] for child in page["children"]] == [1, 0]
    assert keys(outline(api, other, only="large")) == ["a"]


def test_a_tool_of_another_table_is_unknown(api: Api) -> None:
    table, other = api.table({"a": 1}), api.table({"a": 1})
    tool = api.unindexed_tool(other, SMALL)["tool_id"]
    path = f"/api/v1/tables/{table['id']}/outline"
    problem(api("POST", path, json={"tool_id": tool}), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        *(({"cursor": value}, 422, "CURSOR_INVALID") for value in ("x", "-1")),
        *(({"cursor": value}, 422, "INVALID_INPUT") for value in (0, "9" * 30)),
        *(({"limit": value}, 422, "INVALID_INPUT") for value in (201, 0)),
        *(({name: value}, 422, "INVALID_INPUT") for name, value in (("only", "all"), ("key", ""))),
        ({"json_pointer": "a"}, 422, "INVALID_POINTER"),
        ({"json_pointer": "/b"}, 404, "NOT_FOUND"),
        ({"json_pointer": "/a/00"}, 404, "NOT_FOUND"),
    ],
)
def test_a_broken_request_is_refused(
    reader: Api, body: dict[str, object], status: int, code: str
) -> None:
    table = reader.table({"a": [1]})
    path = f"/api/v1/tables/{table['id']}/outline"
    problem(reader("POST", path, json=body), status, code)


def test_a_page_of_long_keys_fits_into_an_answer(api: Api) -> None:
    long = {f"{n}" + "章" * 100_000: n for n in range(9)}
    table = api.table(long)
    pages = walked(api, table)
    assert [len(page) for page in pages] == [2, 2, 2, 2, 1]
    huge = api.table({"章" * 300_000: 1})
    refused = api("POST", f"/api/v1/tables/{huge['id']}/outline", json={})
    problem(refused, 413, "DOCUMENT_TOO_LARGE")


def test_of_long_keys_and_pointers_few_are_looked_at(api: Api) -> None:
    keys_of_some_length = api.table({f"{n:02}" + "k" * 90_000: n for n in range(30)})
    api.tool(keys_of_some_length)
    pages = walked(api, keys_of_some_length, only="large")
    assert pages == [[], []]
    deep = "p" * 4_000
    below = api.table({deep: {f"k{n:03}": n for n in range(600)}})
    api.tool(below)
    page = outline(api, below, json_pointer=f"/{deep}", only="large")
    assert (keys(page), page["cursor"]) == ([], "499")
