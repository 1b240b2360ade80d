"""Several queries in one request, fused or not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.reference import rrf_order
from tests.contract.turbopuffer.targets import Namespace, Target, ids

VECTOR = {"rank_by": ("vector", "ANN", [1.0, 0.2]), "limit": 8}
TEXT = {"rank_by": ("content", "BM25", ["x", "y"]), "limit": 8}


@pytest.fixture
def documents(namespace: Namespace) -> Namespace:
    namespace.write(
        upsert_rows=[
            {
                "id": i,
                "vector": [1.0, i / 5 - 1],
                "content": ["x"] * (i % 4) + ["y"] * (i % 3) + ["z"] * i,
                "title": f"t{i}",
                "side": i % 2,
            }
            for i in range(12)
        ],
        schema={
            "content": {
                "type": "[]string",
                "full_text_search": {"tokenizer": "pre_tokenized_array"},
            }
        },
        distance_metric="cosine_distance",
    )
    return namespace


def test_results_are_those_of_the_single_queries_in_order(documents: Namespace) -> None:
    queries: list[Any] = [VECTOR, TEXT, {"aggregate_by": {"n": ("Count",)}}]
    results = documents.multi_query(queries=queries).results
    assert ids(results[0]) == ids(documents.query(**VECTOR))
    assert ids(results[1]) == ids(documents.query(**TEXT))
    assert results[2].aggregations == {"n": 12}


def test_every_query_has_its_own_filter_and_attributes(documents: Namespace) -> None:
    results = documents.multi_query(
        queries=[
            {**VECTOR, "filters": ("side", "Eq", 1), "include_attributes": ["title"]},
            {**VECTOR, "filters": ("side", "Eq", 0)},
        ]
    ).results
    assert all(identity % 2 for identity in ids(results[0]))
    assert not any(identity % 2 for identity in ids(results[1]))
    assert [row["title"] for row in results[0].rows or []] == [f"t{i}" for i in ids(results[0])]


@pytest.mark.parametrize(
    ("options", "weights", "constant"),
    [
        (None, [1, 1], 60),
        ({"rank_constant": 1}, [1, 1], 1),
        ({"weights": [0.3, 0.7]}, [0.3, 0.7], 60),
        ({"weights": [5, 1], "rank_constant": 10}, [5, 1], 10),
    ],
    ids=str,
)
def test_fusion_is_reciprocal_rank_fusion(
    documents: Namespace, options: dict[str, Any] | None, weights: list[float], constant: int
) -> None:
    rankings = [ids(documents.query(**VECTOR)), ids(documents.query(**TEXT))]
    rerank_by = ("RRF",) if options is None else ("RRF", options)
    results = documents.multi_query(queries=[VECTOR, TEXT], rerank_by=rerank_by, limit=20).results
    assert len(results) == 1
    assert ids(results[0]) == rrf_order(rankings, weights, constant)


def test_a_fused_page_is_a_part_of_the_fused_list(documents: Namespace) -> None:
    def fused(**more: Any) -> list[Any]:
        answer = documents.multi_query(queries=[VECTOR, TEXT], rerank_by=("RRF",), **more)
        return ids(answer.results[0])

    whole = fused(limit=20)
    assert fused(limit=3) == whole[:3]
    assert fused(limit={"total": 3}, offset=2) == whole[2:5]


def test_fused_rows_show_the_attributes_of_every_query(documents: Namespace) -> None:
    queries: list[Any] = [{**VECTOR, "include_attributes": ["title"]}, TEXT]
    answer = documents.multi_query(queries=queries, rerank_by=("RRF",), limit=20)
    shown = {row.id: (row.model_extra or {}).get("title") for row in answer.results[0].rows or []}
    for identity in ids(documents.query(**VECTOR)):
        assert shown[identity] == f"t{identity}"


def test_the_root_limit_means_nothing_without_fusion(documents: Namespace) -> None:
    results = documents.multi_query(queries=[VECTOR], limit=1).results
    assert len(ids(results[0])) == 8


@pytest.mark.parametrize("count", [1, 16])
def test_up_to_sixteen_queries_are_taken(documents: Namespace, count: int) -> None:
    assert len(documents.multi_query(queries=[TEXT] * count).results) == count


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"queries": []}, 400),
        ({"queries": [TEXT] * 17}, 400),
        ({"queries": [{**TEXT, "consistency": {"level": "strong"}}]}, 400),
        ({"queries": [TEXT], "rerank_by": ["RRF", {"weights": [1, 2]}], "limit": 1}, 400),
        ({"queries": [TEXT], "rerank_by": ["RRF", {"weights": [0]}], "limit": 1}, 400),
        ({"queries": [TEXT], "rerank_by": ["RRF", {"rank_constant": 0}], "limit": 1}, 400),
        ({"queries": [TEXT], "rerank_by": ["RRF"], "limit": 10_000, "offset": 1}, 400),
        ({"queries": [TEXT], "offset": 1}, 400),
        ({"queries": [{"aggregate_by": {"n": ["Count"]}}], "rerank_by": ["RRF"], "limit": 1}, 400),
        ({"queries": {}}, 422),
        ({"queries": [TEXT], "rerank_by": ["Borda"], "limit": 1}, 422),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_wrong_multi_query_is_refused(
    documents: Namespace, target: Target, body: dict[str, Any], status: int
) -> None:
    answer = target.post(f"/v2/namespaces/{documents.id}/query", json=body)
    target.check_status(answer.status_code, status)
