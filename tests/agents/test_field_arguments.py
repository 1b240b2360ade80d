"""Arguments by which agents filter: their names, what models read of them, what calls may give."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.agents.tools.field_arguments import (
    MAX_ENUM,
    keys_of,
    names_of_arguments,
    properties_of,
)
from context_search.agents.tools.search_tools import parse_search_arguments, search_tool
from context_search.core.errors import InvalidInputError
from context_search.core.filters import MAX_FIELDS, Fields, Value, field_value, matches
from context_search.searching.rules.searched import SeenFields
from tests.filtering import VALUES, oracle
from tests.profile import examples

KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
AWKWARD = [
    "query",
    "top_k",
    "a",
    "a_min",
    "a_max",
    "a_2",
    "A",
    "作者",
    "状态",
    "a/b",
    "a_b",
    "_",
    "x" * 128,
]
NAMES = st.lists(
    st.sampled_from(AWKWARD) | st.text(min_size=1, max_size=128),
    unique=True,
    min_size=1,
    max_size=MAX_FIELDS,
)  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=300)
SCALARS = st.sampled_from(VALUES) | TEXT | st.booleans() | st.integers()
LISTS = st.lists(SCALARS, max_size=5)


def known(fields: Mapping[str, object]) -> Fields:
    """As a store has them."""
    return {n: value for n, each in fields.items() if (value := field_value(each)) is not None}


def seen(*strings: Mapping[str, object], are_all: bool = True) -> SeenFields:
    return SeenFields(tuple(known(each) for each in strings), are_all)


def schema_of(names: Sequence[str], of: SeenFields) -> Any:
    tool = search_tool(
        name="t", title="t", description="", table_name="", conditions=properties_of(names, of)
    )
    return tool.input_schema


def properties(name: str, *values: object, are_all: bool = True) -> dict[str, Any]:
    """What is described of one field that has these values."""
    found = properties_of([name], seen(*({name: value} for value in values), are_all=are_all))
    return {key: each for key, each in found.items() if isinstance(each, dict)}


# ---- Names.


@given(NAMES)
def test_every_name_of_an_argument_is_valid_and_unlike_all_others(names: list[str]) -> None:
    arguments = names_of_arguments(names)
    assert all(KEY.fullmatch(argument) for argument in arguments)
    assert len({"query", "top_k", *arguments}) == 2 + 3 * len(names)
    assert keys_of(names) == keys_of(list(names))
    assert list(keys_of(names)) == names


def test_a_name_is_as_readable_as_it_may_be() -> None:
    names = ["year", "author/name", "作者", "top_k", "query", "a", "a_min", "_id", "x" * 128]
    assert list(keys_of(names).values()) == [
        *["year", "author_name", "field_3", "top_k_2", "query_2", "a", "a_min_2", "id", "x" * 60]
    ]


def test_a_field_whose_name_says_nothing_is_named_in_its_description() -> None:
    [field] = properties("作者").values()
    assert "“作者”" in field["description"]


# ---- What models read.


def test_few_strings_are_all_listed() -> None:
    field = properties("status", "public", ["draft", "public"])["status"]
    assert (field["type"], field["enum"]) == ("string", ["draft", "public"])


@pytest.mark.parametrize(
    "values",
    [
        [str(n) for n in range(MAX_ENUM + 1)],
        ["public", "x" * 65],
        ["public", ""],
        ["public", "dra\u202eft"],
        ["public", "dra\nft"],
        ["public", "dra\U000e0041ft"],
    ],
    ids=["many", "long", "empty", "turned", "lines", "tags"],
)
def test_strings_that_cannot_all_be_listed_are_no_enumeration(values: list[str]) -> None:
    field = properties("status", *values)["status"]
    assert "enum" not in field
    assert field["maxLength"] == 256
    assert "For example: " in field["description"]
    for value in values[1:]:
        if not re.fullmatch("[0-9]+", value):
            assert json.dumps(value, ensure_ascii=False) not in field["description"]


def test_where_not_all_was_looked_at_there_is_no_enumeration() -> None:
    field = properties("status", "b", "a", "b", are_all=False)["status"]
    assert "enum" not in field
    assert 'For example: "b", "a".' in field["description"]  # what many have comes first


def test_numbers_have_a_least_and_a_greatest() -> None:
    found = properties("year", 1902, [1901, Decimal("1903.5")], True)
    assert {key: field["type"] for key, field in found.items()} == {
        "year_min": "number",
        "year_max": "number",
    }
    assert all("Seen: 1901 to 1903.5." in field["description"] for field in found.values())


def test_a_field_of_booleans_is_one() -> None:
    assert properties("is_new", True, False)["is_new"]["type"] == "boolean"
    assert list(properties("is_new", True, 1)) == ["is_new_min", "is_new_max"]


@pytest.mark.parametrize("values", [[], [[]], [1, "one"], [True, "yes", 2]])
def test_a_field_with_strings_or_without_values_has_a_string(values: list[object]) -> None:
    assert {key: field["type"] for key, field in properties("x", *values).items()} == {
        "x": "string"
    }


def test_values_of_other_fields_are_not_shown() -> None:
    shown = json.dumps(properties_of(["a"], seen({"a": "mine", "b": "theirs"})))
    assert "mine" in shown
    assert "theirs" not in shown


@settings(max_examples=examples(50))
@given(data=st.data(), names=NAMES, are_all=st.booleans())
def test_whatever_was_seen_makes_a_flat_schema_of_bounded_length(
    data: st.DataObject, names: list[str], *, are_all: bool
) -> None:
    fields = st.dictionaries(st.sampled_from(names), SCALARS | LISTS)
    schema = schema_of(names, seen(*data.draw(st.lists(fields, max_size=9)), are_all=are_all))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["required"] == ["query"]
    added = {
        key: each for key, each in schema["properties"].items() if key not in ("query", "top_k")
    }
    assert added.keys() <= set(names_of_arguments(names))
    for field in added.values():
        assert field["type"] in ("string", "number", "boolean")
        assert not {"properties", "items", "anyOf", "oneOf"} & field.keys()
        assert len(json.dumps(field, ensure_ascii=False)) < 4_000


# ---- What calls give.


@settings(max_examples=examples(80))
@given(st.data(), NAMES, st.lists(LISTS | SCALARS, max_size=6))
def test_what_the_schema_allows_is_a_filter_that_means_it(
    data: st.DataObject, names: list[str], values: list[object]
) -> None:
    own = known({name: data.draw(st.sampled_from(values)) for name in names} if values else {})
    schema = schema_of(names, seen(own))
    given_by = {
        "string": TEXT.filter(lambda text: len(text) <= 256),
        "number": st.integers(-(10**30), 10**30) | st.floats(-1e9, 1e9).map(lambda n: round(n, 6)),
        "boolean": st.booleans(),
    }
    described = {k: v for k, v in schema["properties"].items() if k not in ("query", "top_k")}
    arguments = {
        key: data.draw(
            st.sampled_from(field["enum"]) if "enum" in field else given_by[field["type"]]
        )
        for key, field in described.items()
        if data.draw(st.booleans())
    }
    assert jsonschema.Draft202012Validator(schema).is_valid({"query": "x", **arguments})
    wanted = parse_search_arguments({"query": "x", **arguments}, names).filter
    expected = [
        oracle({name: {operator: exact(arguments[key + ending])}}, as_json(own))
        for name, key in keys_of(names).items()
        for operator, ending in (("eq", ""), ("gte", "_min"), ("lte", "_max"))
        if key + ending in arguments
    ]
    assert (wanted is None) == (not arguments)
    assert (wanted is None or matches(wanted, own)) == all(expected)


def exact(value: object) -> object:
    return Decimal(repr(value)) if isinstance(value, float) else value


def as_json(fields: Mapping[str, Value]) -> dict[str, object]:
    return {n: list(each) if isinstance(each, tuple) else each for n, each in fields.items()}


@pytest.mark.parametrize(
    "arguments",
    [
        {"status": "x" * 257},
        {"status": "x" * 10_000},
        {"status": ["public"]},
        {"status": {"eq": "public"}},
        {"status": 1},
        {"status": "a\x00b"},
        {"status": "\ud800"},
        {"status_min": "1901"},
        {"status_min": True},
        {"status_max": float("nan")},
        {"status_max": float("inf")},
        {"status_max": 10**64},
        {"status_max": 1e-300},
        {"filter": {"status": {"eq": "public"}}},
        {"year": 1901},
        {"Status": "public"},
    ],
)
def test_what_is_no_value_of_a_field_is_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        parse_search_arguments({"query": "x", **arguments}, ["status"])
    assert len(refused.value.message) < 300
    assert "public" not in refused.value.message


def test_a_refusal_says_what_there_is_instead() -> None:
    with pytest.raises(InvalidInputError, match="numbers go into year_min and year_max"):
        parse_search_arguments({"query": "x", "year": 1901}, ["year"])
    with pytest.raises(InvalidInputError, match="'years'; there are query and top_k, year, "):
        parse_search_arguments({"query": "x", "years": 1901}, ["year"])
    with pytest.raises(InvalidInputError, match=r"'year'; there are query and top_k$"):
        parse_search_arguments({"query": "x", "year": "1901"})
