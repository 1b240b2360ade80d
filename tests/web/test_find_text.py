"""Finding exact text over HTTP, and as a tool of agents."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english, planted
from tests.web.agent import agent
from tests.web.api import SMALL, Api, answer, problem

SENTENCE = "The lighthouse keeper counted nine comets."
TEXT = planted(english(3_000), SENTENCE, 1_500)
PATH = "/api/v1/find-text"


@pytest.fixture(scope="module")
def table(reader: Api) -> dict[str, Any]:
    made = reader.table({"a": {"t": TEXT, "u": f"{SENTENCE} {SENTENCE}"}})
    reader.tool(made, {**SMALL, "chunk_threshold": 1}, name="lighthouse")
    return made


def test_a_text_is_found_with_its_places_and_cites_that_are_read(
    reader: Api, table: dict[str, Any]
) -> None:
    found = answer(reader("POST", PATH, json={"text": "COUNTED nine", "context_chars": 7}), 200)
    assert found["total"] == 3
    assert "cursor" not in found
    first, second, third = found["matches"]
    at = TEXT.index("counted nine")
    assert first == {
        "collection": "lighthouse",
        "table_id": table["id"],
        "pointer": "/a/t",
        "start": at,
        "end": at + 12,
        "before": "keeper ",
        "match": "counted nine",
        "after": " comets",
        "cite": first["cite"],
    }
    assert [second["pointer"], third["pointer"]] == ["/a/u", "/a/u"]
    read = answer(reader("POST", "/api/v1/read", json={"cite": first["cite"]}), 200)
    assert read["status"] == "current"
    assert SENTENCE in read["text"]


def test_a_cursor_goes_on_and_the_answer_says_so(reader: Api, table: dict[str, Any]) -> None:
    assert table
    body = {"pattern": "nine +comets", "limit": 2, "collection": "lighthouse"}
    page = answer(reader("POST", PATH, json=body), 200)
    assert (page["total"], len(page["matches"])) == (3, 2)
    assert page["more"] == "Matches 1 to 2 of 3. The same call with this cursor goes on."
    last = answer(reader("POST", PATH, json={**body, "cursor": page["cursor"]}), 200)
    assert (last["total"], len(last["matches"])) == (3, 1)
    other = {**body, "whole_word": True, "cursor": page["cursor"]}
    problem(reader("POST", PATH, json=other), 422, "CURSOR_INVALID")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "INVALID_INPUT"),
        ({"text": "a", "pattern": "a"}, "INVALID_INPUT"),
        ({"text": ""}, "INVALID_INPUT"),
        ({"text": "x" * 1_001}, "INVALID_INPUT"),
        ({"text": "a", "limit": 101}, "INVALID_INPUT"),
        ({"text": "a", "context_chars": 501}, "INVALID_INPUT"),
        ({"text": "a", "collection": "another"}, "INVALID_INPUT"),
        ({"text": "a", "cursor": "x"}, "CURSOR_INVALID"),
        ({"pattern": "("}, "PATTERN_INVALID"),
        ({"pattern": "(abcdefghij{90}){9}|" * 9}, "PATTERN_TOO_COMPLEX"),
    ],
)
def test_what_cannot_be_found_is_refused(reader: Api, body: dict[str, Any], code: str) -> None:
    problem(reader("POST", PATH, json=body), 422, code)


def test_an_agent_finds_text_with_a_tool(api: Api) -> None:
    made = api.table({"a": TEXT, "b": "counted nine comets again"})
    tool = api.tool(made, {**SMALL, "chunk_threshold": 30}, name="lighthouse")
    someone = agent(api, tool)
    found = someone.done("find_text", {"text": "counted nine", "collection": None})
    assert [match["pointer"] for match in found["matches"]] == ["/a"]
    assert found["total"] == 1
