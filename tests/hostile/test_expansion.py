"""What is small when it comes and large when it is there: bounded, and refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_search.composition.parts import parts
from context_search.core.json_number import MAX_GROWTH
from context_search.indexing.comparing import MAX_POINTER_CHARS, MAX_POINTER_LENGTH
from tests.builders import english
from tests.hostile.stranger import Stranger

pytestmark = pytest.mark.stack

TINY = b"1e-999"
GROWTH = 1_001 - len(TINY)
FEW = MAX_GROWTH // GROWTH
"""So many of them are just within the limit."""


def tiny(count: int) -> bytes:
    return b"[" + b",".join([TINY] * count) + b"]"


def test_numbers_are_limited_together_on_every_way_in(stranger: Stranger) -> None:
    table_id = stranger.table({"n": 1})
    many = tiny(FEW + 1)
    assert len(many) < 50_000
    answers = [
        stranger.create(many),
        stranger.write(table_id, many),
        stranger.write(table_id, many, "/n"),
        stranger.write(table_id, b'{"n": ' + many + b"}", method="PATCH"),
    ]
    assert {(answer.status, answer.code) for answer in answers} == {(413, "DOCUMENT_TOO_LARGE")}
    assert stranger.get(table_id).text == '{"n": 1}'
    assert stranger.write(table_id, tiny(FEW), "/n").status == 200


def test_numbers_are_limited_in_a_document_however_many_requests_bring_them(
    stranger: Stranger,
) -> None:
    table_id = stranger.table({})
    many = tiny(FEW // 4)
    for part in b"abcd":
        patch = b'{"%c": %s}' % (part, many)
        assert stranger.write(table_id, patch, method="PATCH").status == 200
    refused = stranger.write(table_id, b'{"e": %s}' % many, method="PATCH")
    assert (refused.status, refused.code) == (413, "DOCUMENT_TOO_LARGE")
    assert stranger.write(table_id, many, "/e").code == "DOCUMENT_TOO_LARGE"
    assert stranger.write(table_id, b'{"a": null, "e": %s}' % many, method="PATCH").status == 200


@pytest.mark.parametrize(
    ("number", "written"),
    [("1e300", 301), ("-2.5E+300", 302), ("12.5e-10", 13), ("0e900", 1), ("0e-900", 902)],
)
def test_what_is_counted_is_what_postgres_writes(
    stranger: Stranger, number: str, written: int
) -> None:
    table_id = stranger.table({})
    assert stranger.write(table_id, number.encode()).status == 200
    assert len(stranger.get(table_id).text) == written
    count = MAX_GROWTH // max(1, written - len(number)) + 2
    if count * len(number) < 5_000_000 and written > len(number):
        many = f"[{','.join([number] * count)}]".encode()
        assert stranger.write(table_id, many).code == "DOCUMENT_TOO_LARGE"


def test_a_document_as_it_is_written_is_little_more_than_what_was_sent(stranger: Stranger) -> None:
    sent = [
        b"[" + b",".join([b"0"] * 50_000) + b"]",
        json.dumps(["\x01" * 20_000, '"' * 20_000, "\\" * 20_000]).encode(),
        json.dumps(["\u4e2d\U0001f600" * 5_000]).encode(),
        json.dumps({str(number): {} for number in range(9_000)}).encode(),
    ]
    for document in sent:
        table_id = stranger.table(None)
        assert stranger.write(table_id, document).status == 200
        assert len(stranger.get(table_id).text.encode()) <= 1.5 * len(document)


BILLION = '[{}, "text"]'.format(", ".join(["1e-16000"] * 20_000))
"""320 MB of text out of 240 kB of jsonb, as only a program with SQL can write it."""


def search_state(stranger: Stranger, tool_id: int) -> dict[str, Any]:
    # What programs with SQL order waits in the outbox.
    parts().store.relay(silent_s=3_600)
    stranger.deployed.drain()
    return stranger.state(tool_id)


def test_a_stored_document_that_is_too_large_as_text_is_never_written_out(
    stranger: Stranger,
) -> None:
    text = english(300, 4)
    table_id = stranger.table({"a": text})
    tool_id = stranger.tool(table_id)
    assert stranger.hits(tool_id, "harbour winter", {"a": text})
    stranger.deployed.sql(
        "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id",
        data=BILLION,
        id=table_id,
    )
    answers = [
        stranger.get(table_id),
        stranger.get(table_id, "/3"),
        stranger.write(table_id, b"1", "/20000"),
        stranger.write(table_id, b"{}", method="PATCH"),
    ]
    assert [answer.status for answer in answers] == [413, 200, 413, 413]
    assert stranger.ask(tool_id, {"query": "harbour"}).json["results"] == []
    state = search_state(stranger, tool_id)
    assert (state["status"], state["nodes"]) == ("error", {})
    error = state["last_error"]
    assert (error["code"], error["retryable"]) == ("DOCUMENT_TOO_LARGE", False)
    assert stranger.ask(tool_id, {"query": "harbour"}).json["index"] == {"status": "error"}
    made = stranger.create_tool(table_id)
    assert made.status == 201
    assert search_state(stranger, made.json["tool_id"])["status"] == "error"

    assert _comparisons_ordered(stranger) == 0  # nobody tries for ever
    assert stranger.write(table_id, json.dumps({"a": text}).encode()).status == 200
    assert search_state(stranger, tool_id)["status"] == "ready"
    assert stranger.hits(tool_id, "harbour winter", {"a": text})


def _comparisons_ordered(stranger: Stranger) -> int:
    stranger.deployed.sql("UPDATE comparison SET ordered_at = ordered_at - interval '1 hour'")
    stranger.deployed.sql("UPDATE context_table SET updated_at = updated_at - interval '1 hour'")
    return int(stranger.deployed.clean_up()["comparisons_ordered"])


def test_pointers_are_limited_together(stranger: Stranger) -> None:
    key = "k" * 2_900_000
    count = MAX_POINTER_CHARS // len(key) + 2
    texts = [f"The {number} lanterns of the canal." for number in range(count)]
    table_id = stranger.table({key: texts})
    state = search_state(stranger, stranger.tool(table_id))
    assert (state["status"], state["nodes"]) == ("error", {})
    assert state["last_error"]["code"] == "DOCUMENT_TOO_LARGE"
    assert "kkk" not in json.dumps(state)
    assert stranger.write(table_id, json.dumps({"k": texts}).encode()).status == 200
    stranger.deployed.drain()


def test_a_pointer_has_a_limit_of_its_own(stranger: Stranger) -> None:
    for length, expected in ((MAX_POINTER_LENGTH - 1, "ready"), (MAX_POINTER_LENGTH, "error")):
        table_id = stranger.table({"k" * length: english(300, 4)})
        assert search_state(stranger, stranger.tool(table_id))["status"] == expected


def test_a_long_pointer_counts_for_each_chunk_of_its_string(stranger: Stranger) -> None:
    key = "k" * 1_500_000
    table_id = stranger.table({key: "The lantern of the canal. " * 20_000})
    state = search_state(stranger, stranger.tool(table_id))
    assert (state["status"], state["last_error"]["code"]) == ("error", "DOCUMENT_TOO_LARGE")


def test_a_long_key_around_nothing_costs_nothing(stranger: Stranger) -> None:
    document = {"k" * 2_000_000: [[] for _ in range(900_000)], "a": english(300, 4)}
    tool_id = stranger.tool(stranger.table(document))
    assert stranger.state(tool_id)["nodes"] == {"indexed": 1}


@pytest.mark.parametrize(
    "document",
    [b'{"a": 1, "a": 2}', b'[{"b": {"a": 1, "\\u0061": 1}}]', b'{"project_id": 1, "": 1, "": 1}'],
)
def test_a_key_that_comes_twice_is_refused_on_every_way_in(
    stranger: Stranger, document: bytes
) -> None:
    table_id = stranger.table({"n": 1})
    answers = [
        stranger.create(document),
        stranger.create(b"1", name=b'"x", "name": "y"'),
        stranger.write(table_id, document),
        stranger.write(table_id, document, "/n"),
        stranger.write(table_id, document, method="PATCH"),
    ]
    assert {(answer.status, answer.code) for answer in answers} == {(422, "INVALID_DOCUMENT")}
    assert stranger.get(table_id).text == '{"n": 1}'


def test_an_agent_names_everything_once(stranger: Stranger) -> None:
    twice = b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "tools/list"}'
    for body in (twice, b"[" + twice + b"]"):
        refused = stranger.send("POST", "/mcp", body, function="search")
        assert (refused.status, refused.json["error"]["code"]) == (400, -32700)
        assert refused.json["id"] is None
