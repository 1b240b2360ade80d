"""Conditional writes."""

from __future__ import annotations

from tests.contract.turbopuffer.targets import Namespace, Target, found

NEWER = ("version", "Lt", {"$ref_new": "version"})
SCHEMA = {"version": "int", "state": "string"}


def versions(namespace: Namespace) -> dict[int | str, int | None]:
    answer = namespace.query(rank_by=("id", "asc"), limit=100, include_attributes=["version"])
    return {row.id: (row.model_extra or {}).get("version") for row in answer.rows or []}


def test_only_newer_versions_replace_documents_and_missing_ones_are_always_inserted(
    namespace: Namespace,
) -> None:
    namespace.write(upsert_rows=[{"id": i, "version": 5} for i in (1, 2)], schema=SCHEMA)
    answer = namespace.write(
        upsert_rows=[{"id": 1, "version": 4}, {"id": 2, "version": 6}, {"id": 3, "version": 1}],
        upsert_condition=NEWER,
        return_affected_ids=True,
    )
    assert answer.upserted_ids == [2, 3]
    assert versions(namespace) == {1: 5, 2: 6, 3: 1}


def test_a_null_is_older_than_every_version_and_no_version_is_older_than_null(
    namespace: Namespace,
) -> None:
    namespace.write(upsert_rows=[{"id": 1}, {"id": 2, "version": 1}], schema=SCHEMA)
    answer = namespace.write(
        upsert_rows=[{"id": 1, "version": 0}, {"id": 2, "version": None}],
        upsert_condition=NEWER,
        return_affected_ids=True,
    )
    assert answer.upserted_ids == [1]
    assert versions(namespace) == {1: 0, 2: 1}


def test_the_condition_that_the_id_is_null_inserts_only(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": 1, "version": 1}])
    answer = namespace.write(
        upsert_rows=[{"id": 1, "version": 2}, {"id": 2, "version": 2}],
        upsert_condition=("id", "Eq", None),
    )
    assert answer.rows_upserted == 1
    assert versions(namespace) == {1: 1, 2: 2}


def test_a_condition_may_be_a_tree(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[{"id": i, "version": i, "state": "open"} for i in (1, 2, 3)], schema=SCHEMA
    )
    namespace.write(patch_rows=[{"id": 3, "state": "closed"}])
    namespace.write(
        upsert_rows=[{"id": i, "version": 2, "state": "new"} for i in (1, 2, 3)],
        upsert_condition=("And", [("state", "Eq", "open"), ("Not", NEWER)]),
    )
    assert found(namespace, ("state", "Eq", "new")) == [2]


def test_patches_and_deletes_have_conditions_of_their_own(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[{"id": i, "version": i, "state": "open"} for i in range(4)], schema=SCHEMA
    )
    answer = namespace.write(
        patch_rows=[
            {"id": 0, "state": "done"},
            {"id": 1, "state": "done"},
            {"id": 8, "state": "x"},
        ],
        patch_condition=("version", "Gte", 1),
        deletes=[2, 3, 9],
        delete_condition=("version", "Eq", 3),
        return_affected_ids=True,
    )
    assert answer.patched_ids == [1]
    assert answer.deleted_ids == [3]
    assert answer.rows_affected == 2
    assert found(namespace, ("state", "Eq", "open")) == [0, 2]


def test_a_patch_condition_can_read_the_patch(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": 1, "version": 5}, {"id": 2, "version": 5}])
    answer = namespace.write(
        patch_rows=[{"id": 1, "version": 5}, {"id": 2, "version": 9}],
        patch_condition=NEWER,
        return_affected_ids=True,
    )
    assert answer.patched_ids == [2]


def test_conditions_see_what_delete_by_filter_left(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": 1, "version": 9}], schema=SCHEMA)
    namespace.write(
        delete_by_filter=("version", "Eq", 9),
        upsert_rows=[{"id": 1, "version": 2}],
        upsert_condition=NEWER,
    )
    assert versions(namespace) == {1: 2}


def test_a_condition_without_documents_is_refused(namespace: Namespace, target: Target) -> None:
    namespace.write(upsert_rows=[{"id": 1, "version": 1}])
    target.refuses(lambda: namespace.write(upsert_condition=("version", "Eq", 1)), 400)
    target.refuses(
        lambda: namespace.write(
            delete_by_filter=("version", "Eq", 1), delete_condition=("version", "Eq", 1)
        ),
        400,
    )


def test_a_condition_on_an_unknown_attribute_is_refused_before_anything_is_written(
    namespace: Namespace, target: Target
) -> None:
    namespace.write(upsert_rows=[{"id": 1, "version": 1}])
    target.refuses(
        lambda: namespace.write(
            upsert_rows=[{"id": 2, "version": 2}], upsert_condition=("ghost", "Eq", 1)
        ),
        400,
    )
    assert versions(namespace) == {1: 1}
