"""What each filter operator matches, nulls included."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target, found, ids

SCHEMA: dict[str, Any] = {
    "n": "int",
    "u": "uint",
    "f": "float",
    "ok": "bool",
    "text": "string",
    "path": {"type": "string", "glob": True},
    "paths": {"type": "[]string", "glob": True},
    "tags": "[]string",
    "numbers": "[]int",
    "at": "datetime",
    "key": "uuid",
    "words": {"type": "string", "full_text_search": True},
    "tokens": {"type": "[]string", "full_text_search": {"tokenizer": "pre_tokenized_array"}},
}
UUID = "6F1C1A2E-9B7A-4C55-8D1E-1A2B3C4D5E6F"
# Document 4 has nothing but its id; every attribute of it is null.
DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": 1,
        "n": -1,
        "u": 2**63,
        "f": 0.5,
        "ok": True,
        "text": "apple",
        "path": "/a/b/c.md",
        "paths": ["/x", "/a"],
        "tags": ["red", "round"],
        "numbers": [1, 2],
        "at": "2026-01-01T00:00:00Z",
        "key": UUID,
        "words": "The quick brown fox",
        "tokens": ["Alpha", "beta"],
    },
    {
        "id": 2,
        "n": 5,
        "u": 7,
        "f": 2,
        "ok": False,
        "text": "Banane",
        "path": "/A/b",
        "paths": ["/y"],
        "tags": ["yellow"],
        "numbers": [2],
        "at": "2026-01-01T02:00:00+01:00",
        "words": "a lazy brown dog",
        "tokens": ["beta"],
    },
    {"id": 3, "n": 10, "text": "", "tags": [], "numbers": [], "tokens": [], "words": "狐狸 fox"},
    {"id": 4},
]
ALL = [1, 2, 3, 4]
CASES: list[tuple[Any, list[int]]] = [
    (("n", "Eq", 5), [2]),
    (("n", "NotEq", 5), [1, 3, 4]),
    (("n", "Eq", None), [4]),
    (("n", "NotEq", None), [1, 2, 3]),
    (("n", "In", [5, 10, 99]), [2, 3]),
    (("n", "In", []), []),
    (("n", "NotIn", [5, 10]), [1, 4]),
    (("n", "Lt", 5), [1, 4]),
    (("n", "Lte", 5), [1, 2, 4]),
    (("n", "Gt", 5), [3]),
    (("n", "Gte", 5), [2, 3]),
    (("n", "Lt", None), []),
    (("n", "Lte", None), [4]),
    (("n", "Gt", None), [1, 2, 3]),
    (("n", "Gte", None), ALL),
    (("u", "Eq", 2**63), [1]),
    (("u", "Gt", 7), [1]),
    (("f", "Gte", 2), [2]),
    (("f", "Lt", 1.5), [1, 3, 4]),
    (("ok", "Eq", False), [2]),
    (("ok", "NotEq", True), [2, 3, 4]),
    (("text", "Eq", ""), [3]),
    (("text", "In", ["apple", "pear"]), [1]),
    (("text", "NotIn", ["apple", ""]), [2, 4]),
    (("text", "Gt", "B"), [1, 2]),
    (("text", "Lt", "B"), [3, 4]),
    (("text", "Gte", "Banane"), [1, 2]),
    (("at", "Eq", "2026-01-01T01:00:00"), [2]),
    (("at", "Lt", "2026-01-01T00:30:00Z"), [1, 3, 4]),
    (("at", "Gt", "2026-01-01"), [2]),
    (("key", "Eq", UUID.lower()), [1]),
    (("tags", "Contains", "red"), [1]),
    (("tags", "NotContains", "red"), [2, 3, 4]),
    (("tags", "ContainsAny", ["red", "yellow", "blue"]), [1, 2]),
    (("tags", "ContainsAny", []), []),
    (("tags", "NotContainsAny", ["round", "yellow"]), [3, 4]),
    (("tags", "In", ["yellow"]), [2]),
    (("tags", "Eq", None), [4]),
    (("tags", "NotEq", None), [1, 2, 3]),
    (("numbers", "Contains", 2), [1, 2]),
    (("path", "Glob", "/a/*"), [1]),
    (("path", "Glob", "/?/b*"), [1, 2]),
    (("path", "Glob", "/a/**"), [1]),
    (("path", "Glob", "/[ab]/{b,x}/c.md"), [1]),
    (("path", "Glob", "/a/b/c\\.md"), [1]),
    (("path", "Glob", "/[!a]/b"), [2]),
    (("path", "NotGlob", "/a/**"), [2, 3, 4]),
    (("path", "IGlob", "/A/B*"), [1, 2]),
    (("paths", "Glob", "/[a-x]"), [1]),
    (("paths", "NotGlob", "/*"), [3, 4]),
    (("words", "ContainsAllTokens", "BROWN fox"), [1]),
    (("words", "ContainsAnyToken", "fox lazy"), [1, 2, 3]),
    (("words", "ContainsAnyToken", "狸"), [3]),
    (("tokens", "ContainsAllTokens", ["beta"]), [1, 2]),
    (("tokens", "ContainsAllTokens", ["Alpha", "beta"]), [1]),
    (("tokens", "ContainsAnyToken", ["alpha", "gamma"]), []),
    (("id", "Gt", 2), [3, 4]),
    (("id", "In", [1, 4, 9]), [1, 4]),
    (("id", "NotEq", 1), [2, 3, 4]),
    (("And", [("n", "Gt", 0), ("ok", "Eq", False)]), [2]),
    (("And", []), ALL),
    (("Or", [("n", "Eq", -1), ("n", "Eq", None)]), [1, 4]),
    (("Or", []), []),
    (("Not", ("n", "Lt", 5)), [2, 3]),
    (("Not", ("Or", [("id", "Eq", 1), ("And", [("id", "Gt", 2), ("n", "Eq", None)])])), [2, 3]),
]


@pytest.fixture(scope="module")
def documents(shared_target: Target) -> Namespace:
    namespace = shared_target.namespace()
    namespace.write(upsert_rows=DOCUMENTS, schema=SCHEMA)
    return namespace


@pytest.mark.parametrize(("filters", "expected"), CASES, ids=str)
def test_a_filter_matches_these_documents(
    documents: Namespace, filters: Any, expected: list[int]
) -> None:
    assert found(documents, filters) == expected


@pytest.mark.parametrize("filters", [("n", "Lt", 5), ("tags", "Contains", "red")], ids=str)
def test_a_count_counts_what_the_filter_matches(documents: Namespace, filters: Any) -> None:
    answer = documents.query(aggregate_by={"n": ("Count",)}, filters=filters)
    assert answer.aggregations == {"n": len(found(documents, filters))}


def test_a_look_up_needs_no_ranking(documents: Namespace) -> None:
    assert sorted(ids(documents.query(filters=("n", "Gt", 0), limit=10))) == [2, 3]
