"""RFC 6901, and the pointers that other implementations take too kindly."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.core import json_pointer
from context_search.core.errors import InvalidPointerError
from context_search.core.json_pointer import (
    ancestors,
    contains,
    escape,
    join,
    relative,
    replace_value,
    resolve,
    split,
)

RFC_DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}
# Few characters, so that escapes, digits and shared prefixes are met often.
TOKENS = st.lists(st.text("ab~/01 %٠", max_size=3), max_size=5)


def test_the_examples_of_the_documentation_hold() -> None:
    assert doctest.testmod(json_pointer) == (0, 5)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_the_examples_of_rfc_6901_section_5_resolve(pointer: str, value: object) -> None:
    assert resolve(RFC_DOCUMENT, split(pointer)) == value


@pytest.mark.parametrize("text", ["foo", "#/foo", "foo/bar", " /foo", "/~", "/~2", "/a~", "/~01~x"])
def test_what_is_no_pointer_is_refused(text: str) -> None:
    with pytest.raises(InvalidPointerError):
        split(text)


def test_an_escaped_tilde_is_not_unescaped_twice() -> None:
    assert split("/~01") == ["~1"]
    assert escape("~1") == "~01"
    assert split("/~1~0~1") == ["/~/"]


@pytest.mark.parametrize(
    "token",
    [
        *("-1", "00", "01", " 0", "0 ", "+0", "٠", "０", "1_0", "-", "0\n", "1e0", "0x0", ""),
        *("2", "9" * 5000),
    ],
    ids=repr,
)
def test_only_canonical_array_indexes_lead_anywhere(token: str) -> None:
    with pytest.raises(KeyError):
        resolve(["first", "second"], [token])


def test_a_number_is_a_key_in_an_object_and_an_index_in_an_array() -> None:
    assert resolve({"00": "key"}, ["00"]) == "key"
    assert resolve(["zero", "one"], ["1"]) == "one"


@pytest.mark.parametrize("leaf", ["text", 7, None, True, 0.5])
def test_nothing_lies_below_a_scalar(leaf: object) -> None:
    with pytest.raises(KeyError):
        resolve({"a": leaf}, ["a", "0"])


def test_a_scope_holds_itself_and_what_is_below_but_no_longer_name() -> None:
    assert contains("/articles", "/articles")
    assert contains("/articles", "/articles/0")
    assert not contains("/articles", "/articles2")
    assert not contains("/articles", "/articles_")
    assert not contains("/articles/0", "/articles")
    assert contains("/", "//a")  # the key "" and what is below it
    assert not contains("/", "/a")


def test_a_pointer_outside_of_the_scope_has_no_relative_form() -> None:
    with pytest.raises(InvalidPointerError):
        relative("/a", "/ab")


@given(TOKENS)
def test_split_undoes_join(tokens: list[str]) -> None:
    assert split(join(tokens)) == tokens


@given(TOKENS, TOKENS)
def test_containment_is_the_prefix_relation_of_tokens(scope: list[str], tokens: list[str]) -> None:
    assert contains(join(scope), join(tokens)) == (tokens[: len(scope)] == scope)


@given(TOKENS, TOKENS)
def test_relative_is_what_is_added_to_the_scope(scope: list[str], below: list[str]) -> None:
    assert relative(join(scope), join(scope + below)) == join(below)


@given(TOKENS)
def test_the_ancestors_are_exactly_the_scopes_that_contain_a_pointer(tokens: list[str]) -> None:
    every = ancestors(join(tokens))
    assert every == [join(tokens[:count]) for count in range(len(tokens) + 1)]
    assert all(contains(scope, join(tokens)) for scope in every)


def test_a_value_is_put_where_the_pointer_leads() -> None:
    document = {"a": [1, {"b": 2}]}
    assert replace_value(document, ["a", "1", "b"], 3) == {"a": [1, {"b": 3}]}
    assert replace_value(document, ["a", "0"], "x") == {"a": ["x", {"b": 3}]}
    assert replace_value(document, ["new"], []) == {"a": ["x", {"b": 3}], "new": []}
    assert replace_value(document, [], 7) == 7


@pytest.mark.parametrize(
    "tokens", [["a", "2"], ["a", "-1"], ["a", "-", "b"], ["a", "0", "x"], ["no", "x"]], ids=join
)
def test_a_value_is_never_put_where_nothing_leads(tokens: list[str]) -> None:
    document = {"a": [1, 2]}
    with pytest.raises(KeyError):
        replace_value(document, tokens, "new")
    assert document == {"a": [1, 2]}
