"""Strings over the limit are skipped with a reason; the others go on."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.builders import english, planted
from tests.functions.deployment import Deployment
from tests.hostile.stranger import Stranger

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("narrow")]

LIMIT = 2_000
SMALL = planted(english(900, 5), "The tailor of the upper canal mends eleven sails.", 300)
LARGE = SMALL + english(LIMIT, 6)


@pytest.fixture(scope="module")
def narrow(deployed: Deployment) -> Iterator[None]:
    """A deployment whose strings may have 2,000 characters, and where nothing waits to leave."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRING_MAX_CHARS", str(LIMIT))
        patch.setenv("DELETE_GRACE_SECONDS", "0")
        deployed.restart()
        yield


def clean_up(deployed: Deployment) -> None:
    """Twice: a document is deleted when it is buried, and once more after the grace."""
    for _ in range(2):
        deployed.clean_up()


def put(stranger: Stranger, table_id: int, pointer: str, text: str) -> None:
    assert stranger.write(table_id, json.dumps(text).encode(), pointer).status == 200
    stranger.deployed.drain()


def test_a_string_over_the_limit_is_named_and_the_others_are_found(stranger: Stranger) -> None:
    document = {"large": "y" * LIMIT + LARGE, "edge": english(LIMIT, 7), "small": SMALL}
    tool_id = stranger.tool(stranger.table(document))
    state = stranger.state(tool_id)
    assert state["nodes"] == {"indexed": 2, "skipped": 1}
    [skipped] = state["not_indexed"]
    assert (skipped["json_pointer"], skipped["state"]) == ("/large", "skipped")
    assert skipped["last_error"]["code"] == "NODE_TOO_LARGE"
    hits = stranger.hits(tool_id, "tailor canal sails", document)
    assert hits[0]["json_path"] == "/small"
    assert "/large" not in {hit["json_path"] for hit in hits}


def test_a_string_that_grows_over_the_limit_leaves_and_comes_back(stranger: Stranger) -> None:
    document = {"a": SMALL, "b": english(800, 8)}
    table_id = stranger.table(document)
    tool_id = stranger.tool(table_id)
    namespace = stranger.namespace(tool_id)
    before = set(stranger.deployed.documents(namespace))
    assert "/a" in {hit["json_path"] for hit in stranger.hits(tool_id, "tailor sails", document)}

    put(stranger, table_id, "/a", LARGE)
    grown = {**document, "a": LARGE}
    hits = stranger.hits(tool_id, "tailor sails", grown)  # which allows no stale ones
    assert {hit["json_path"] for hit in hits} <= {"/b"}
    assert stranger.state(tool_id)["nodes"] == {"indexed": 1, "skipped": 1}
    clean_up(stranger.deployed)
    after = set(stranger.deployed.documents(namespace))
    assert after < before
    assert stranger.deployed.sql("SELECT count(*) FROM tombstone") == [[0]]

    put(stranger, table_id, "/a", SMALL)
    [best, *_] = stranger.hits(tool_id, "tailor sails", document)
    assert best["json_path"] == "/a"
    assert stranger.state(tool_id)["nodes"] == {"indexed": 2}
    assert len(stranger.deployed.documents(namespace)) == len(before)


def test_a_string_that_grows_while_it_waits_is_skipped(stranger: Stranger) -> None:
    table_id = stranger.table({"a": SMALL})
    made = stranger.create_tool(table_id)  # its message is in the queue
    assert stranger.write(table_id, json.dumps(LARGE).encode(), "/a").status == 200
    stranger.deployed.drain()
    assert stranger.state(made.json["tool_id"])["nodes"] == {"skipped": 1}
    assert stranger.deployed.sql(
        "SELECT count(*) FROM chunks WHERE table_id = :id", id=table_id
    ) == [[0]]
