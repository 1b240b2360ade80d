"""Several queries in one request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target, ids, upsert

VECTOR = {"rank_by": ("vector", "ANN", [1.0, 0.2]), "limit": 8}
TEXT = {"rank_by": ("content", "BM25", ["x", "y"]), "limit": 8}


@pytest.fixture
def documents(namespace: Namespace) -> Namespace:
    upsert(
        namespace,
        *(
            {
                "id": f"{i:02}",
                "vector": [1.0, i / 5 - 1],
                "content": ["x"] * (i % 4) + ["y"] * (i % 3) + ["z"] * i,
                "raw": f"t{i:02}",
                "n": i % 2,
            }
            for i in range(12)
        ),
    )
    return namespace


def test_results_are_those_of_the_single_queries_in_order(documents: Namespace) -> None:
    results = documents.multi_query(queries=[VECTOR, TEXT]).results
    assert ids(results[0]) == ids(documents.query(**VECTOR))
    assert ids(results[1]) == ids(documents.query(**TEXT))


def test_every_query_has_its_own_filter_and_attributes(documents: Namespace) -> None:
    odd = {**VECTOR, "filters": ("n", "In", [1]), "include_attributes": ["raw"]}
    results = documents.multi_query(queries=[odd, {**VECTOR, "filters": ("n", "In", [0])}]).results
    assert all(int(name) % 2 for name in ids(results[0]))
    assert not any(int(name) % 2 for name in ids(results[1]))
    assert [row["raw"] for row in results[0].rows or []] == [f"t{i}" for i in ids(results[0])]


@pytest.mark.parametrize("count", [1, 16])
def test_up_to_sixteen_queries_are_taken(documents: Namespace, count: int) -> None:
    assert len(documents.multi_query(queries=[TEXT] * count).results) == count


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"queries": []}, 400),
        ({"queries": [TEXT] * 17}, 400),
        ({"queries": [{**TEXT, "consistency": {"level": "strong"}}]}, 400),
        ({"queries": [TEXT, {**TEXT, "limit": 0}]}, 400),
        ({"queries": {}}, 422),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_wrong_multi_query_is_refused(
    documents: Namespace, target: Target, body: dict[str, Any], status: int
) -> None:
    answer = target.post(f"/v2/namespaces/{documents.id}/query", json=body)
    target.check_status(answer.status_code, status)


@pytest.mark.parametrize("more", [{"rerank_by": ["RRF"]}, {"limit": 1}, {"offset": 1}], ids=str)
def test_what_only_the_real_service_can_do_is_refused_by_name_not_ignored(
    documents: Namespace, target: Target, more: dict[str, Any]
) -> None:
    if not target.is_local:
        pytest.skip("the service can do it")
    answer = target.post(f"/v2/namespaces/{documents.id}/query", json={"queries": [TEXT], **more})
    assert answer.status_code == 400
    assert next(iter(more)) in answer.json()["error"]
