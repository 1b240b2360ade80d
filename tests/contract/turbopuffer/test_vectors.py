"""Nearest neighbours, and how vectors travel."""

from __future__ import annotations

import base64
import math
import random
import struct
from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.turbopuffer.reference import cosine_order
from tests.contract.turbopuffer.targets import COSINE, Namespace, Target, body_of, ids, upsert


def encoded(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


@pytest.mark.parametrize("share", [2, 10], ids=["whole matrix", "gathered rows"])
def test_nearest_come_first_by_cosine(namespace: Namespace, share: int) -> None:
    source = random.Random(5)
    documents = {f"{i:02}": [source.uniform(-1, 1) for _ in range(8)] for i in range(50)}
    namespace.write(
        upsert_rows=[{"id": i, "vector": v, "n": int(i) % share} for i, v in documents.items()],
        schema={"vector": {"type": "[8]f32", "ann": True}, "n": {"type": "int"}},
        distance_metric=COSINE,
    )
    query = [0.3, -0.2, 0.9, 0.1, -0.5, 0.4, 0.0, 0.7]
    answer = namespace.query(rank_by=("vector", "ANN", query), limit=50, filters=("n", "In", [0]))
    assert ids(answer) == [i for i in cosine_order(documents, query) if int(i) % share == 0]
    distances = [row["$dist"] for row in answer.rows or []]
    assert distances == sorted(distances)


def test_equal_distances_are_in_order_of_ids_also_at_the_limit(namespace: Namespace) -> None:
    upsert(namespace, *({"id": name} for name in "dbca"))
    assert ids(namespace.query(rank_by=("vector", "ANN", [1.0, 1.0]), limit=3)) == ["a", "b", "c"]


def write_far(namespace: Namespace, vectors: Mapping[str, list[float]]) -> None:
    """Documents of which the distances are squared differences."""
    namespace.write(
        upsert_rows=[{"id": identity, "vector": vector} for identity, vector in vectors.items()],
        schema={"vector": {"type": "[2]f32", "ann": True}},
        distance_metric="euclidean_squared",
    )


def distances(namespace: Namespace, query: list[float], limit: int) -> list[tuple[str, float]]:
    rows = namespace.query(rank_by=("vector", "ANN", query), limit=limit).rows or []
    return [(str(row.id), row["$dist"]) for row in rows]


def test_nearest_come_first_by_squared_differences(namespace: Namespace) -> None:
    write_far(namespace, {f"{i:02}": [i / 10, i / 10] for i in range(20)})
    found = distances(namespace, [1.5, 1.6], 5)
    assert [identity for identity, _ in found] == ["15", "16", "14", "17", "18"]
    assert [round(distance, 6) for _, distance in found] == [0.01, 0.01, 0.05, 0.05, 0.13]
    assert found[0][1] == found[1][1]
    assert found[2][1] == found[3][1]


def test_small_differences_far_from_the_origin_are_told_apart(namespace: Namespace) -> None:
    write_far(namespace, {"b": [1000.0, 1000.01], "c": [1000.0, 1000.02], "a": [1000.0, 1000.0]})
    found = distances(namespace, [1000.0, 1000.0], 3)
    assert [identity for identity, _ in found] == ["a", "b", "c"]
    assert [round(distance, 5) for _, distance in found] == [0.0, 0.0001, 0.0004]


def test_tiny_distances_are_not_rounded_away(namespace: Namespace) -> None:
    write_far(namespace, {"a": [1e-4, 0.0], "b": [1e-5, 0.0], "c": [0.0, 0.0]})
    found = distances(namespace, [0.0, 0.0], 3)
    assert found == [("c", 0.0), ("b", pytest.approx(1e-10)), ("a", pytest.approx(1e-8))]


def test_the_metric_of_a_namespace_never_changes(namespace: Namespace, target: Target) -> None:
    write_far(namespace, {"1": [1.0, 0.0]})
    target.refuses(lambda: upsert(namespace, {"id": "2"}), 400)
    namespace.write(upsert_rows=[{"id": "2", "vector": [3.0, 0.0]}])
    assert distances(namespace, [0.0, 0.0], 2) == [("1", 1.0), ("2", 9.0)]


def test_numbers_and_base64_are_the_same_vector(namespace: Namespace, target: Target) -> None:
    first, second = [0.25, -0.5], [3.0, 2.0]
    body = body_of(
        {"id": "1", "vector": first},
        {"id": "2", "vector": encoded(first)},
        {"id": "3", "vector": encoded(second)},
    )
    answer = target.post(f"/v2/namespaces/{namespace.id}", json=body)
    assert answer.status_code == 200, answer.text
    rows = namespace.query(rank_by=("id", "asc"), limit=9, include_attributes=["vector"]).rows or []
    assert [row.vector for row in rows] == [first, first, second]
    path = f"/v2/namespaces/{namespace.id}/query"
    for query in (first, encoded(first)):
        found = target.post(path, json={"rank_by": ["vector", "ANN", query], "limit": 3}).json()
        assert [row["id"] for row in found["rows"]] == ["1", "2", "3"]


def test_the_sdks_floats_come_back_as_the_nearest_f32(namespace: Namespace) -> None:
    upsert(namespace, {"id": "1", "vector": [0.1, 1 / 3]})
    rows = namespace.query(rank_by=("id", "asc"), limit=1, include_attributes=True).rows or []
    expected = list(struct.unpack("<2f", struct.pack("<2f", 0.1, 1 / 3)))
    assert rows[0].vector == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(
    "vector",
    [
        [1.0, 2.0, 3.0],
        [],
        None,
        encoded([1.0]),
        "not base64!",
        [1, "2"],
        {"0": 1.0},
        encoded([1.0, math.nan]),
    ],
    ids=str,
)
def test_a_vector_that_does_not_fit_is_refused(
    namespace: Namespace, target: Target, vector: Any
) -> None:
    upsert(namespace, {"id": "1"})
    target.refuses(lambda: namespace.write(upsert_rows=[{"id": "2", "vector": vector}]), 400)


def test_a_document_without_its_vector_is_refused(namespace: Namespace, target: Target) -> None:
    upsert(namespace, {"id": "1"})
    target.refuses(lambda: namespace.write(upsert_rows=[{"id": "2", "n": 1}]), 400)


HALF = {"vector": {"type": "[2]f16", "ann": True}}


def write_half(namespace: Namespace, vector: list[float]) -> None:
    namespace.write(
        upsert_rows=[{"id": "1", "vector": vector}], schema=HALF, distance_metric=COSINE
    )


def test_a_column_of_f16_keeps_the_nearest_f16(namespace: Namespace) -> None:
    write_half(namespace, [0.1, 1 / 3])
    rows = namespace.query(rank_by=("id", "asc"), limit=1, include_attributes=["vector"]).rows or []
    expected = list(struct.unpack("<2e", struct.pack("<2e", 0.1, 1 / 3)))
    assert rows[0].vector == pytest.approx(expected, rel=1e-7)
    assert namespace.schema()["vector"].type == "[2]f16"


def test_what_does_not_fit_into_f16_is_refused(namespace: Namespace, target: Target) -> None:
    target.refuses(lambda: write_half(namespace, [1.0, 70_000.0]), 400)


def test_the_precision_of_a_column_never_changes(namespace: Namespace, target: Target) -> None:
    upsert(namespace, {"id": "1"})
    target.refuses(lambda: write_half(namespace, [1.0, 0.0]), 400)
