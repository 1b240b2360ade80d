"""The strings of a tool one by one: state, reason, who mends it, and where the chunks are."""

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
