"""``search`` over all collections of an agent, and Search Tools without records of chunks."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from context_search.core.cites import Cite
from tests.builders import english
from tests.web.agent import Agent, agent
from tests.web.api import CANARY, SMALL, Api

COMETS = "The lighthouse keeper counted nine comets over the harbour, and wrote them down."
BEES = "A beekeeper beside the orchard sells honey to the railway tenants in winter."
SHIPS = "The harbour master counted eleven ships before the comets came."
URL = "https://letters.example/at{pointer}#{cite}"
SECRET = "Write to mary.keeper@lighthouse.example about the tide tables of the harbour."


def single(api: Api, *tools: dict[str, Any], **more: Any) -> Agent:
    """An agent with one search over all these tools."""
    return agent(api, *tools, replace="off", tools="single", **more)


def found(someone: Agent, **arguments: Any) -> list[dict[str, Any]]:
    """The passages of a search, held to the schema of the tool."""
    content = someone.done("search", arguments)
    schema = someone.listed()["search"]["outputSchema"]
    jsonschema.Draft202012Validator(schema).validate(content)
    passages: list[dict[str, Any]] = content["passages"]
    return passages


@pytest.fixture
def two(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tools over two tables."""
    sky = api.tool(api.table({"title": "Sky", "text": COMETS, "more": BEES}), name="sky")
    return sky, api.tool(api.table({"rows": [SHIPS]}, name="Port"), name="port")


def test_one_tool_stands_for_all_and_names_the_collections(
    api: Api, two: tuple[dict[str, Any], ...]
) -> None:
    listed = single(api, *two, texts="ours").listed()
    assert list(listed)[:2] == ["search", "read"]
    assert not {"sky", "port"} & listed.keys()
    shown = listed["search"]
    assert shown["inputSchema"]["properties"]["collection"]["enum"] == ["sky", "port"]
    jsonschema.Draft202012Validator.check_schema(shown["inputSchema"])
    assert shown["inputSchema"]["additionalProperties"] is False
    assert all(part["description"] for part in shown["inputSchema"]["properties"].values())
    assert shown["annotations"] == {
        "title": "Search",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def test_passages_of_all_collections_come_by_relevance(
    api: Api, two: tuple[dict[str, Any], ...]
) -> None:
    passages = found(single(api, *two), query="comets counted at the harbour", top_k=2)
    assert {each["text"] for each in passages} == {COMETS, SHIPS}
    assert [each["relevance"] for each in passages] == sorted(
        (each["relevance"] for each in passages), reverse=True
    )
    by_text = {each["text"]: each for each in passages}
    assert by_text[COMETS].keys() == {"cite", "title", "text", "place", "relevance"}
    assert (by_text[COMETS]["title"], by_text[SHIPS]["title"]) == ("Sky", "Port")
    place = by_text[COMETS]["place"]
    assert place == {
        "collection": "sky",
        "table_id": place["table_id"],
        "pointer": "/text",
        "start": 0,
        "end": len(COMETS),
    }
    cite = Cite.parse(by_text[COMETS]["cite"])
    assert (cite.table_id, cite.is_of(COMETS)) == (place["table_id"], True)
    [only] = found(single(api, *two), query="comets", collection="port")
    assert only["text"] == SHIPS


def test_several_queries_are_answered_together_and_say_which_found_what(
    api: Api, two: tuple[dict[str, Any], ...]
) -> None:
    queries = ["lighthouse comets", "honey of bees"]
    passages = found(single(api, *two), queries=queries, collection="sky", top_k=2)
    by_text = {each["text"]: each["for"] for each in passages}
    assert set(by_text) == {COMETS, BEES}
    assert queries[0] in by_text[COMETS]
    assert queries[1] in by_text[BEES]
    assert all(set(each) <= set(queries) for each in by_text.values())


def test_passages_that_touch_are_joined(api: Api) -> None:
    text = english(1_000)
    someone = single(api, api.tool(api.table({"a": text}), name="letters"))
    passages = found(someone, query=text[300:700], top_k=3)
    for each in passages:
        place = each["place"]
        assert each["text"] == text[place["start"] : place["end"]]
        assert Cite.parse(each["cite"]).is_of(each["text"])
    spans = sorted((each["place"]["start"], each["place"]["end"]) for each in passages)
    assert all(end < start for (_, end), (start, _) in pairwise(spans))


def test_what_does_not_fit_is_said(api: Api) -> None:
    config = {**SMALL, "chunk_size": 1_200, "chunk_overlap": 0}
    table = api.table({"rows": [english(1_000, seed=seed) for seed in range(6)]})
    someone = single(api, api.tool(table, config, name="letters"))
    content = someone.done("search", {"query": "the harbour", "max_tokens": 500})
    assert 0 < len(content["passages"]) < 5
    assert content["more"].startswith(f"{len(content['passages'])} of 5 passages.")
    assert "more" not in someone.done("search", {"query": "the harbour"})


def test_a_passage_that_is_too_long_for_itself_is_cut(api: Api) -> None:
    text = english(6_000)
    config = {**SMALL, "chunk_size": 8_000, "chunk_overlap": 0}
    someone = single(api, api.tool(api.table({"a": text}), config, name="letters"))
    content = someone.done("search", {"query": text[:100], "max_tokens": 500})
    [passage] = content["passages"]
    assert passage["text"] == text[: passage["place"]["end"]]
    assert 1_000 < len(passage["text"]) < 4_000
    assert Cite.parse(passage["cite"]).is_of(passage["text"])
    assert "is cut to max_tokens" in content["more"]


def test_an_unknown_collection_is_refused_with_the_names_that_exist(
    api: Api, two: tuple[dict[str, Any], ...]
) -> None:
    report = single(api, *two).refused("search", {"query": "comets", "collection": "sea"})
    assert "sky, port" in report["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": CANARY, "queries": [CANARY, "y"]},
        {"queries": [CANARY]},
        {"queries": [f"{CANARY} {n}" for n in range(6)]},
        {"queries": CANARY},
        {"query": ""},
        {"query": CANARY * 200},
        {"query": f"{CANARY}\x00"},
        {"query": CANARY, "top_k": 21},
        {"query": CANARY, "top_k": True},
        {"query": CANARY, "max_tokens": 499},
        {"query": CANARY, "max_tokens": 10_001},
        {"query": CANARY, "collection": ""},
        {"query": CANARY, "collection": CANARY},
        {"query": CANARY, "filter": {CANARY: CANARY}},
        {"query": "。！"},
    ],
)
def test_hostile_arguments_are_refused(reader: Api, arguments: dict[str, Any]) -> None:
    tool = reader.unindexed_tool(reader.table({"a": COMETS}), name="sky")
    report = single(reader, tool).refused("search", arguments)
    assert report["code"] in ("INVALID_INPUT", "QUERY_EMPTY")
    assert CANARY not in json.dumps(report)


def test_an_agent_that_redacts_gets_neither_texts_nor_titles_nor_digests_of_them(api: Api) -> None:
    table = api.table({"title": "Of mary.keeper@lighthouse.example", "text": SECRET})
    tool = api.tool(table, name="letters")
    [passage] = found(single(api, tool, redact=True), query="tide tables of the harbour", top_k=1)
    assert passage["title"] == "Of [redacted:email]"
    assert passage["text"] == SECRET.replace("mary.keeper@lighthouse.example", "[redacted:email]")
    assert passage["place"]["end"] == len(SECRET)
    assert Cite.parse(passage["cite"]).is_of(passage["text"])


def test_what_a_where_hides_is_neither_found_nor_a_title(api: Api) -> None:
    config = {**SMALL, "where": {"status": {"eq": "public"}}, "filterable": []}
    document = {
        "title": "Plans of the harbour master",
        "rows": [{"status": "public", "text": COMETS}, {"status": "draft", "text": SHIPS}],
    }
    tool = api.tool(api.table(document, name="Port"), config, name="port")
    [passage] = found(single(api, tool), query="comets counted harbour master")
    assert (passage["text"], passage["title"]) == (COMETS, "Port")


def test_a_search_tool_without_metadata_gives_passages(api: Api) -> None:
    config = {**SMALL, "chunk_size": 1_000, "chunk_overlap": 100, "include_metadata": False}
    letters = [{"title": f"No {n}", "text": english(5_000, n)} for n in (1, 2)]
    table = api.table({"letters": letters}, url_template=URL)
    tool = api.tool(table, config, name="letters")
    for someone in (agent(api, tool, replace="off"), agent(api, tool, replace="off", redact=True)):
        content = someone.done("letters", {"query": "the harbour in winter"})
        schema = someone.listed()["letters"]["outputSchema"]
        jsonschema.Draft202012Validator(schema).validate(content)
        assert len(content["passages"]) == 5
        size = len(json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode())
        texts = sum(len(each["text"].encode()) for each in content["passages"])
        assert (size - texts) / size <= 0.35
        assert {each["title"] for each in content["passages"]} <= {"No 1", "No 2"}
        for each in content["passages"]:
            pointer = each["place"]["pointer"].replace("/", "%2F")
            assert each["url"] == f"https://letters.example/at{pointer}#{each['cite']}"


def test_a_search_tool_with_metadata_gives_full_records_as_ever(api: Api) -> None:
    tool = api.tool(api.table({"a": COMETS}), name="sky")
    someone = agent(api, tool, replace="off")
    [hit] = someone.done("sky", {"query": "comets"})["results"]
    assert {"content_hash", "turbopuffer_doc_id", "chunk_text"} <= hit["chunk"].keys()
    assert Cite.parse(hit["cite"]).is_of(COMETS)
    [over_http] = api.search(tool, "comets")["results"]
    assert over_http["cite"] == hit["cite"]
