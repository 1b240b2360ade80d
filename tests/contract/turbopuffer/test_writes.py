"""Upserts and deletes."""

from __future__ import annotations

from typing import Any

from tests.contract.turbopuffer.targets import Namespace, Target, found, ids, upsert


def rows(namespace: Namespace) -> list[dict[str, Any]]:
    answer = namespace.query(rank_by=("id", "asc"), limit=100, include_attributes=True)
    return [row.model_dump(exclude={"vector"}) for row in answer.rows or []]


def test_an_upsert_is_read_back_as_it_was_written(namespace: Namespace) -> None:
    document = {"id": "a", "raw": "red", "n": -3, "tags": ["x", "y"], "content": ["t"]}
    upsert(namespace, {**document, "vector": [0.5, 0.25]})
    assert rows(namespace) == [document]
    [row] = (
        namespace.query(rank_by=("id", "asc"), limit=9, include_attributes=["vector"]).rows or []
    )
    assert row.vector == [0.5, 0.25]


def test_a_moment_is_kept_in_utc(namespace: Namespace) -> None:
    upsert(namespace, {"id": "a", "at": "2026-01-01T02:00:00+01:00"})
    [row] = rows(namespace)
    assert row["at"].startswith("2026-01-01T01:00:00")


def test_an_upsert_replaces_the_whole_document(namespace: Namespace) -> None:
    upsert(namespace, {"id": "a", "raw": "red", "n": 1})
    namespace.write(upsert_rows=[{"id": "a", "n": 2, "vector": [0.0, 1.0]}])
    assert rows(namespace) == [{"id": "a", "n": 2}]
    assert found(namespace, ("n", "In", [1])) == []


def test_a_null_is_no_value(namespace: Namespace) -> None:
    upsert(namespace, {"id": "a", "raw": None, "n": 1, "tags": None})
    assert rows(namespace) == [{"id": "a", "n": 1}]


def test_affected_rows_are_counted_per_operation(namespace: Namespace) -> None:
    upsert(namespace, *({"id": str(i)} for i in range(4)))
    answer = namespace.write(
        upsert_rows=[{"id": name, "vector": [1.0, 1.0]} for name in ("0", "7", "8")],
        deletes=["2", "ghost"],
    )
    assert (answer.rows_upserted, answer.rows_deleted, answer.rows_affected) == (3, 2, 5)
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == ["0", "1", "3", "7", "8"]
    only_deletes = namespace.write(deletes=["0"])
    assert (only_deletes.rows_upserted, only_deletes.rows_deleted) == (None, 1)


def test_a_wrong_row_leaves_the_rest_of_its_request_undone(
    namespace: Namespace, target: Target
) -> None:
    upsert(namespace, {"id": "1", "raw": "red"})
    good, bad = ({"id": name, "vector": [1.0, 0.0]} for name in ("2", "3"))
    target.refuses(
        lambda: namespace.write(deletes=["1"], upsert_rows=[good, bad | {"raw": 5}]), 400
    )
    assert rows(namespace) == [{"id": "1", "raw": "red"}]


def test_ten_thousand_replacements_leave_the_last_ones(namespace: Namespace) -> None:
    for version in range(20):
        upsert(
            namespace,
            *(
                {
                    "id": f"{i:03}",
                    "n": version,
                    "tags": [f"v{version}", "all"],
                    "content": ["old"] if version < 19 else ["new"],
                    "vector": [1.0, float(version)],
                }
                for i in range(500)
            ),
        )
    everything = [f"{i:03}" for i in range(500)]

    def matching(*leaf: Any) -> list[Any]:
        return ids(namespace.query(rank_by=("id", "asc"), limit=1_000, filters=leaf))

    assert matching("n", "In", list(range(19))) == []
    assert matching("n", "In", [19]) == everything
    assert matching("tags", "Contains", "v18") == []
    assert matching("tags", "Contains", "v19") == everything
    assert matching("id", "Gt", "497") == ["498", "499"]
    assert ids(namespace.query(rank_by=("content", "BM25", ["old"]), limit=9)) == []
    assert len(ids(namespace.query(rank_by=("content", "BM25", ["new"]), limit=1_000))) == 500
    nearest = namespace.query(rank_by=("vector", "ANN", [1.0, 19.0]), limit=3).rows or []
    assert [round(row["$dist"], 5) for row in nearest] == [0, 0, 0]
