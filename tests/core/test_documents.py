"""Which JSON comes in, and which of its strings are nodes."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.core.documents import (
    MAX_DEPTH,
    StringNode,
    content_hash,
    parse_json,
    parse_stored,
    string_nodes,
    strings_in,
)
from context_search.core.errors import InvalidDocumentError
from context_search.core.json_pointer import contains, resolve, split
from context_search.core.json_text import to_json

CANARY = "canary-of-the-document"
JSON_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: Decimal(repr(number)))
    # ``-0.0`` and exponents survive; NaN and infinity are refused elsewhere.
    | JSON_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(JSON_TEXT, inner, max_size=4),
    max_leaves=12,
)


def nested(depth: int) -> bytes:
    """A document of exactly ``depth`` levels of arrays and objects, taking turns."""
    opening = "".join('{"a":' if level % 2 else "[" for level in range(depth))
    closing = "".join("}" if level % 2 else "]" for level in reversed(range(depth)))
    return f"{opening}0{closing}".encode()


def test_a_document_of_256_levels_is_the_deepest() -> None:
    parse_json(nested(MAX_DEPTH))
    with pytest.raises(InvalidDocumentError, match="256 levels"):
        parse_json(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("body", [b"[" * 1_000_000, b'{"a":' * 200_000, nested(50_000)])
def test_depth_beyond_any_stack_is_refused_like_any_other_error(body: bytes) -> None:
    with pytest.raises(InvalidDocumentError):
        parse_json(body)


@pytest.mark.parametrize(
    "body",
    [
        rb'"\u0000"',
        rb'{"\u0000": 1}',
        rb'[["a", {"b": "x\u0000y"}]]',
        rb'"\ud800"',
        rb'"\udfff tail"',
        rb'"\udc00\ud800"',
        rb'{"\ud800": 1}',
        rb'{"a": {"b\udfff": [1]}}',
        b'"\xed\xa0\x80"',  # a surrogate in raw bytes is not UTF-8
        b'"\xff"',
        b'"\xc0\x80"',  # NUL in two bytes neither
        b'"\x00"',
        b"\xff\xfe[\x00]\x00",
        b"NaN",
        b"[Infinity]",
        b'{"a": -Infinity}',
        b"1e400",
        b"-1e999999",
        b"[" + b"9" * 1001 + b"]",
        b"0." + b"1" * 1000,
        b"",
        b" ",
        b"{",
        b"[1,]",
        b"01",
        b"+1",
        b"'a'",
        b"[1] x",
        b"\xef\xbb\xbf\xef\xbb\xbf1",
        b'{"a": 1, "a": 2}',
        b'[{"b": {"a": 1, "c": 3, "\\u0061": 1}}]',
    ],
    ids=lambda body: repr(body[:30]),
)
def test_what_would_fail_later_is_refused_at_the_border(body: bytes) -> None:
    with pytest.raises(InvalidDocumentError):
        parse_json(body)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"\xef\xbb\xbf[1]", [1]),
        (rb'"\ud83d\ude00"', "😀"),  # a pair of surrogates is one character
        (rb'"\\u0000"', "\\u0000"),  # an escaped backslash before the letters is text
        (b"9" * 1000, int("9" * 1000)),
        (b"18446744073709551616", 2**64),
        (b"1e-400", Decimal("1e-400")),
        (b"null", None),
    ],
    ids=lambda case: repr(case)[:30],
)
def test_what_is_unusual_but_sound_comes_in(body: bytes, value: object) -> None:
    assert parse_json(body) == value


@pytest.mark.parametrize("tail", ["\\u0000", "\\ud800", "\x01", '" x', "\\x"])
def test_a_refusal_never_quotes_the_document(tail: str) -> None:
    with pytest.raises(InvalidDocumentError) as refusal:
        parse_json(f'{{"{CANARY}": "{CANARY}{tail}"}}'.encode())
    assert CANARY not in str(refusal.value)
    assert refusal.value.__cause__ is None


@given(JSON)
def test_a_document_that_came_in_is_sent_on_unchanged(document: Any) -> None:
    assert parse_json(to_json(document).encode()) == document


@given(JSON)
def test_every_string_is_found_once_at_a_pointer_that_resolves_to_it(document: Any) -> None:
    nodes = list(string_nodes(document, scope="", threshold=0))
    assert len({node.json_pointer for node in nodes}) == len(nodes) == _strings(document)
    for node in nodes:
        assert resolve(document, split(node.json_pointer)) == node.text
    assert sorted(strings_in(document)) == sorted(node.text for node in nodes)


def _strings(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_strings, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str)


@given(JSON)
def test_a_scope_sees_exactly_the_nodes_below_it(document: Any) -> None:
    everything = list(string_nodes(document, scope="", threshold=0))
    for scope in {node.json_pointer.rpartition("/")[0] for node in everything}:
        inside = [node for node in everything if contains(scope, node.json_pointer)]
        assert list(string_nodes(document, scope=scope, threshold=0)) == inside


def test_strings_come_in_document_order_with_escaped_pointers() -> None:
    document = {"z": ["a", {"": "b", "x/y": "c"}], "m~n": {"0": "d"}, "": {"": "e"}, "n": 5}
    nodes = list(string_nodes(document, scope="", threshold=1))
    assert [(node.json_pointer, node.text) for node in nodes] == [
        *(("/z/0", "a"), ("/z/1/", "b"), ("/z/1/x~1y", "c"), ("/m~0n/0", "d"), ("//", "e")),
    ]


def test_the_scope_a_never_sees_ab() -> None:
    document = {"a": {"t": "in"}, "ab": {"t": "out"}, "a~b": "out", "": {"a": "out"}}
    assert list(string_nodes(document, scope="/a", threshold=1)) == [StringNode("/a/t", "in")]


@pytest.mark.parametrize("scope", ["/no", "/list/-1", "/list/00", "/list/2", "/list/0/x"])
def test_a_scope_that_leads_nowhere_has_no_strings(scope: str) -> None:
    assert list(string_nodes({"list": ["a", "b"]}, scope=scope, threshold=0)) == []


def test_the_threshold_counts_code_points_and_is_reached_by_equal_length() -> None:
    document = ["😀" * 9, "中" * 10, "e\u0301" * 5]
    found = [node.json_pointer for node in string_nodes(document, scope="", threshold=10)]
    assert found == ["/1", "/2"]


def test_a_string_may_be_the_whole_document() -> None:
    assert list(string_nodes("root", scope="", threshold=1)) == [StringNode("", "root")]


@pytest.mark.slow
def test_a_hundred_thousand_levels_and_a_million_elements_need_no_stack() -> None:
    deep: Any = "bottom"
    for _ in range(100_000):
        deep = [deep]
    [node] = string_nodes(deep, scope="", threshold=1)
    assert node.json_pointer == "/0" * 100_000
    while isinstance(deep, list):  # or its end would be recursive
        deep = deep.pop()
    wide = {"list": [1] * 999_999 + ["last"]}
    assert list(string_nodes(wide, scope="/list", threshold=1)) == [
        StringNode("/list/999999", "last")
    ]


def test_the_content_hash_is_that_of_the_utf8_bytes() -> None:
    assert content_hash("中a😀") == hashlib.sha256("中a😀".encode()).hexdigest()
    assert StringNode("/a", "x").content_hash == content_hash("x")


def test_a_stored_document_is_read_whatever_numbers_it_has() -> None:
    stored = '{"int": %s, "exp": 1e999, "text": "kept"}' % ("9" * 10_000)
    with pytest.raises(ValueError, match="4300"):
        json.loads(stored)
    nodes = list(string_nodes(parse_stored(stored), scope="", threshold=1))
    assert nodes == [StringNode("/text", "kept")]


def test_a_stored_document_that_is_too_deep_is_refused() -> None:
    with pytest.raises(InvalidDocumentError):
        parse_stored("[" * 50_000 + "]" * 50_000)
