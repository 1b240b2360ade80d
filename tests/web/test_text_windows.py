"""A string of any length is read in windows of code points, and nothing but the window travels."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from context_search.core.limits import MAX_INLINE_BYTES
from tests.web.api import Api, answer, problem

TEXT = '🐡 nine 𠮷 comets, é, "quotes" and \\'
WINDOW = 100_000


def window(api: Api, table: dict[str, Any], pointer: str, **more: object) -> Any:
    body = {"json_pointer": pointer, **more}
    return api("POST", f"/api/v1/tables/{table['id']}/text", json=body)


def test_a_window_is_counted_in_code_points(api: Api) -> None:
    table = api.table({"a": {"b": TEXT}})
    read = window(api, table, "/a/b", start=0, end=9)
    assert answer(read, 200) == {
        "table_id": table["id"],
        "revision": 1,
        "json_pointer": "/a/b",
        "start": 0,
        "end": 9,
        "total": len(TEXT),
        "hash": hashlib.sha256(TEXT.encode()).hexdigest(),
        "text": "🐡 nine 𠮷 ",
    }
    assert read.headers["etag"] == '"1"'


def test_windows_one_behind_the_other_are_the_string(api: Api) -> None:
    text = "".join(chr(0x4E00 + n % 5_000) for n in range(2 * WINDOW + 7))
    table = api.table([text])
    pieces = [answer(window(api, table, "/0", start=at), 200) for at in (0, WINDOW, 2 * WINDOW)]
    assert [(each["start"], each["end"]) for each in pieces] == [
        (0, WINDOW),
        (WINDOW, 2 * WINDOW),
        (2 * WINDOW, 2 * WINDOW + 7),
    ]
    assert "".join(each["text"] for each in pieces) == text


def test_a_string_that_fits_into_no_answer_is_read(api: Api) -> None:
    table = api.table(["x"])
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE context_table SET data = to_jsonb(repeat('nine', :count)) WHERE id = :id",
            id=table["id"],
            count=MAX_INLINE_BYTES,
        )
    problem(api("GET", f"/api/v1/tables/{table['id']}/data"), 413, "DOCUMENT_TOO_LARGE")
    last = 4 * MAX_INLINE_BYTES
    read = answer(window(api, table, "", start=last - 6, end=last + 60_000), 200)
    assert (read["text"], read["end"], read["total"]) == ("nenine", last, last)


@pytest.mark.parametrize("value", [None, 1, True, [], {}, ["text"], {"a": "text"}])
def test_what_is_no_string_is_refused(reader: Api, value: object) -> None:
    table = reader.table({"a": value})
    problem(window(reader, table, "/a"), 422, "NOT_A_STRING")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"start": 0, "end": WINDOW + 1}, 422, "INVALID_INPUT"),
        ({"start": 5, "end": 4}, 422, "INVALID_INPUT"),
        *(({"start": value}, 422, "INVALID_INPUT") for value in (-1, "0", 2**63)),
        ({"pointer": ""}, 422, "INVALID_INPUT"),
        ({"json_pointer": "no slash"}, 422, "INVALID_POINTER"),
        ({"json_pointer": "/nowhere"}, 404, "NOT_FOUND"),
        ({"json_pointer": "/0/0"}, 404, "NOT_FOUND"),
    ],
)
def test_a_broken_request_is_refused(
    reader: Api, body: dict[str, object], status: int, code: str
) -> None:
    table = reader.table(["text"])
    path = f"/api/v1/tables/{table['id']}/text"
    problem(reader("POST", path, json={"json_pointer": "/0", **body}), status, code)


def test_a_pointer_of_any_length_is_taken(reader: Api) -> None:
    key = "章" * 60_000
    table = reader.table({key: TEXT})
    read = window(reader, table, f"/{key}", end=1)
    assert json.loads(read.text)["text"] == "🐡"
