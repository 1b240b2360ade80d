"""What a reply says of the bill: by the service's price page of September 2026."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import COSINE, Namespace, upsert

LEAST_WRITTEN, LEAST_QUERIED = 10_000, 1_280_000_000
# An id, a string, two tokens, a number and a date of 8 bytes each, and nothing for what is missing.
ROW: dict[str, Any] = {
    "id": "a1",
    "raw": "é",
    "tags": ["x", "中文"],
    "n": 7,
    "at": "2026-01-02T03:04:05Z",
}
PLAIN = 2 + 2 + (1 + 6) + 8 + 8


def big(namespace: Namespace, count: int, precision: str = "f32") -> Any:
    """A write of documents with 1,000 dimensions."""
    return namespace.write(
        upsert_rows=[{"id": f"{i:04}", "vector": [0.5] * 1_000} for i in range(count)],
        schema={"vector": {"type": f"[1000]{precision}", "ann": True}},
        distance_metric=COSINE,
    )


def test_a_small_write_is_billed_as_ten_kilobytes(namespace: Namespace) -> None:
    assert upsert(namespace, ROW).billing.billable_logical_bytes_written == LEAST_WRITTEN
    assert namespace.write(deletes=["a1"]).billing.billable_logical_bytes_written == LEAST_WRITTEN


@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_a_large_write_is_billed_by_its_values_and_four_bytes_a_dimension(
    namespace: Namespace, precision: str
) -> None:
    billing = big(namespace, 10, precision).billing
    assert billing.billable_logical_bytes_written == 10 * (4 + 4 * 1_000)


def test_attributes_count_by_their_values(namespace: Namespace) -> None:
    rows = [{**ROW, "id": f"{i:02}"} for i in range(50)]
    alone = upsert(namespace, *rows[:1], {"id": "xx", "raw": "y" * 20_000})
    assert alone.billing.billable_logical_bytes_written == PLAIN + 8 + 2 + 20_000 + 8


def test_each_query_is_billed_as_one_of_a_namespace_of_1_28_gigabytes(namespace: Namespace) -> None:
    upsert(namespace, {"id": "a"}, {"id": "b"})
    one = {"rank_by": ("vector", "ANN", [1.0, 1.0]), "limit": 5}
    assert namespace.query(**one).billing.billable_logical_bytes_queried == LEAST_QUERIED
    two = namespace.multi_query(queries=[one, {**one, "limit": 1}])
    assert two.billing.billable_logical_bytes_queried == 2 * LEAST_QUERIED


def test_a_row_that_is_returned_counts_its_id_its_distance_and_what_is_included(
    namespace: Namespace,
) -> None:
    upsert(namespace, ROW, {"id": "b"})
    by_vector = {"rank_by": ("vector", "ANN", [1.0, 1.0]), "limit": 5}
    by_id = {"rank_by": ("id", "asc"), "limit": 1}
    sizes = [
        namespace.query(**query).billing.billable_logical_bytes_returned
        for query in (
            by_vector,
            by_id,
            {**by_id, "include_attributes": ["vector"]},
            {**by_id, "include_attributes": ["raw", "tags", "n", "at"]},
        )
    ]
    assert sizes == [(2 + 4) + (1 + 4), 2, 2 + 8, PLAIN]
