"""Ordering by attributes, pages, and what rows show."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, ids

DOCUMENTS: list[dict[str, Any]] = [
    {"id": "c", "n": 2, "name": "b", "secret": "s"},
    {"id": "a", "n": 1, "name": "b"},
    {"id": "d", "name": "a"},
    {"id": "b", "n": 2, "name": "a"},
]


@pytest.fixture
def documents(namespace: Namespace) -> Namespace:
    namespace.write(
        upsert_rows=DOCUMENTS, schema={"secret": {"type": "string", "filterable": False}}
    )
    return namespace


@pytest.mark.parametrize(
    ("rank_by", "expected"),
    [
        (("id", "asc"), ["a", "b", "c", "d"]),
        (("id", "desc"), ["d", "c", "b", "a"]),
        ([("n", "asc"), ("id", "asc")], ["d", "a", "b", "c"]),
        ([("n", "desc"), ("id", "desc")], ["c", "b", "a", "d"]),
        ([("name", "asc"), ("n", "desc")], ["b", "d", "c", "a"]),
        ([("name", "desc"), ("id", "asc")], ["a", "c", "b", "d"]),
    ],
    ids=str,
)
def test_null_comes_first_ascending_and_last_descending(
    documents: Namespace, rank_by: Any, expected: list[str]
) -> None:
    answer = documents.query(rank_by=rank_by, limit=10)
    assert ids(answer) == expected
    assert all("$dist" not in (row.model_extra or {}) for row in answer.rows or [])


def test_pages_cover_everything_once(documents: Namespace) -> None:
    for size in (1, 2, 3):
        pages = [
            ids(documents.query(rank_by=("id", "asc"), limit=size, offset=offset))
            for offset in range(0, 5, size)
        ]
        assert [identity for page in pages for identity in page] == ["a", "b", "c", "d"]


def test_pages_by_the_last_id_cover_everything_once(documents: Namespace) -> None:
    seen: list[str] = []
    while True:
        after = seen[-1] if seen else ""
        page = ids(documents.query(rank_by=("id", "asc"), limit=3, filters=("id", "Gt", after)))
        if not page:
            break
        seen += page
    assert seen == ["a", "b", "c", "d"]


def test_top_k_and_total_are_other_names_of_limit(documents: Namespace) -> None:
    for more in ({"top_k": 2}, {"limit": 2}, {"limit": {"total": 2}}):
        assert ids(documents.query(rank_by=("id", "asc"), **more)) == ["a", "b"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, set()),
        ({"include_attributes": False}, set()),
        ({"include_attributes": []}, set()),
        ({"include_attributes": True}, {"n", "name", "secret"}),
        ({"include_attributes": ["n", "id"]}, {"n"}),
        ({"exclude_attributes": ["n"]}, {"name", "secret"}),
    ],
    ids=lambda value: str(sorted(value)),
)
def test_rows_show_what_is_asked_for(
    documents: Namespace, more: dict[str, Any], expected: set[str]
) -> None:
    rows = documents.query(rank_by=("id", "asc"), limit=3, **more).rows or []
    assert [row.id for row in rows] == ["a", "b", "c"]
    assert set(rows[2].model_extra or {}) == expected
    assert "secret" not in (rows[0].model_extra or {})  # null attributes are left out


def test_ids_are_in_the_order_of_numbers_not_of_texts(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": i} for i in (10, 9, 2**64 - 1, 100)])
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == [9, 10, 100, 2**64 - 1]


def test_uuids_are_ids_in_one_form(namespace: Namespace) -> None:
    text = "6F1C1A2E-9B7A-4C55-8D1E-1A2B3C4D5E6F"
    namespace.write(upsert_rows=[{"id": text, "n": 1}], schema={"id": "uuid", "n": "int"})
    namespace.write(patch_rows=[{"id": text.lower(), "n": 2}])
    rows = namespace.query(rank_by=("id", "asc"), limit=9, include_attributes=True).rows or []
    assert [(row.id, row["n"]) for row in rows] == [(text.lower(), 2)]
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9, filters=("id", "Eq", text))) == [
        text.lower()
    ]
