"""The Search Tool's schemas and the strict reading of its arguments."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from context_search.agents.tools.search_tools import (
    QUOTED,
    SEARCH_INPUT_SCHEMA,
    SEARCH_OUTPUT_SCHEMA,
    parse_search_arguments,
    search_tool,
)
from context_search.core.cites import Cite
from context_search.core.errors import InvalidInputError

ANSWER: dict[str, Any] = {
    "query": "attention",
    "results": [
        {
            "score": 0.0317,
            "relevance": 0.81,
            "json_path": "/0/content",
            "cite": str(Cite.of(7, "/articles/0/content", 3, 1600, "…", 2400)),
            "chunk": {
                "id": 812,
                "table_id": 7,
                "json_pointer": "/articles/0/content",
                "chunk_index": 2,
                "total_chunks": 19,
                "chunk_text": "…",
                "char_start": 1600,
                "char_end": 2400,
                "content_hash": "ab" * 32,
                "turbopuffer_namespace": "project_1_table_7",
                "turbopuffer_doc_id": "7.abc.def.1.2",
            },
        }
    ],
    "retrieval": {
        "mode_requested": "hybrid",
        "mode_used": "hybrid",
        "legs": ["vector", "keyword"],
        "degraded": [],
    },
    "index": {"status": "ready", "not_searched": 58},
}

GOOD = [
    ({"query": "x"}, ("x", None)),
    ({"query": " ", "top_k": 1}, (" ", 1)),
    ({"query": "西" * 2000, "top_k": 20}, ("西" * 2000, 20)),
    ({"query": "😀" * 2000}, ("😀" * 2000, None)),
    ({"query": "x", "top_k": 3.0}, ("x", 3)),
]
BAD: list[dict[str, Any]] = [
    {},
    {"query": ""},
    {"query": None},
    {"query": 5},
    {"query": ["x"]},
    {"query": "x" * 2001},
    {"top_k": 5},
    {"query": "x", "top_k": 0},
    {"query": "x", "top_k": 21},
    {"query": "x", "top_k": "5"},
    {"query": "x", "top_k": True},
    {"query": "x", "top_k": 5.5},
    {"query": "x", "limit": 5},
]


def valid(value: object, schema: Any) -> bool:
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))


@pytest.mark.parametrize("schema", [SEARCH_INPUT_SCHEMA, SEARCH_OUTPUT_SCHEMA])
def test_both_schemas_are_json_schema_2020_12(schema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(("arguments", "expected"), GOOD)
def test_good_arguments_are_taken_as_they_are(
    arguments: dict[str, object], expected: tuple[str, int]
) -> None:
    assert parse_search_arguments(arguments) == (*expected, None)
    assert valid(arguments, SEARCH_INPUT_SCHEMA)


@pytest.mark.parametrize("arguments", BAD)
def test_whatever_the_schema_refuses_is_refused(arguments: dict[str, object]) -> None:
    assert not valid(arguments, SEARCH_INPUT_SCHEMA)
    with pytest.raises(InvalidInputError):
        parse_search_arguments(arguments)


@pytest.mark.parametrize("arguments", [{"query": "\ud800"}, {"query": "a\x00b"}])
def test_parsing_is_stricter_than_the_schema_can_say(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        parse_search_arguments(arguments)


def test_null_is_an_argument_that_was_left_out() -> None:
    arguments = {"query": "x", "top_k": None, "status": None}
    assert parse_search_arguments(arguments, ["status"]) == ("x", None, None)


def test_an_error_names_the_argument_and_the_rule() -> None:
    with pytest.raises(InvalidInputError, match="query is missing"):
        parse_search_arguments({"query": None, "top_k": 5})
    with pytest.raises(InvalidInputError, match="'limit'"):
        parse_search_arguments({"query": "x", "limit": 5})
    with pytest.raises(InvalidInputError, match="top_k must be an integer from 1 to 20"):
        parse_search_arguments({"query": "x", "top_k": 21})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("results", 0, "relevance"), 1.2),
        (("results", 0, "chunk", "char_start"), -1),
        (("results", 0, "chunk", "id"), "812"),
        (("retrieval", "mode_used"), "magic"),
        (("retrieval", "degraded"), None),
        (("index", "status"), "fine"),
    ],
)
def test_a_wrong_answer_does_not_match(path: tuple[str | int, ...], value: object) -> None:
    answer: Any = copy.deepcopy(ANSWER)
    inner = answer
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    assert not valid(answer, SEARCH_OUTPUT_SCHEMA)


def described(description: str) -> str:
    tool = search_tool(
        name="search_kb", title="KB", description=description, table_name="Fruit {table_name}"
    )
    return tool.description


def test_a_description_is_shown_as_it_was_written() -> None:
    assert described(" Finds {table_name} in 100% ") == f"Finds {{table_name}} in 100% {QUOTED}"


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_a_blank_description_names_the_table_and_leaks_no_template(blank: str) -> None:
    text = described(blank)
    assert "“Fruit {table_name}”" in text
    assert text.count("{") == 1
    assert text.endswith(QUOTED)
