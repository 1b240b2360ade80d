"""Upserts, patches and deletes."""

from __future__ import annotations

from typing import Any

from tests.contract.turbopuffer.targets import Namespace, Target, found, ids

SCHEMA: dict[str, Any] = {"color": "string", "n": "int", "tags": "[]string"}


def rows(namespace: Namespace) -> list[dict[str, Any]]:
    answer = namespace.query(rank_by=("id", "asc"), limit=100, include_attributes=True)
    return [row.model_dump(exclude={"vector"}) for row in answer.rows or []]


def test_an_upsert_is_read_back_as_it_was_written(namespace: Namespace) -> None:
    document = {"id": "a", "color": "red", "n": -3, "tags": ["x", "y"]}
    namespace.write(upsert_rows=[document], schema=SCHEMA)
    assert rows(namespace) == [document]


def test_an_upsert_replaces_the_whole_document(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": "a", "color": "red", "n": 1}], schema=SCHEMA)
    namespace.write(upsert_rows=[{"id": "a", "n": 2}])
    assert rows(namespace) == [{"id": "a", "n": 2}]


def test_columns_write_the_same_as_rows(namespace: Namespace) -> None:
    namespace.write(
        upsert_columns={"id": ["a", "b"], "color": ["red", None], "n": [1, 2]}, schema=SCHEMA
    )
    assert rows(namespace) == [{"id": "a", "color": "red", "n": 1}, {"id": "b", "n": 2}]
    namespace.write(patch_columns={"id": ["b"], "color": ["blue"]})
    assert rows(namespace)[1] == {"id": "b", "color": "blue", "n": 2}


def test_a_null_is_no_value_and_a_patch_with_null_clears_one(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": "a", "color": None, "n": 1}], schema=SCHEMA)
    assert rows(namespace) == [{"id": "a", "n": 1}]
    namespace.write(patch_rows=[{"id": "a", "color": "red", "n": None}])
    assert rows(namespace) == [{"id": "a", "color": "red"}]
    assert found(namespace, ("n", "Eq", None)) == ["a"]


def test_a_patch_keeps_what_it_does_not_name_and_skips_missing_documents(
    namespace: Namespace,
) -> None:
    namespace.write(
        upsert_rows=[{"id": "a", "color": "red", "n": 1, "vector": [0.5, 0.5]}],
        schema=SCHEMA,
        distance_metric="cosine_distance",
    )
    answer = namespace.write(
        patch_rows=[{"id": "a", "n": 2}, {"id": "ghost", "n": 3}], return_affected_ids=True
    )
    assert answer.patched_ids == ["a"]
    shown = namespace.query(rank_by=("id", "asc"), limit=9, include_attributes=True).rows or []
    assert [(row.id, row["color"], row["n"], row.vector) for row in shown] == [
        ("a", "red", 2, [0.5, 0.5])
    ]


def test_affected_rows_are_counted_per_operation(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": i, "n": i} for i in range(4)], schema={"n": "int"})
    answer = namespace.write(
        upsert_rows=[{"id": 0, "n": 9}, {"id": 7, "n": 9}],
        patch_rows=[{"id": 1, "n": 9}],
        deletes=[2, 99],
        return_affected_ids=True,
    )
    assert (answer.rows_upserted, answer.rows_patched, answer.rows_deleted) == (2, 1, 2)
    assert answer.rows_affected == 5
    assert (answer.upserted_ids, answer.patched_ids, answer.deleted_ids) == ([0, 7], [1], [2, 99])
    assert found(namespace, ("n", "Eq", 9)) == [0, 1, 7]


def test_ids_are_returned_only_when_asked_for(namespace: Namespace) -> None:
    answer = namespace.write(upsert_rows=[{"id": 1, "n": 1}])
    assert answer.upserted_ids is None
    assert answer.rows_deleted is None


def test_delete_by_filter_comes_before_the_upserts_of_the_same_request(
    namespace: Namespace,
) -> None:
    namespace.write(upsert_rows=[{"id": i, "n": 1, "color": "old"} for i in (1, 2)])
    answer = namespace.write(
        delete_by_filter=("n", "Eq", 1), upsert_rows=[{"id": 2, "n": 1}], return_affected_ids=True
    )
    assert answer.deleted_ids == [1, 2]
    assert answer.upserted_ids == [2]
    assert rows(namespace) == [{"id": 2, "n": 1}]


def test_delete_by_filter_deletes_what_matches_and_nothing_else(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": i, "tags": [f"t{i % 3}"]} for i in range(6)])
    answer = namespace.write(delete_by_filter=("tags", "Contains", "t1"), return_affected_ids=True)
    assert answer.deleted_ids == [1, 4]
    assert answer.rows_remaining is None
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == [0, 2, 3, 5]


def test_a_wrong_row_leaves_the_rest_of_its_request_undone(
    namespace: Namespace, target: Target
) -> None:
    namespace.write(upsert_rows=[{"id": 1, "color": "red"}], schema={"color": "string"})
    target.refuses(
        lambda: namespace.write(
            deletes=[1], upsert_rows=[{"id": 2, "color": "blue"}, {"id": 3, "color": 5}]
        ),
        400,
    )
    assert rows(namespace) == [{"id": 1, "color": "red"}]


def test_a_refused_write_adds_nothing_to_the_schema(namespace: Namespace, target: Target) -> None:
    namespace.write(upsert_rows=[{"id": 1, "color": "red"}])
    target.refuses(lambda: namespace.write(upsert_rows=[{"id": 2, "size": 1, "color": 5}]), 400)
    assert set(namespace.schema()) == {"id", "color"}


def test_ten_thousand_replacements_leave_the_last_ones(namespace: Namespace) -> None:
    for version in range(20):
        namespace.write(
            upsert_columns={
                "id": list(range(500)),
                "version": [version] * 500,
                "tags": [[f"v{version}", "all"]] * 500,
                "vector": [[1.0, float(version)]] * 500,
            },
            distance_metric="cosine_distance",
        )
    assert found(namespace, ("version", "NotEq", 19)) == []
    assert namespace.query(
        aggregate_by={"n": ("Count",)}, filters=("tags", "Contains", "v19")
    ).aggregations == {"n": 500}
    nearest = namespace.query(rank_by=("vector", "ANN", [1.0, 19.0]), limit=3)
    assert len(ids(nearest)) == 3
