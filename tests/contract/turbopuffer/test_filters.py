"""What each filter operator matches, nulls included."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target, found, ids, upsert

# Document 4 has nothing but its id and a vector; every other attribute of it is null.
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "1", "n": -1, "tags": ["red", "round"]},
    {"id": "2", "n": 5, "tags": ["yellow"]},
    {"id": "3", "n": 0, "tags": []},
    {"id": "4"},
]
ALL = ["1", "2", "3", "4"]
CASES: list[tuple[Any, list[str]]] = [
    (("n", "In", [5, -1, 99]), ["1", "2"]),
    (("n", "In", [0]), ["3"]),
    (("n", "In", []), []),
    (("tags", "Contains", "red"), ["1"]),
    (("tags", "Contains", "round"), ["1"]),
    (("tags", "Contains", "blue"), []),
    (("tags", "ContainsAny", ["round", "yellow", "blue"]), ["1", "2"]),
    (("tags", "ContainsAny", ["red", "round"]), ["1"]),
    (("tags", "ContainsAny", []), []),
    (("tags", "In", ["round", "yellow", "blue"]), ["1", "2"]),
    (("tags", "In", "red"), ["1"]),
    (("tags", "In", "blue"), []),
    (("tags", "In", []), []),
    (("id", "In", ["1", "4", "9"]), ["1", "4"]),
    (("id", "In", []), []),
    (("id", "Gt", "2"), ["3", "4"]),
    (("id", "Gt", ""), ALL),
    (("id", "Gt", "10"), ["2", "3", "4"]),
    (("id", "Gt", "4"), []),
    (("And", []), ALL),
    (("And", [("tags", "Contains", "red"), ("n", "In", [-1])]), ["1"]),
    (("And", [("tags", "Contains", "red"), ("n", "In", [5])]), []),
    (("And", [("And", [("id", "Gt", "1")]), ("n", "In", [-1, 0, 5])]), ["2", "3"]),
]


@pytest.fixture(scope="module")
def documents(shared_target: Target) -> Namespace:
    namespace = shared_target.namespace()
    upsert(namespace, *DOCUMENTS)
    return namespace


@pytest.mark.parametrize(("filters", "expected"), CASES, ids=str)
def test_a_filter_matches_these_documents(
    documents: Namespace, filters: Any, expected: list[str]
) -> None:
    assert found(documents, filters) == expected


def test_deleted_documents_match_nothing(namespace: Namespace) -> None:
    upsert(namespace, *DOCUMENTS)
    namespace.write(deletes=["1"])
    for filters in (("tags", "Contains", "red"), ("n", "In", [-1]), ("id", "In", ["1"])):
        assert found(namespace, filters) == []
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == ["2", "3", "4"]
