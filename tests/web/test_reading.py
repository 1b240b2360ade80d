"""Reading on over HTTP and MCP, from the cite of a hit to what became of it."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from tests.builders import english
from tests.web.agent import READS, Agent, agent
from tests.web.api import SMALL, Api, answer, problem

TEXT = english(4_000)
QUESTION = TEXT[2_000:2_080]


@pytest.fixture
def letters(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    """A table and its Search Tool."""
    table = api.table({"letters": [{"text": TEXT}]}, name="Letters")
    return table, api.tool(table, SMALL, name="letters")


def read(api: Api, **body: Any) -> dict[str, Any]:
    return answer(api("POST", "/api/v1/read", json=body), 200)


def test_every_hit_has_a_cite_that_is_read_on(
    api: Api, letters: tuple[dict[str, Any], ...]
) -> None:
    table, tool = letters
    hit = api.search(tool, QUESTION)["results"][0]
    chunk = hit["chunk"]
    seen = read(api, cite=hit["cite"], before=50, after=70)
    start, end = chunk["char_start"], chunk["char_end"]
    begin, behind = max(0, start - 50), min(len(TEXT), end + 70)
    assert seen["text"] == TEXT[begin:behind]
    assert seen["place"] == {
        "collection": "letters",
        "table_id": table["id"],
        "pointer": "/letters/0/text",
        "start": begin,
        "end": behind,
    }
    assert (seen["status"], seen["length"]) == ("current", len(TEXT))
    assert seen["cited"] == {"start": start, "end": end}
    at_place = read(
        api,
        collection="letters",
        pointer="/letters/0/text",
        start=begin,
        before=0,
        after=behind - begin,
    )
    assert (at_place["text"], at_place["cite"]) == (seen["text"], seen["cite"])
    citation = answer(api("GET", f"/api/v1/citations/{hit['cite']}"), 200)
    assert (citation["status"], citation["text"]) == ("current", chunk["chunk_text"])


def test_a_citation_says_what_became_of_its_text(
    api: Api, letters: tuple[dict[str, Any], ...]
) -> None:
    table, tool = letters
    hit = api.search(tool, QUESTION)["results"][0]
    cited = hit["chunk"]["chunk_text"]

    def put(text: str) -> dict[str, Any]:
        body = {"letters": [{"text": text}]}
        answer(api("PUT", f"/api/v1/tables/{table['id']}/data", json=body), 200)
        return answer(api("GET", f"/api/v1/citations/{hit['cite']}"), 200)

    moved = put(f"Begin. {TEXT}")
    assert (moved["status"], moved["text"]) == ("moved", cited)
    changed = put(TEXT.replace(cited, "Something else stands here now. "))
    assert (changed["status"], changed["was"]) == ("changed", cited)
    assert cited not in changed["text"]
    gone = put("short")
    assert gone == {"status": "gone", "cite": hit["cite"]}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"cite": "x" * 65},
        {"cite": "no cite"},
        {"cite": ""},
        {"collection": "letters"},
        {"pointer": "/letters/0/text"},
        {"collection": "letters", "pointer": "letters"},
        {"collection": "letters", "pointer": "/letters/0/text", "start": -1},
        {"collection": "letters", "pointer": "/letters/0/text", "start": 4_001},
        {"collection": "letters", "pointer": "/letters/0/text", "before": 20_001},
        {"collection": "letters", "pointer": "/letters/0/text", "after": True},
        {"collection": "letters", "pointer": "/letters/0/text", "max_tokens": 99},
        {"collection": "Letters", "pointer": "/letters/0/text"},
        {"collection": "let\u0000ters", "pointer": "/letters/0/text"},
        {"cite": "AQ", "collection": "letters", "pointer": ""},
    ],
)
def test_a_wrong_request_is_refused(
    api: Api, letters: tuple[dict[str, Any], ...], body: dict[str, Any]
) -> None:
    assert letters
    response = api("POST", "/api/v1/read", json=body)
    assert response.status_code == 422
    assert response.json()["code"] in {"INVALID_INPUT", "INVALID_POINTER", "INVALID_DOCUMENT"}


def test_a_cite_in_an_address_is_read_with_care(api: Api) -> None:
    for path in ("AQ", "x" * 65, "%00", "é"):
        assert api("GET", f"/api/v1/citations/{path}").status_code == 422


def test_a_project_without_collections_says_so(api: Api) -> None:
    response = api("POST", "/api/v1/read", json={"collection": "a", "pointer": ""})
    assert "there is none" in problem(response, 422, "INVALID_INPUT")["detail"]


# ---- Agents.


@pytest.fixture
def reader(api: Api, letters: tuple[dict[str, Any], ...]) -> Agent:
    return agent(api, letters[1], replace="off")


def test_agents_read_by_tools_that_say_all_of_themselves(reader: Agent) -> None:
    listed = reader.listed()
    assert list(listed) == [*READS, "letters"]
    for tool in listed.values():
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        assert tool["annotations"]["title"]
        assert tool["annotations"]["readOnlyHint"] is True
        assert tool["annotations"]["destructiveHint"] is False
        assert all(part["description"] for part in tool["inputSchema"]["properties"].values())
    for name in READS:
        assert listed[name]["inputSchema"]["properties"]["collection"]["enum"] == ["letters"]


def test_an_agent_reads_what_programs_read(api: Api, reader: Agent) -> None:
    hit = reader.done("letters", {"query": QUESTION})["results"][0]
    arguments = {"cite": hit["cite"], "before": 10, "after": 10}
    seen = reader.done("read", arguments)
    assert seen == read(api, **arguments)
    schema = reader.listed()["read"]["outputSchema"]
    jsonschema.Draft202012Validator(schema).validate(seen)
    missing = reader.refused("read", {"collection": "letters", "pointer": "/letters/1/text"})
    assert missing["code"] == "NOT_FOUND"
    wrong = reader.refused("read", {"collection": "diaries", "pointer": ""})
    assert "known names: letters" in wrong["message"]


def test_an_instance_that_does_not_read_has_no_such_tool(reader: Agent) -> None:
    reader.allow(reading="off")
    assert list(reader.listed()) == ["letters"]
    assert reader.error("read", {"cite": "AQ"})["code"] == -32602
    reader.allow(reading="on")
    assert reader.refused("read", {"cite": "AQ"})["code"] == "INVALID_INPUT"


def test_a_long_text_is_cut_and_the_way_on_is_told(api: Api) -> None:
    text = '\u0001"\\' * 20_000
    tool = api.tool(api.table({"a": text}), {**SMALL, "chunk_threshold": 1}, name="signs")
    someone = agent(api, tool, replace="off")
    arguments = {"collection": "signs", "pointer": "/a", "after": 20_000, "max_tokens": 10_000}
    seen = someone.done("read", arguments)
    assert 0 < len(seen["text"]) < 20_000
    assert "Read next" in seen["more"]
    assert seen["next"]
