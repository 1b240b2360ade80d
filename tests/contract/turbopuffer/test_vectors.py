"""Nearest neighbours, and how vectors travel."""

from __future__ import annotations

import base64
import math
import random
import struct
from typing import Any

import pytest

from tests.contract.turbopuffer.reference import cosine_order
from tests.contract.turbopuffer.targets import Namespace, Target, ids

COSINE = "cosine_distance"


def vectors(count: int, dimensions: int) -> dict[int, list[float]]:
    source = random.Random(5)
    return {i: [source.uniform(-1, 1) for _ in range(dimensions)] for i in range(count)}


def encoded(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def write_raw(target: Target, namespace: Namespace, **body: Any) -> None:
    answer = target.post(f"/v2/namespaces/{namespace.id}", json=body)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("operator", ["ANN", "kNN"])
def test_nearest_come_first_by_cosine(namespace: Namespace, operator: str) -> None:
    documents = vectors(50, 8)
    namespace.write(
        upsert_rows=[{"id": i, "vector": v, "even": i % 2 == 0} for i, v in documents.items()],
        distance_metric=COSINE,
    )
    query = [0.3, -0.2, 0.9, 0.1, -0.5, 0.4, 0.0, 0.7]
    answer = namespace.query(
        rank_by=("vector", operator, query), limit=50, filters=("even", "Eq", True)
    )
    assert ids(answer) == [i for i in cosine_order(documents, query) if i % 2 == 0]
    distances = [row["$dist"] for row in answer.rows or []]
    assert distances == sorted(distances)


def test_nearest_come_first_by_squared_distance(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[{"id": i, "vector": [float(i), 0.0]} for i in range(6)],
        distance_metric="euclidean_squared",
    )
    answer = namespace.query(rank_by=("vector", "ANN", [2.2, 0.0]), limit=4)
    assert ids(answer) == [2, 3, 1, 4]
    rows = answer.rows or []
    assert math.isclose(rows[-1]["$dist"], 1.8**2, rel_tol=1e-3)


def test_numbers_and_base64_are_the_same_vector(namespace: Namespace, target: Target) -> None:
    first, second = [0.25, -0.5, 1.0], [3.0, 2.0, 0.125]
    write_raw(
        target,
        namespace,
        upsert_rows=[
            {"id": 1, "vector": first},
            {"id": 2, "vector": encoded(first)},
            {"id": 3, "vector": encoded(second)},
        ],
        distance_metric=COSINE,
    )
    rows = namespace.query(rank_by=("id", "asc"), limit=9, include_attributes=["vector"]).rows or []
    assert [row.vector for row in rows] == [first, first, second]
    path = f"/v2/namespaces/{namespace.id}/query"
    for query in (first, encoded(first)):
        answer = target.post(path, json={"rank_by": ["vector", "ANN", query], "limit": 3}).json()
        assert [row["id"] for row in answer["rows"]] == [1, 2, 3]


def test_vectors_come_back_as_base64_when_asked(namespace: Namespace) -> None:
    vector = [0.1, 0.2]
    namespace.write(upsert_rows=[{"id": 1, "vector": vector}], distance_metric=COSINE)
    rows = namespace.query(
        rank_by=("id", "asc"), limit=1, include_attributes=["vector"], vector_encoding="base64"
    ).rows
    assert rows
    assert rows[0].vector == encoded(vector)


def test_the_sdks_floats_come_back_as_the_nearest_f32(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": 1, "vector": [0.1, 1 / 3]}], distance_metric=COSINE)
    rows = namespace.query(rank_by=("id", "asc"), limit=1, include_attributes=True).rows or []
    expected = list(struct.unpack("<2f", struct.pack("<2f", 0.1, 1 / 3)))
    assert rows[0].vector == pytest.approx(expected, rel=1e-7)


def test_half_precision_is_rounded_when_written(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[{"id": 1, "small": [1.0, 0.123456789]}],
        schema={"small": {"type": "[2]f16", "ann": True}},
        distance_metric=COSINE,
    )
    rows = namespace.query(rank_by=("id", "asc"), limit=1, include_attributes=["small"]).rows or []
    assert rows[0]["small"] == pytest.approx([1.0, 0.12347412], rel=1e-6)
    assert ids(namespace.query(rank_by=("small", "ANN", [1.0, 0.2]), limit=1)) == [1]


def test_two_vector_columns_are_searched_apart(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[
            {"id": 1, "vector": [1.0, 0.0], "title": [0.0, 1.0, 0.0]},
            {"id": 2, "vector": [0.0, 1.0], "title": [1.0, 0.0, 0.0]},
        ],
        schema={"title": {"type": "[3]f32", "ann": True}},
        distance_metric=COSINE,
    )
    assert ids(namespace.query(rank_by=("vector", "ANN", [1.0, 0.1]), limit=2)) == [1, 2]
    assert ids(namespace.query(rank_by=("title", "ANN", [1.0, 0.1, 0.0]), limit=2)) == [2, 1]


@pytest.mark.parametrize(
    "vector",
    [
        [1.0, 2.0],
        [],
        None,
        encoded([1.0, 2.0]),
        "not base64!",
        [1, "2", 3.0],
        encoded([1.0, math.nan, 0.0]),
    ],
    ids=str,
)
def test_a_vector_that_does_not_fit_is_refused(
    namespace: Namespace, target: Target, vector: Any
) -> None:
    namespace.write(upsert_rows=[{"id": 1, "vector": [1.0, 2.0, 3.0]}], distance_metric=COSINE)
    target.refuses(lambda: namespace.write(upsert_rows=[{"id": 2, "vector": vector}]), 400)


def test_a_document_without_its_vector_is_refused(namespace: Namespace, target: Target) -> None:
    namespace.write(upsert_rows=[{"id": 1, "vector": [1.0, 2.0]}], distance_metric=COSINE)
    target.refuses(lambda: namespace.write(upsert_rows=[{"id": 2, "n": 1}]), 400)
    target.refuses(lambda: namespace.write(patch_rows=[{"id": 1, "vector": [2.0, 1.0]}]), 400)


def test_a_query_vector_of_another_length_is_refused(namespace: Namespace, target: Target) -> None:
    namespace.write(upsert_rows=[{"id": 1, "vector": [1.0, 2.0]}], distance_metric=COSINE)
    target.refuses(lambda: namespace.query(rank_by=("vector", "ANN", [1.0]), limit=1), 400)
