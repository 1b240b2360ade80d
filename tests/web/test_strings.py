"""Strings of a tool or a project one by one: state, reason, who mends it, where the chunks are."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from context_search.indexing import strings
from tests.builders import english
from tests.web.api import SMALL, Api, answer, problem

TEXT = english(300)


def nodes(api: Api, tool: dict[str, Any], query: str = "") -> dict[str, Any]:
    path = f"/api/v1/tools/{tool['tool_id']}/search-index/nodes{query}"
    return answer(api("GET", path), 200)


def walked(api: Api, tool: dict[str, Any], query: str) -> list[list[str]]:
    pages, page = [], nodes(api, tool, f"?{query}")
    while True:
        pages.append([node["json_pointer"] for node in page["nodes"]])
        if page["cursor"] is None:
            return pages
        page = nodes(api, tool, f"?{query}&cursor={page['cursor']}")


def chunks(api: Api, tool: dict[str, Any], pointer: str, **more: object) -> Any:
    body = {"json_pointer": pointer, **more}
    return api("POST", f"/api/v1/tools/{tool['tool_id']}/chunks", json=body)


def set_state(api: Api, table: dict[str, Any], pointer: str, state: str, code: str) -> None:
    error = {"code": code, "message": "m", "retryable": False, "at": "2026-11-22T10:00:00+00:00"}
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE node SET state = :state, attempt = 8, last_error = CAST(:error AS jsonb) "
            "WHERE table_id = :table AND json_pointer = :pointer",
            state=state,
            error=json.dumps(error),
            table=table["id"],
            pointer=pointer,
        )


def test_strings_of_a_tool_are_listed_by_pointer(api: Api) -> None:
    table = api.table({"a": [TEXT] * 12, "b": TEXT, "ab": TEXT})
    tool = api.tool(table, json_path="/a")
    whole = api.tool(table)
    pointers = sorted(f"/a/{number}" for number in range(12))
    assert walked(api, tool, "limit=5") == [pointers[:5], pointers[5:10], pointers[10:]]
    assert walked(api, tool, "limit=6&state=indexed") == [pointers[:6], pointers[6:]]
    assert walked(api, whole, "limit=200") == [[*pointers, "/ab", "/b"]]
    [first] = nodes(api, tool, "?limit=1")["nodes"]
    assert (first["state"], first["char_count"], first["attempts"]) == ("indexed", 300, 0)
    assert (first["since"], first["mended_by"]) == (first["indexed_at"], None)
    assert first["chunks_count"] > 1


def test_each_state_has_its_page_and_who_mends_it(api: Api) -> None:
    table = api.table({str(number): TEXT for number in range(5)})
    tool = api.tool(table)
    set_state(api, table, "/0", "quarantined", "EMBEDDING_REJECTED")
    set_state(api, table, "/1", "quarantined", "ATTEMPTS_EXHAUSTED")
    set_state(api, table, "/2", "skipped", "NODE_TOO_LARGE")
    set_state(api, table, "/3", "queued", "EMBEDDING_UNAVAILABLE")
    page = nodes(api, tool)
    assert page["most_attempts"] == 8
    assert [(node["state"], node["mended_by"]) for node in page["nodes"]] == [
        ("quarantined", "you"),
        ("quarantined", "operator"),
        ("skipped", "you"),
        ("queued", "itself"),
        ("indexed", None),
    ]
    quarantined = nodes(api, tool, "?state=quarantined")
    assert quarantined["nodes"] == page["nodes"][:2]
    assert quarantined["nodes"][0]["since"] == "2026-11-22T10:00:00+00:00"
    assert quarantined["nodes"][0]["last_error"]["code"] == "EMBEDDING_REJECTED"
    queued = nodes(api, tool, "?state=queued")["nodes"][0]
    assert queued["next_attempt_at"] is not None
    assert queued["since"] == queued["changed_at"]
    assert walked(api, tool, "state=quarantined&limit=1") == [["/0"], ["/1"]]
    assert nodes(api, tool, "?state=claimed")["nodes"] == []


def test_a_request_for_indexed_strings_looks_at_so_many(api: Api) -> None:
    numbers = range(10_000, 10_000 + strings.LOOKED_AT + 9)
    table = api.table({str(number): TEXT for number in numbers})
    tool = api.tool(table)
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE node SET state = 'quarantined' WHERE table_id = :table AND json_pointer < :end",
            table=table["id"],
            end=f"/{numbers[-9]}",
        )
    last = [f"/{number}" for number in numbers[-9:]]
    assert walked(api, tool, "state=indexed&limit=9") == [[], last]


@pytest.mark.parametrize(
    "cursor", ["x", "1", "0.", "1.****", "1.A", "1._w", "9" * 19 + ".", "1.AA"]
)
def test_a_broken_cursor_is_refused(reader: Api, cursor: str) -> None:
    tool = reader.unindexed_tool(reader.table({"a": TEXT}))
    path = f"/api/v1/tools/{tool['tool_id']}/search-index/nodes"
    problem(reader("GET", path, params={"cursor": cursor}), 422, "CURSOR_INVALID")


def test_a_cursor_shows_where_it_ends_and_is_short(api: Api) -> None:
    table = api.table({"章" * 3_000: TEXT, "z": TEXT})
    tool = api.tool(table)
    cursor = nodes(api, tool, "?limit=1")["cursor"]
    place = cursor.partition(".")[2]
    assert base64.urlsafe_b64decode(place + "=" * (-len(place) % 4)).decode() in (
        "/z",
        "/" + "章" * 199,
    )
    assert len(cursor) <= strings.MAX_CURSOR
    too_long = f"/api/v1/tools/{tool['tool_id']}/search-index/nodes?cursor=1.{'A' * 1_200}"
    problem(api("GET", too_long), 422, "INVALID_INPUT")


def test_chunks_are_slices_of_the_text(api: Api) -> None:
    table = api.table({"a": "🐡 " + TEXT})
    tool = api.tool(table)
    found = answer(chunks(api, tool, "/a"), 200)
    window = {"json_pointer": "/a"}
    text = answer(api("POST", f"/api/v1/tables/{table['id']}/text", json=window), 200)
    assert (found["hash"], found["char_count"]) == (text["hash"], text["total"])
    assert (found["is_current"], found["state"], found["cursor"]) == (True, "indexed", None)
    spans = found["chunks"]
    assert [span["index"] for span in spans] == [*range(found["chunks_count"])]
    assert all(span["present"] and span["windows"] == 1 for span in spans)
    assert (spans[0]["start"], spans[-1]["end"]) == (0, text["total"])
    hits = api.search(tool, "harbour")["results"] + api.search(tool, "the")["results"]
    assert hits
    slices = {text["text"][span["start"] : span["end"]] for span in spans}
    assert {hit["chunk"]["chunk_text"] for hit in hits} <= slices


def test_chunks_are_found_from_any_character_on(api: Api) -> None:
    table = api.table({"a": english(4_000)})
    tool = api.tool(table)
    whole = answer(chunks(api, tool, "/a"), 200)["chunks"]
    assert len(whole) > 20
    for char in (0, 1, 99, 100, 1_234, 2_000, 3_998, 3_999):
        found = answer(chunks(api, tool, "/a", **{"from": char}), 200)["chunks"]
        assert found == [span for span in whole if span["end"] > char]
    assert answer(chunks(api, tool, "/a", **{"from": 4_000}), 200)["chunks"] == []
    first = answer(chunks(api, tool, "/a", limit=7), 200)
    then = answer(chunks(api, tool, "/a", limit=7, cursor=first["cursor"]), 200)
    assert first["chunks"] + then["chunks"] == whole[:14]
    rest = answer(chunks(api, tool, "/a", cursor=then["cursor"]), 200)
    assert (rest["chunks"], rest["cursor"]) == (whole[14:], None)


def test_while_a_string_changes_its_old_chunks_say_so(api: Api) -> None:
    table = api.table({"a": TEXT})
    tool = api.unindexed_tool(table)
    empty = answer(chunks(api, tool, "/a"), 200)
    assert (empty["chunks"], empty["chunks_count"], empty["is_current"]) == ([], None, False)
    assert (empty["hash"], empty["state"]) == (None, "queued")
    api.parts.work()
    before = answer(chunks(api, tool, "/a"), 200)
    api("PUT", f"/api/v1/tables/{table['id']}/data?pointer=/a", json=english(500))
    text = answer(
        api("POST", f"/api/v1/tables/{table['id']}/text", json={"json_pointer": "/a"}), 200
    )
    during = answer(chunks(api, tool, "/a"), 200)
    assert during["hash"] == before["hash"] != text["hash"]
    api.parts.work()
    after = answer(chunks(api, tool, "/a"), 200)
    assert (after["hash"], after["is_current"]) == (text["hash"], True)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"json_pointer": "a"}, 422, "INVALID_POINTER"),
        ({"json_pointer": "/b"}, 404, "NOT_FOUND"),
        ({"json_pointer": "/in/short"}, 404, "NOT_FOUND"),
        ({"json_pointer": "/out"}, 404, "NOT_FOUND"),
        ({"cursor": "x"}, 422, "CURSOR_INVALID"),
        ({"cursor": 1}, 422, "INVALID_INPUT"),
        ({"limit": 1_001}, 422, "INVALID_INPUT"),
        ({"from": -1}, 422, "INVALID_INPUT"),
        ({"from_": 1}, 422, "INVALID_INPUT"),
    ],
)
def test_a_broken_request_for_chunks_is_refused(
    reader: Api, body: dict[str, object], status: int, code: str
) -> None:
    table = reader.table({"in": {"a": TEXT, "short": "x"}, "out": TEXT})
    reader.tool(table, SMALL)
    tool = reader.tool(table, json_path="/in")
    path = f"/api/v1/tools/{tool['tool_id']}/chunks"
    problem(reader("POST", path, json={"json_pointer": "/in/a", **body}), status, code)


# ---- Of all tables of a project.


def path(api: Api, end: str) -> str:
    return f"/api/v1/projects/{api.project_id}/search-index{end}"


def all_nodes(api: Api, **query: object) -> dict[str, Any]:
    return answer(api("GET", path(api, "/nodes"), params=query), 200)


def places(page: dict[str, Any]) -> list[tuple[int, str]]:
    return [(node["table_id"], node["json_pointer"]) for node in page["nodes"]]


def all_walked(api: Api, **query: object) -> list[list[tuple[int, str]]]:
    pages, page = [], all_nodes(api, **query)
    while True:
        pages.append(places(page))
        if page["cursor"] is None:
            return pages
        page = all_nodes(api, **query, cursor=page["cursor"])


def quarantine(api: Api, table_id: int, *pointers: str) -> None:
    for pointer in pointers:
        set_state(api, {"id": table_id}, pointer, "quarantined", "EMBEDDING_REJECTED")


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
    page = all_nodes(api)
    assert (page["project_id"], page["most_attempts"]) == (api.project_id, 8)
    assert (places(page), page["cursor"]) == (every, None)
    assert all_walked(api, limit=2) == [every[:2], every[2:4], every[4:]]
    assert all_walked(api, limit=4, state="indexed") == [every[:4], every[4:]]
    assert all_walked(api, limit=2, table_id=tables[1]) == [every[3:5], every[5:]]
    assert all_nodes(api, state="claimed")["nodes"] == []
    [first] = all_nodes(api, limit=1)["nodes"]
    assert (first["state"], first["char_count"], first["mended_by"]) == ("indexed", 3, None)
    tool = api.unindexed_tool({"id": tables[0]}, {"chunk_threshold": 5})
    of_tool = answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index/nodes"), 200)
    assert places(of_tool) == [(tables[0], "/b/1")]
    assert of_tool["nodes"][0].keys() == first.keys()


def test_what_nobody_takes_up_is_found_in_whatever_table(api: Api, tables: list[int]) -> None:
    quarantine(api, tables[0], "/b/0")
    quarantine(api, tables[1], "/a", "/b/1")
    failed = [(tables[0], "/b/0"), (tables[1], "/a"), (tables[1], "/b/1")]
    assert all_walked(api, state="quarantined", limit=1) == [[each] for each in failed]
    page = all_nodes(api, state="quarantined", table_id=tables[1])
    assert places(page) == failed[1:]
    assert {node["last_error"]["code"] for node in page["nodes"]} == {"EMBEDDING_REJECTED"}
    assert {node["mended_by"] for node in page["nodes"]} == {"you"}


def test_a_deleted_table_is_not_listed(api: Api, tables: list[int]) -> None:
    quarantine(api, tables[0], *POINTERS)
    assert api("DELETE", f"/api/v1/tables/{tables[0]}").status_code == 204
    shown = [place for page in all_walked(api, limit=2) for place in page]
    assert shown == [(tables[1], pointer) for pointer in POINTERS]
    assert all_nodes(api, state="quarantined")["nodes"] == []
    problem(api("GET", path(api, f"/nodes?table_id={tables[0]}")), 404, "NOT_FOUND")


def test_one_string_one_table_or_all_are_tried_again(api: Api, tables: list[int]) -> None:
    for table in tables:
        quarantine(api, table, *POINTERS)
    assert retried(api, {"table_id": tables[0], "json_pointer": "/b/0"}) == (1, 0)
    assert retried(api, {"table_id": tables[0], "json_pointer": "/b"}) == (0, 0)
    assert retried(api, {"table_id": tables[0]}) == (2, 0)
    assert len(all_nodes(api, state="quarantined")["nodes"]) == 3
    assert retried(api) == (3, 0)
    api.parts.work()
    assert all_nodes(api, state="quarantined")["nodes"] == []
    assert answer(api("GET", path(api, "")), 200)["nodes"] == {"indexed": 6}


@pytest.mark.parametrize("cursor", ["x", "1.1", "0.1.", "1.0.", "1.1.****", "9" * 19 + ".1.", "."])
def test_a_broken_cursor_of_a_project_is_refused(reader: Api, cursor: str) -> None:
    api = reader.stranger()
    answer(api("POST", path(api, "")), 202)
    refused = api("GET", path(api, "/nodes"), params={"cursor": cursor})
    problem(refused, 422, "CURSOR_INVALID")


def test_a_cursor_belongs_to_its_table_and_is_short(api: Api) -> None:
    ids = [api.table({"章" * 3_000: "x", "z": "x"})["id"] for _ in range(2)]
    answer(api("POST", path(api, "")), 202)
    api.parts.work()
    cursor = all_nodes(api, limit=1, table_id=ids[0])["cursor"]
    assert len(cursor) <= strings.MAX_CURSOR
    assert len(all_nodes(api, table_id=ids[0], cursor=cursor)["nodes"]) == 1
    assert len(all_nodes(api, cursor=cursor)["nodes"]) == 3
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


def test_a_retry_that_comes_again_with_its_key_is_answered_as_before(
    api: Api, tables: list[int]
) -> None:
    quarantine(api, tables[0], "/a")
    headers = {"idempotency-key": "retry-1"}
    first = api("POST", path(api, "/retry"), headers=headers)
    again = api("POST", path(api, "/retry"), headers=headers)
    assert (answer(again, 200), again.headers["idempotency-replayed"]) == (first.json(), "true")
    assert first.json() == {"nodes": 1, "left": 0}
