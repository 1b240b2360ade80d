"""Filters: what is read, what holds, and which fields belong to a string."""

from __future__ import annotations

import json
import random
from cProfile import Profile
from decimal import Decimal

import pytest

from context_search.core.errors import FilterInvalidError
from context_search.core.filters import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_IN,
    NOTHING,
    both,
    field_value,
    fields_of,
    matches,
    names_of,
    parse_filter,
    parse_names,
    to_mapping,
)
from context_search.core.json_pointer import split
from tests.filtering import JsonObject, oracle, random_fields, random_filter


def holds(wanted: JsonObject, fields: JsonObject) -> bool:
    known = {name: value for name in fields if (value := field_value(fields[name])) is not None}
    return matches(parse_filter(wanted), known)


@pytest.mark.parametrize(
    ("wanted", "fields", "expected"),
    [
        ({"a": {"eq": "x"}}, {"a": "x"}, True),
        ({"a": {"eq": "x"}}, {"a": "X"}, False),
        ({"a": {"eq": "x"}}, {"a": ["y", "x"]}, True),
        ({"a": {"eq": "x"}}, {}, False),
        ({"a": {"eq": 1}}, {"a": "1"}, False),
        ({"a": {"eq": 1}}, {"a": True}, False),
        ({"a": {"eq": True}}, {"a": 1}, False),
        ({"a": {"in": [1, True]}}, {"a": Decimal("1.0")}, True),
        ({"a": {"eq": 0}}, {"a": Decimal("-0.0")}, True),
        ({"a": {"eq": 2**53}}, {"a": 2**53 + 1}, False),
        ({"a": {"lt": 2**53 + 1}}, {"a": 2**53}, True),
        ({"a": {"eq": Decimal("0.1")}}, {"a": 0.1}, True),
        ({"a": {"lt": 2}}, {"a": "1"}, False),
        ({"a": {"gte": "b"}}, {"a": "b"}, True),
        ({"a": {"gt": "😀"}}, {"a": "\uffff"}, False),
        ({"a": {"gte": 1, "lt": 2}}, {"a": 2}, False),
        ({"a": {"gte": 1, "lt": 2}}, {"a": [0, 3]}, True),
        ({"a": {"prefix": "ab"}}, {"a": "abc"}, True),
        ({"a": {"prefix": "ab"}}, {"a": 12}, False),
        ({"a": {"contains": "x"}}, {"a": ["x"]}, True),
        ({"a": {"contains": "x"}}, {"a": "x"}, False),
        ({"a": {"exists": True}}, {"a": []}, True),
        ({"a": {"exists": False}}, {"a": None}, True),
        ({"a": {"exists": False}}, {"a": {"b": 1}}, True),
        ({"not": {"a": {"eq": "x"}}}, {}, True),
        ({"not": {"a": {"eq": "x"}}}, {"a": ["x", "y"]}, False),
        ({"or": [{"a": {"eq": 1}}, {"b": {"eq": 2}}]}, {"b": 2}, True),
        ({"and": [{"a": {"eq": 1}}, {"b": {"eq": 2}}]}, {"b": 2}, False),
        ({"a": {"eq": 1}, "b": {"eq": 2}}, {"a": 1, "b": 2}, True),
        ({"a": {"exists": True}}, {"a": "x" * 257}, False),
        ({"a": {"exists": True}}, {"a": ["x", None]}, False),
        ({"a": {"exists": True}}, {"a": ["x", ["y"]]}, False),
        ({"a": {"exists": True}}, {"a": list(range(65))}, False),
        ({"a": {"exists": True}}, {"a": Decimal("1e400")}, False),
        ({"a": {"exists": True}}, {"a": 10**64}, False),
        ({"a": {"exists": True}}, {"a": float("nan")}, False),
    ],
)
def test_what_a_filter_lets_through(
    wanted: JsonObject, fields: JsonObject, *, expected: bool
) -> None:
    assert holds(wanted, fields) is expected


def deep(levels: int) -> JsonObject:
    wanted: JsonObject = {"a": {"eq": 1}}
    for _ in range(levels):
        wanted = {"not": wanted}
    return wanted


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "a",
        {},
        {"a": 1},
        {"a": {}},
        {"a": {"eq": None}},
        {"a": {"eq": ["x"]}},
        {"a": {"eq": {"x": 1}}},
        {"a": {"eq": "x" * 257}},
        {"a": {"eq": 10**64}},
        {"a": {"eq": Decimal("1e999")}},
        {"a": {"eq": Decimal("NaN")}},
        {"a": {"eq": float("nan")}},
        {"a": {"eq": float("inf")}},
        {"a": {"eq": "\x00"}},
        {"a": {"eq": "\ud800"}},
        {"a": {"$eq": 1}},
        {"a": {"in": []}},
        {"a": {"in": "x"}},
        {"a": {"in": list(range(101))}},
        {"a": {"in": [[1]]}},
        {"a": {"lt": True}},
        {"a": {"prefix": 1}},
        {"a": {"prefix": ""}},
        {"a": {"exists": 1}},
        {"": {"eq": 1}},
        {"a~2": {"eq": 1}},
        {"a" * 129: {"eq": 1}},
        {"a\x00": {"eq": 1}},
        {"and": []},
        {"and": {"a": {"eq": 1}}},
        {"or": [1]},
        {"or": [{"a": {"eq": 1}}] * 65},
        {"and": [{"or": [{"a": {"eq": n}} for n in range(40)]}] * 2},
        {"or": [*[{"a": {"in": list(range(100))}}] * 5, {"a": {"eq": 1}}]},
        {"not": [{"a": {"eq": 1}}]},
        deep(MAX_DEPTH),
        deep(5_000),
    ],
)
def test_what_no_filter_is(given: object) -> None:
    with pytest.raises(FilterInvalidError) as error:
        parse_filter(given)
    assert error.value.code == "FILTER_INVALID"


def test_an_error_quotes_no_value() -> None:
    with pytest.raises(FilterInvalidError) as error:
        parse_filter({"salary": {"eq": ["a secret"]}})
    assert "secret" not in error.value.message
    assert "salary" not in error.value.message


def test_as_many_values_as_may_be() -> None:
    given = {"or": [{"a": {"in": list(range(n, n + 100))}} for n in range(0, 500, 100)]}
    assert matches(parse_filter(given), {"a": 499})


def test_as_deep_as_may_be() -> None:
    assert names_of(parse_filter(deep(MAX_DEPTH - 1))) == {"a"}


def test_two_filters_hold_where_each_does() -> None:
    first, second = parse_filter({"a": {"eq": 1}}), parse_filter({"b": {"eq": 2}})
    assert both(None, None) is None
    assert (both(first, None), both(None, second)) == (first, second)
    together = both(first, second)
    assert together is not None
    assert matches(together, {"a": 1, "b": 2})
    assert not matches(together, {"a": 1})
    assert not matches(NOTHING, {"a": 1})


def test_names_are_few_and_each_once() -> None:
    assert parse_names(["a", "b/c", "a"]) == ("a", "b/c")
    with pytest.raises(FilterInvalidError):
        parse_names([f"f{n}" for n in range(17)])
    for name in (1, "", "and", "or", "not", "x~"):
        with pytest.raises(FilterInvalidError):
            parse_names([name])


# ---- Which fields belong to a string.


DOCUMENT = {
    "status": "draft",
    "by": {"name": "Ada"},
    "letters": [
        {"status": "sent", "body": "…", "parts": [["…"]]},
        {"body": "…", "by": {"born": 1815}},
        {"status": None, "body": "…"},
    ],
    "a/b": {"~": {"text": "…"}},
}


@pytest.mark.parametrize(
    ("pointer", "name", "value"),
    [
        ("/letters/0/body", "status", "sent"),
        ("/letters/0/parts/0/0", "status", "sent"),
        ("/letters/1/body", "status", "draft"),
        ("/letters/2/body", "status", None),  # null hides what is further out
        ("/letters/1/body", "by/name", "Ada"),
        ("/letters/1/body", "by/born", 1815),
        ("/letters/0/body", "by/born", None),
        ("/letters/0/body", "by", None),  # an object is no value
        ("/a~1b/~0/text", "status", "draft"),
        ("/a~1b/~0/text", "text", "…"),
        ("/nowhere/at/all", "status", "draft"),
        ("", "status", None),
    ],
)
def test_a_field_is_of_the_nearest_object_that_has_it(
    pointer: str, name: str, value: object
) -> None:
    assert fields_of(DOCUMENT, split(pointer), [name]).get(name) == value


def test_random_filters_hold_where_the_oracle_says_so() -> None:
    rng, held = random.Random(17), 0
    for _ in range(20_000):
        wanted, fields = random_filter(rng), random_fields(rng)
        expected = oracle(wanted, fields)
        assert holds(wanted, fields) is expected, (wanted, fields)
        held += expected
    assert 2_000 < held < 16_000


def test_a_filter_that_was_written_down_is_the_same_again() -> None:
    rng = random.Random(18)
    for _ in range(500):
        wanted = parse_filter(random_filter(rng))
        text = json.dumps(to_mapping(wanted), default=str)
        assert "Decimal" not in text
        again = parse_filter(to_mapping(wanted))
        for _ in range(20):
            fields = {name: field_value(value) for name, value in random_fields(rng).items()}
            known = {name: value for name, value in fields.items() if value is not None}
            assert matches(wanted, known) == matches(again, known)


def test_many_values_are_looked_up_and_not_compared_each_with_each() -> None:
    wanted = parse_filter({"n": {"in": list(range(MAX_IN))}})
    fields = {"n": tuple(range(MAX_IN, MAX_IN + MAX_ELEMENTS))}
    with Profile() as profile:
        assert not matches(wanted, fields)
    calls = sum(each.callcount for each in profile.getstats())
    assert calls < 10 * (MAX_IN + MAX_ELEMENTS)
