"""Judged sets over HTTP: written, read as they were sent, listed, deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.catalog.rules.judged_sets import MAX_SETS
from tests.web.api import Api, answer, problem


def line(query: str = "comets", **more: Any) -> str:
    place = {"json_pointer": "/a/0", "char_start": 0, "char_end": 6, "grade": 3}
    return json.dumps({"query": query, "relevant": [place], **more}, ensure_ascii=False)


def path_of(api: Api, name: str = "") -> str:
    return f"{api.project}/judged-sets{name and '/' + name}"


def put(api: Api, name: str, lines: str, tag: str | None = None) -> Any:
    headers = {} if tag is None else {"if-match": tag}
    return api("PUT", path_of(api, name), json={"lines": lines}, headers=headers)


def test_a_set_comes_back_as_it_was_sent(api: Api) -> None:
    lines = line("Wer zählte\u2028Kometen? 🐡", note=[1.10]) + f"\n\n  {line()}\r\n"
    made = put(api, "own.Set-1", lines)
    reported = answer(made, 201)
    assert (reported["name"], reported["questions"]) == ("own.Set-1", 2)
    assert reported["bytes"] == len(lines.encode())
    read = api("GET", path_of(api, "own.Set-1"))
    assert answer(read, 200) == {**reported, "lines": lines}
    assert read.headers["etag"] == made.headers["etag"] == f'"{reported["version"]}"'
    assert answer(api("GET", path_of(api)), 200) == {"judged_sets": [reported]}


def test_another_takes_its_place_and_a_version_never_comes_back(api: Api) -> None:
    first = put(api, "s", line(), '"0"').headers["etag"]
    problem(put(api, "s", line(), '"0"'), 409, "CONFLICT")
    second = put(api, "s", f"{line()}\n{line()}", first)
    assert answer(second, 200)["questions"] == 2
    problem(put(api, "s", "", first), 409, "CONFLICT")
    problem(api("DELETE", path_of(api, "s"), headers={"if-match": first}), 409, "CONFLICT")
    tag = second.headers["etag"]
    gone = api("DELETE", path_of(api, "s"), headers={"if-match": tag})
    assert (gone.status_code, gone.content) == (204, b"")
    assert put(api, "s", line()).headers["etag"] not in (first, tag)
    problem(put(api, "s", line(), tag), 409, "CONFLICT")


def test_what_is_not_there_is_not_found(api: Api) -> None:
    for method in ("GET", "DELETE"):
        problem(api(method, path_of(api, "none")), 404, "NOT_FOUND")
    problem(put(api, "none", line(), '"7"'), 409, "CONFLICT")
    assert answer(api("GET", path_of(api)), 200) == {"judged_sets": []}


@pytest.mark.parametrize(
    "wrong",
    [
        "{",
        "[]",
        "1",
        "{}",
        '{"query": "x"}',
        '{"query": "", "relevant": []}',
        json.dumps({"query": "x" * 2_001, "relevant": []}),
        '{"query": "x", "relevant": {}}',
        '{"query": "x", "relevant": [1]}',
        '{"query": "x", "query": "y", "relevant": []}',
        '{"query": "x\\u0000", "relevant": []}',
        '{"query": "x", "relevant": [{"json_pointer": "a", "char_start": 0, "char_end": 1}]}',
        '{"query": "x", "relevant": [{"json_pointer": "", "char_start": 1, "char_end": 1}]}',
        '{"query": "x", "relevant": [{"json_pointer": "", "char_start": 0.0, "char_end": 1}]}',
        '{"query": "x", "relevant": [{"json_pointer": "", "char_start": true, "char_end": 2}]}',
        '{"query": "x", "relevant": ' + "[" * 20 + "]" * 20 + "}",
    ],
    ids=lambda text: text[:40],
)
def test_a_line_that_is_no_question_is_named(api: Api, wrong: str) -> None:
    refused = problem(put(api, "s", f"{line()}\n\n{wrong}\n"), 422, "INVALID_INPUT")
    assert refused["detail"].startswith("line 3: ")
    problem(api("GET", path_of(api, "s")), 404, "NOT_FOUND")


def test_a_set_is_bounded_in_bytes(api: Api) -> None:
    fits = line(note="x" * (1_000_000 - len(line(note=""))))
    assert answer(put(api, "s", fits), 201)["bytes"] == 1_000_000
    problem(put(api, "s", fits + " "), 422, "INVALID_INPUT")
    wide = line(note="é" * 600_000)
    problem(put(api, "s", wide), 413, "PAYLOAD_TOO_LARGE")


def test_a_project_has_so_many_sets_and_no_more(api: Api) -> None:
    for number in range(MAX_SETS):
        answer(put(api, f"s{number}", ""), 201)
    problem(put(api, "one-more", ""), 409, "TOO_MANY_JUDGED_SETS")
    answer(put(api, "s7", line()), 200)
    assert len(answer(api("GET", path_of(api)), 200)["judged_sets"]) == MAX_SETS
    answer(put(api.stranger(), "one-more", ""), 201)


@pytest.mark.parametrize("name", [".hidden", "a%20b", "x" * 65, "%E2%80%AE", "a%0A"])
def test_a_name_is_a_plain_one(api: Api, name: str) -> None:
    problem(put(api, name, ""), 422, "INVALID_INPUT")
