"""Every kind of key in a pointer, and everything that only looks like a pointer."""

from __future__ import annotations

import json

import pytest

from context_search.core.json_pointer import join
from tests.functions.deployment import Deployment
from tests.hostile.stranger import Stranger

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log")]

LONGEST_IN_A_URL = 5_200
KEYS = [
    "",
    " ",
    "~",
    "/",
    "~0",
    "~1",
    "a/b",
    "a~b",
    "0",
    "00",
    "-1",
    "-",
    "+0",
    "1e1",
    "\u0661",
    "\uff11",
    "%",
    "%2F",
    "a%",
    "_",
    "a_b",
    "*",
    "?",
    "[x]",
    "{a,b}",
    '"',
    "\\",
    "'; DROP TABLE node; --",
    "#",
    "&pointer=/x",
    "+",
    "\u6587\u7ae0",
    "\U0001f600",
    "e\u0301",
    "\u00e9",
    "\u200b",
    "\ufeff",
    "\x01\x1f",
    "\n",
    "__proto__",
    "null",
    "\u4e2d" * 1_100,  # 3,300 bytes, more than an index row holds
    "k" * 9_900,  # twice in a pointer, which may have 20,000 characters
]


@pytest.fixture(scope="module")
def keys(deployed: Deployment) -> tuple[Stranger, dict[str, dict[str, str]], int, int]:
    """An object with every key, and below it an object with the same key and a text."""
    stranger = Stranger.new(deployed)
    document = {
        key: {key: f"The cellar {number} holds nineteen barrels."}
        for number, key in enumerate(KEYS)
    }
    table_id = stranger.table(document)
    # By words: vectors of the tests' embedder are nearly the same for neighbouring numbers.
    return stranger, document, table_id, stranger.tool(table_id, strategy="keyword")


def test_a_pointer_reads_and_writes_behind_every_key(
    keys: tuple[Stranger, dict[str, dict[str, str]], int, int],
) -> None:
    stranger, document, _, _ = keys
    table_id = stranger.table(document)
    expected = {key: dict(at) for key, at in document.items()}
    for number, key in enumerate(KEYS):
        where = join([key, key])
        if len(where) > LONGEST_IN_A_URL:
            assert stranger.get(table_id, where).status == 422
            continue
        expected[key] = {key: number}  # type: ignore[dict-item]
        assert stranger.get(table_id, where).json == document[key][key], ascii(key[:20])
        assert stranger.write(table_id, str(number).encode(), where).status == 200
        assert stranger.write(table_id, b"{}", join([key]), method="PATCH").status == 200
    assert stranger.get(table_id).json == expected


def test_hits_name_their_place_with_every_key(
    keys: tuple[Stranger, dict[str, dict[str, str]], int, int],
) -> None:
    stranger, document, _, tool_id = keys
    assert stranger.state(tool_id)["nodes"] == {"indexed": len(KEYS)}
    for number, key in enumerate(KEYS):
        [best, *_] = stranger.hits(tool_id, f"cellar {number} barrels", document)
        assert best["json_path"] == join([key, key]), ascii(key[:20])


def test_a_scope_with_any_key_holds_its_own_string_and_no_other(
    keys: tuple[Stranger, dict[str, dict[str, str]], int, int],
) -> None:
    stranger, document, table_id, _ = keys
    for key in KEYS[::3]:
        made = stranger.create_tool(table_id, join([key]))
        assert made.status == 201, made.text
        hits = stranger.hits(made.json["tool_id"], "cellar barrels", document)
        assert [hit["json_path"] for hit in hits] == [join([key])], ascii(key[:20])


def test_every_pointer_has_document_ids_of_its_own(
    keys: tuple[Stranger, dict[str, dict[str, str]], int, int],
) -> None:
    stranger, _, table_id, _ = keys
    rows = stranger.deployed.sql(
        "SELECT json_pointer, turbopuffer_doc_id FROM chunks WHERE table_id = :id", id=table_id
    )
    assert len({doc_id for _, doc_id in rows}) == len(rows)
    assert max(len(doc_id.encode()) for _, doc_id in rows) <= 64
    assert len({doc_id.split(".")[1] for _, doc_id in rows}) == len(KEYS)


@pytest.mark.parametrize("query", ["%00", "/%00", "/a%00b", "/%ff", "/%ed%a0%80", "/%", "/%zz"])
def test_bytes_that_no_key_can_hold_lead_nowhere(stranger: Stranger, query: str) -> None:
    table_id = stranger.table({"a": 1})
    path = f"/api/v1/tables/{table_id}/data"
    read = stranger.send("GET", path, query=f"pointer={query}")
    assert read.status in (404, 422), read.text
    written = stranger.send("PUT", path, b"1", query=f"pointer={query}")
    # What is not UTF-8 arrives as U+FFFD, which is a key like any other.
    assert written.status == 422 if "00" in query else written.status in (200, 422), written.text


@pytest.mark.parametrize("scope", [r"/\u0000", r"/a\ud800", r"\udfff"])
def test_a_scope_that_no_document_can_have_is_refused(stranger: Stranger, scope: str) -> None:
    start = f'{{"project_id": {stranger.project_id}, "table_id": {stranger.table({})}, "name": "s"'
    body = f'{start}, "json_path": "{scope}"}}'.encode()
    refused = stranger.send("POST", "/api/v1/tools/search", body)
    assert (refused.status, refused.code) == (422, "INVALID_DOCUMENT")


def test_a_scope_ends_at_a_slash_and_knows_no_wildcards(stranger: Stranger) -> None:
    text = "The brewer of the northern quarter weighs the barley."
    document = {
        key: {"t": f"{text} {key}"} for key in ("a", "a2", "a_", "a%", "A", "a b", "ab", "*", "%")
    }
    document["_"] = {"t": text}
    table_id = stranger.table(document)
    stranger.tool(table_id)
    for scope in ("/a", "/a_", "/a%", "/*", "/%", "/_"):
        tool_id = stranger.tool(table_id, scope)
        hits = stranger.hits(tool_id, "brewer barley", document)
        assert [hit["chunk"]["json_pointer"] for hit in hits] == [f"{scope}/t"]


def test_a_number_is_a_key_of_an_object_and_an_index_of_an_array(stranger: Stranger) -> None:
    text = "The ferry of the eastern shore carries seven violins."
    document: dict[str, object] = {"x": [text]}
    table_id = stranger.table(document)
    tool_id = stranger.tool(table_id)
    assert [hit["json_path"] for hit in stranger.hits(tool_id, "violins", document)] == ["/x/0"]
    document = {"x": {"0": text.replace("seven", "eight")}}
    assert stranger.write(table_id, json.dumps(document).encode()).status == 200
    stranger.deployed.drain()
    [hit] = stranger.hits(tool_id, "violins", document)
    assert (hit["json_path"], "eight" in hit["chunk"]["chunk_text"]) == ("/x/0", True)
