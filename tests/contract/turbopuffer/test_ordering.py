"""Order by id, pages, and what rows show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, ids, upsert


@pytest.fixture
def documents(namespace: Namespace) -> Namespace:
    upsert(
        namespace,
        {"id": "c", "n": 2, "raw": "s"},
        {"id": "a", "n": 1},
        {"id": "d"},
        {"id": "b", "n": 2},
    )
    return namespace


def test_rows_are_in_order_of_their_ids(documents: Namespace) -> None:
    answer = documents.query(rank_by=("id", "asc"), limit=10)
    assert ids(answer) == ["a", "b", "c", "d"]
    assert all("$dist" not in (row.model_extra or {}) for row in answer.rows or [])
    assert ids(documents.query(rank_by=("id", "asc"), limit=2)) == ["a", "b"]


def test_many_rows_are_in_the_order_of_few(namespace: Namespace) -> None:
    names = [f"{i:05}" for i in range(12_000)]
    for first in range(0, len(names), 4_000):
        upsert(namespace, *({"id": name} for name in reversed(names[first : first + 4_000])))
    namespace.write(deletes=names[:3])
    both: list[Any] = [("id", "Gt", ""), ("And", [])]
    for filters in both:
        page = namespace.query(rank_by=("id", "asc"), limit=10_000, filters=filters)
        assert ids(page) == names[3:10_003]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, set()),
        ({"include_attributes": False}, set()),
        ({"include_attributes": []}, set()),
        ({"include_attributes": True}, {"n", "raw"}),
        ({"include_attributes": ["n", "vector"]}, {"n"}),
    ],
    ids=lambda value: str(sorted(value)),
)
def test_rows_show_what_is_asked_for(
    documents: Namespace, more: dict[str, Any], expected: set[str]
) -> None:
    rows = documents.query(rank_by=("id", "asc"), limit=3, **more).rows or []
    assert [row.id for row in rows] == ["a", "b", "c"]
    assert set(rows[2].model_extra or {}) == expected
    assert "raw" not in (rows[0].model_extra or {})  # null attributes are left out
    shows_vectors = more.get("include_attributes") in (True, ["n", "vector"])
    assert [row.vector for row in rows] == [[1.0, 0.0] if shows_vectors else None] * 3
