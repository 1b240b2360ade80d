"""Depth: 256 levels come in, more do not; what came by another way hurts nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.hostile.stranger import Stranger

pytestmark = pytest.mark.stack
TEXT = "The lighthouse at the bottom keeps a very long ledger. " * 4


def nested(levels: int, inside: object = 0) -> bytes:
    """So many levels, arrays and objects in turns, around a value."""
    opening = "".join('{"a":' if level % 2 else "[" for level in range(levels))
    closing = "".join("}" if level % 2 else "]" for level in reversed(range(levels)))
    return f"{opening}{json.dumps(inside)}{closing}".encode()


def pointer(levels: int) -> str:
    """Where the value inside is."""
    return "".join("/a" if level % 2 else "/0" for level in range(levels))


@pytest.mark.parametrize("levels", [255, 256])
def test_as_deep_as_it_may_be_is_stored_and_read_everywhere(
    stranger: Stranger, levels: int
) -> None:
    made = stranger.create(nested(levels))
    assert made.status == 201
    table_id = made.json["id"]
    assert stranger.get(table_id, pointer(levels)).text == "0"
    assert stranger.write(table_id, b'"new"', pointer(levels)).status == 200
    assert stranger.get(table_id).json == json.loads(nested(levels, "new"))


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_what_is_put_together_is_not_deeper_either(stranger: Stranger, method: str) -> None:
    table_id = stranger.create(nested(200, {"x": 1})).json["id"]
    where = pointer(200) + "/x"
    assert stranger.write(table_id, nested(55), where, method=method).status == 200
    before = stranger.get(table_id).text
    refused = stranger.write(table_id, nested(56), where, method=method)
    assert (refused.status, refused.code) == (422, "INVALID_DOCUMENT")
    assert stranger.get(table_id).text == before


def test_a_string_at_the_bottom_is_found_at_its_pointer(stranger: Stranger) -> None:
    document: Any = json.loads(nested(256, TEXT))
    tool_id = stranger.tool(stranger.table(document))
    hits = stranger.hits(tool_id, "lighthouse ledger", document)
    assert {hit["json_path"] for hit in hits} == {pointer(256)}


@pytest.mark.parametrize("levels", [300, 15_000])
def test_a_deeper_document_written_by_sql_is_an_answer_and_no_crash(
    stranger: Stranger, levels: int
) -> None:
    deep = nested(levels, TEXT).decode()
    table_id = stranger.stored(f'{{"deep": {deep}, "text": "{TEXT}"}}')
    assert stranger.get(table_id).text.count("lighthouse") == 8
    answers = [
        stranger.get(table_id, "/deep"),
        stranger.get(table_id, "/text"),
        stranger.write(table_id, b"1", "/text"),
        stranger.create_tool(table_id),
    ]
    for answer in answers:
        assert answer.status < 300 or answer.code == "INVALID_DOCUMENT", answer.text
    assert stranger.write(table_id, b'{"text": "flat"}').status == 200
    assert stranger.get(table_id, "/text").text == '"flat"'
