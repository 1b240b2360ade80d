"""The Big List of Naughty Strings as values, as keys, as names and as questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context_search.core.json_pointer import join
from context_search.text.analysis import has_searchable_character, query_tokens
from tests.functions.deployment import Deployment
from tests.hostile.stranger import Stranger

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

LIST = json.loads(Path(__file__).with_name("naughty_strings.json").read_text())
OURS = [
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",  # one family, seven code points
    "\U0001f1e8\U0001f1f3\U0001f1eb\U0001f1f7" * 20,  # flags
    "e" + "\u0301" * 300,  # one letter
    "\r\n\r\n\t",
    "\ufffe\uffff\ufdd0",  # noncharacters
    "\x01\x02\x1f\x7f\x80\x9f",
    "\\u0000 \\ud800",
    "{{7*7}} ${7*7} #{7*7}",
]
STRINGS: list[str] = LIST["strings"] + OURS
COUNT = len(STRINGS)
INDEXED = STRINGS[::3] + OURS
"""Each a string of its own in the index; all of them together are one more."""
LONG = [
    "x" * 50 + "\n\n" + "y" * 20_000,  # an overlap as long as the piece
    "data: " + "Q" * 20_000,  # nothing to cut at
    "The mill turns.\r\n\r\nThe miller sleeps.\r\n" * 200,
    OURS[0] * 500,
    "\U0001f1e8\U0001f1f3" * 2_000,
    "z" + "\u0301\u0323\u0489" * 2_000,
    "\u0301" * 3_000,
    "\n" * 2_000 + "lantern" + "\n" * 2_000,
    "\U0001f600a\u4e2d" * 700,
    "\u05e9\u05dc\u05d5\u05dd hello \u0645\u0631\u062d\u0628\u0627 \u202e123 " * 99,
    "\u6f22\u5b57" * 1_500,
    "".join(map(chr, range(1, 32))) * 60 + "bell",
    "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8 " * 300,
    "\ufffe\uffff\ufdd0word " * 300,
    *(" " * 500, "\r\n" * 300, "\t" * 50, "\u3000" * 99),  # blank ones have no chunks
]
"""Texts that broke other chunkers."""


@pytest.fixture(scope="module")
def values(deployed: Deployment) -> tuple[Stranger, list[str], int]:
    """Many of them in an array, indexed one by one, and all of them in one text."""
    stranger = Stranger.new(deployed)
    strings = [*INDEXED, *LONG, "\n".join(STRINGS)]
    table_id = stranger.table(strings)
    assert stranger.get(table_id).json == strings
    return stranger, strings, stranger.tool(table_id, chunk_threshold=1)


@pytest.fixture(scope="module")
def keys(deployed: Deployment) -> tuple[Stranger, dict[str, str], int, int]:
    """All of them as the keys of one object; every fifth has a text that says which it is."""
    stranger = Stranger.new(deployed)
    document = dict.fromkeys(STRINGS, "short")
    document |= {STRINGS[at]: f"lantern {at} beside the harbour" for at in range(0, COUNT, 5)}
    table_id = stranger.table(document)
    assert stranger.get(table_id).json == document
    return stranger, document, table_id, stranger.tool(table_id)


def test_every_string_is_indexed(values: tuple[Stranger, list[str], int]) -> None:
    stranger, strings, tool_id = values
    state = stranger.state(tool_id)
    assert (state["status"], state["not_indexed"]) == ("ready", [])
    assert state["nodes"] == {"indexed": sum(1 for text in strings if text)}


def test_the_chunks_of_a_string_are_the_string(values: tuple[Stranger, list[str], int]) -> None:
    stranger, strings, tool_id = values
    rows = stranger.deployed.sql(
        "SELECT json_pointer, char_start, char_end, chunk_text FROM chunks"
        " WHERE table_id = (SELECT table_id FROM tool WHERE id = :tool)"
        " ORDER BY json_pointer, chunk_index",
        tool=tool_id,
    )
    reached: dict[int, int] = {}
    for pointer, start, end, text in rows:
        number = int(pointer[1:])
        assert strings[number][start:end] == text
        assert 0 < end - start <= 164  # the size, and at most one cluster more
        assert not strings[number][reached.get(number, 0) : start].strip()
        reached[number] = end
    assert reached.keys() == {number for number, text in enumerate(strings) if text.strip()}
    assert not any(strings[number][end:].strip() for number, end in reached.items())


def test_every_string_is_a_question_that_finds_itself(
    values: tuple[Stranger, list[str], int],
) -> None:
    stranger, strings, tool_id = values
    for number, text in enumerate(INDEXED):
        if not has_searchable_character(text):
            refused = stranger.ask(tool_id, {"query": text or " "})
            assert (refused.status, refused.code) == (422, "QUERY_EMPTY")
            continue
        hits = stranger.hits(tool_id, text, strings)
        if len(query_tokens(text)) >= 3:  # fewer are in many of them
            assert f"/{number}" in {hit["json_path"] for hit in hits}, ascii(text)


@pytest.mark.parametrize("query", ["a\x00", "\ud800"])
def test_a_question_that_is_no_text_is_refused_by_name(
    values: tuple[Stranger, list[str], int], query: str
) -> None:
    stranger, _, tool_id = values
    refused = stranger.ask(tool_id, {"query": query})
    assert (refused.status, refused.code) == (422, "INVALID_DOCUMENT"), refused.text


def test_every_string_is_a_key_that_a_pointer_reaches(
    keys: tuple[Stranger, dict[str, str], int, int],
) -> None:
    stranger, document, table_id, _ = keys
    for key, text in document.items():
        assert stranger.get(table_id, join([key])).json == text


def test_hits_lie_below_the_keys_that_they_name(
    keys: tuple[Stranger, dict[str, str], int, int],
) -> None:
    stranger, document, _, tool_id = keys
    for number in range(0, COUNT, 5):
        hits = stranger.hits(tool_id, f"lantern {number} harbour", document)
        # Not always the first: a key with that number in it lifts its own text.
        assert join([STRINGS[number]]) in {hit["json_path"] for hit in hits}, ascii(STRINGS[number])


def test_every_string_is_a_scope_that_holds_one_string(
    keys: tuple[Stranger, dict[str, str], int, int],
) -> None:
    stranger, document, table_id, _ = keys
    for key in STRINGS[::30]:
        made = stranger.create_tool(table_id, join([key]))
        assert made.status == 201, made.text
        [hit] = stranger.hits(made.json["tool_id"], "lantern harbour", document)
        assert (hit["json_path"], hit["chunk"]["json_pointer"]) == ("", join([key]))
