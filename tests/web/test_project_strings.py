"""The strings of a project's own index, one by one, and trying again those in quarantine."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.indexing.strings import MAX_CURSOR
from tests.web.api import Api, answer, problem

ERROR = {
    "code": "EMBEDDING_REJECTED",
    "message": "m",
    "retryable": False,
    "at": "2026-11-22T10:00:00+00:00",
}


def path(api: Api, end: str) -> str:
    return f"/api/v1/projects/{api.project_id}/search-index{end}"


def nodes(api: Api, **query: object) -> dict[str, Any]:
    return answer(api("GET", path(api, "/nodes"), params=query), 200)


def places(page: dict[str, Any]) -> list[tuple[int, str]]:
    return [(node["table_id"], node["json_pointer"]) for node in page["nodes"]]


def walked(api: Api, **query: object) -> list[list[tuple[int, str]]]:
    pages, page = [], nodes(api, **query)
    while True:
        pages.append(places(page))
        if page["cursor"] is None:
            return pages
        page = nodes(api, **query, cursor=page["cursor"])


def quarantine(api: Api, table_id: int, *pointers: str) -> None:
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            """
            UPDATE node SET state = 'quarantined', attempt = 8, last_error = CAST(:error AS jsonb)
            WHERE table_id = :table AND json_pointer = ANY(CAST(:pointers AS text[]))
            """,
            error=json.dumps(ERROR),
            table=table_id,
            pointers=list(pointers),
        )


def retried(api: Api, body: object = None) -> tuple[int, int]:
    """How many are tried again, and how many are left."""
    response = (
        api("POST", path(api, "/retry"), json=body) if body else api("POST", path(api, "/retry"))
    )
    reported = answer(response, 200)
    return reported["nodes"], reported["left"]


@pytest.fixture
def tables(api: Api) -> list[int]:
    """Two tables with three strings each, indexed for the project."""
    ids = [api.table({"a": "one", "b": ["two", "three"]})["id"] for _ in range(2)]
    answer(api("POST", path(api, "")), 202)
    api.parts.work()
    return ids


POINTERS = ["/a", "/b/0", "/b/1"]


def test_strings_of_all_tables_are_listed_table_by_table(api: Api, tables: list[int]) -> None:
    every = [(table, pointer) for table in tables for pointer in POINTERS]
    page = nodes(api)
    assert (page["project_id"], page["most_attempts"]) == (api.project_id, 8)
    assert (places(page), page["cursor"]) == (every, None)
    assert walked(api, limit=2) == [every[:2], every[2:4], every[4:]]
    assert walked(api, limit=4, state="indexed") == [every[:4], every[4:]]
    assert walked(api, limit=2, table_id=tables[1]) == [every[3:5], every[5:]]
    assert nodes(api, state="claimed")["nodes"] == []
    [first] = nodes(api, limit=1)["nodes"]
    assert (first["state"], first["char_count"], first["mended_by"]) == ("indexed", 3, None)
    tool = api.unindexed_tool({"id": tables[0]}, {"chunk_threshold": 5})
    of_tool = answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index/nodes"), 200)
    assert places(of_tool) == [(tables[0], "/b/1")]
    assert of_tool["nodes"][0].keys() == first.keys()


def test_what_nobody_takes_up_is_found_in_whatever_table(api: Api, tables: list[int]) -> None:
    quarantine(api, tables[0], "/b/0")
    quarantine(api, tables[1], "/a", "/b/1")
    failed = [(tables[0], "/b/0"), (tables[1], "/a"), (tables[1], "/b/1")]
    assert walked(api, state="quarantined", limit=1) == [[each] for each in failed]
    page = nodes(api, state="quarantined", table_id=tables[1])
    assert places(page) == failed[1:]
    assert {node["last_error"]["code"] for node in page["nodes"]} == {"EMBEDDING_REJECTED"}
    assert {node["mended_by"] for node in page["nodes"]} == {"you"}


def test_a_deleted_table_is_not_listed(api: Api, tables: list[int]) -> None:
    quarantine(api, tables[0], *POINTERS)
    assert api("DELETE", f"/api/v1/tables/{tables[0]}").status_code == 204
    shown = [place for page in walked(api, limit=2) for place in page]
    assert shown == [(tables[1], pointer) for pointer in POINTERS]
    assert nodes(api, state="quarantined")["nodes"] == []
    problem(api("GET", path(api, f"/nodes?table_id={tables[0]}")), 404, "NOT_FOUND")


def test_one_string_one_table_or_all_are_tried_again(api: Api, tables: list[int]) -> None:
    for table in tables:
        quarantine(api, table, *POINTERS)
    assert retried(api, {"table_id": tables[0], "json_pointer": "/b/0"}) == (1, 0)
    assert retried(api, {"table_id": tables[0], "json_pointer": "/b"}) == (0, 0)
    assert retried(api, {"table_id": tables[0]}) == (2, 0)
    assert len(nodes(api, state="quarantined")["nodes"]) == 3
    assert retried(api) == (3, 0)
    api.parts.work()
    assert nodes(api, state="quarantined")["nodes"] == []
    assert answer(api("GET", path(api, "")), 200)["nodes"] == {"indexed": 6}


@pytest.mark.parametrize("cursor", ["x", "1.1", "0.1.", "1.0.", "1.1.****", "9" * 19 + ".1.", "."])
def test_a_broken_cursor_is_refused(reader: Api, cursor: str) -> None:
    api = reader.stranger()
    answer(api("POST", path(api, "")), 202)
    refused = api("GET", path(api, "/nodes"), params={"cursor": cursor})
    problem(refused, 422, "CURSOR_INVALID")


def test_a_cursor_belongs_to_its_table_and_is_short(api: Api) -> None:
    ids = [api.table({"章" * 3_000: "x", "z": "x"})["id"] for _ in range(2)]
    answer(api("POST", path(api, "")), 202)
    api.parts.work()
    cursor = nodes(api, limit=1, table_id=ids[0])["cursor"]
    assert len(cursor) <= MAX_CURSOR
    assert len(nodes(api, table_id=ids[0], cursor=cursor)["nodes"]) == 1
    assert len(nodes(api, cursor=cursor)["nodes"]) == 3
    refused = api("GET", path(api, "/nodes"), params={"cursor": cursor, "table_id": ids[1]})
    problem(refused, 422, "CURSOR_INVALID")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"json_pointer": "/a"}, 422, "INVALID_INPUT"),
        ({"json_pointer": ""}, 422, "INVALID_INPUT"),
        ({"table_id": None}, 422, "INVALID_INPUT"),
        ({"table_id": 0}, 422, "INVALID_INPUT"),
        ({"table_id": 1, "json_pointer": "a"}, 422, "INVALID_POINTER"),
        ({"table_id": 10**9}, 404, "NOT_FOUND"),
    ],
)
def test_a_broken_request_to_try_again_is_refused(
    reader: Api, body: dict[str, object], status: int, code: str
) -> None:
    api = reader.stranger()
    answer(api("POST", path(api, "")), 202)
    problem(api("POST", path(api, "/retry"), json=body), status, code)


def test_without_an_index_there_are_no_strings(api: Api) -> None:
    problem(api("GET", path(api, "/nodes")), 409, "PROJECT_INDEX_OFF")
    problem(api("POST", path(api, "/retry")), 409, "PROJECT_INDEX_OFF")
