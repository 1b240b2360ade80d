"""Numbers are somebody's data: they keep every digit, wherever in the document one writes."""

from __future__ import annotations

import pytest

from tests.hostile.stranger import Stranger

pytestmark = pytest.mark.stack

# What came in, and what Postgres writes for it.
KEPT = {
    "0": "0",
    "-0": "0",
    "-0.0": "0.0",
    "1.0": "1.0",
    "1": "1",
    "1.10": "1.10",
    "1e2": "100",
    "1E-2": "0.01",
    "9007199254740993": "9007199254740993",  # 2^53 + 1
    "18446744073709551617": "18446744073709551617",  # 2^64 + 1
    "0.1000000000000000055511151231257827": "0.1000000000000000055511151231257827",
    "123456789012345678901234567890.12345678901234567890": (
        "123456789012345678901234567890.12345678901234567890"
    ),
    "1e308": "1" + "0" * 308,
    "1e-400": "0." + "0" * 399 + "1",
    "4.9e-324": "0." + "0" * 323 + "49",
    "9" * 1000: "9" * 1000,
    "0e10": "0",
}
GIANT = "9" * 4_400
STORED = f'{{"giant": {GIANT}, "huge": 1e400, "list": [1.50, {{"x": 1}}], "text": "here"}}'


@pytest.mark.parametrize(("given", "stored"), KEPT.items(), ids=lambda text: text[:24])
def test_a_number_keeps_its_digits_on_every_way_in_and_out(
    stranger: Stranger, given: str, stored: str
) -> None:
    document = f'{{"n": {given}, "list": [{given}]}}'.encode()
    made = stranger.create(document)
    assert made.status == 201, made.text
    table_id = made.json["id"]

    def reads() -> set[str]:
        return {stranger.get(table_id, pointer).text for pointer in ("/n", "/list/0")}

    assert reads() == {stored}
    assert stranger.write(table_id, b'"beside"', "/text").status == 200
    assert reads() == {stored}
    assert stranger.write(table_id, b'{"text": null}', method="PATCH").status == 200
    assert reads() == {stored}
    for method in ("PUT", "PATCH"):
        assert stranger.write(table_id, given.encode(), "/n", method=method).status == 200
        assert reads() == {stored}
    assert stranger.write(table_id, document).status == 200
    assert reads() == {stored}


def test_numbers_that_only_postgres_can_write_are_read_and_kept(stranger: Stranger) -> None:
    table_id = stranger.stored(STORED)
    assert stranger.get(table_id, "/giant").text == GIANT
    assert stranger.get(table_id, "/huge").text == "1" + "0" * 400
    assert stranger.get(table_id, "/list").text == '[1.50, {"x": 1}]'
    assert stranger.write(table_id, b'{"list": [2]}', method="PATCH").status == 200
    assert stranger.write(table_id, b'"there"', "/text").status == 200
    assert stranger.get(table_id, "/giant").text == GIANT
    assert stranger.get(table_id, "/huge").text == "1" + "0" * 400
    assert stranger.get(table_id, "/text").text == '"there"'
    assert GIANT in stranger.get(table_id).text


def test_a_document_with_giant_numbers_is_indexed_and_followed(stranger: Stranger) -> None:
    text = "The observatory of the northern quarry counts nine comets. " * 5
    table_id = stranger.stored(STORED.replace("here", text))
    document = {"text": text}
    tool_id = stranger.tool(table_id)
    assert stranger.hits(tool_id, "observatory comets", document)
    changed = {"text": text.replace("comets", "zebras")}
    assert stranger.write(table_id, f'"{changed["text"]}"'.encode(), "/text").status == 200
    stranger.deployed.drain()
    assert stranger.hits(tool_id, "observatory zebras", changed)


def test_another_spelling_of_a_number_is_no_new_revision(stranger: Stranger) -> None:
    table_id = stranger.table({"n": 1})
    assert stranger.write(table_id, b'{"n": 1.0}').json["revision"] == 1
    assert stranger.write(table_id, b'{"n": 1.01}').json["revision"] == 2
