"""Queries that the service refuses, and how."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target

ORDER = {"rank_by": ["id", "asc"], "limit": 1}
VECTOR = ["vector", "ANN", [1.0, 0.0]]


def ordered(**more: Any) -> dict[str, Any]:
    return {**ORDER, **more}


def filtered(*leaf: Any) -> dict[str, Any]:
    return {**ORDER, "filters": list(leaf)}


CASES: list[tuple[dict[str, Any], int]] = [
    # pages
    ({"rank_by": ["id", "asc"]}, 400),
    (ordered(limit=None), 400),
    (ordered(limit=0), 400),
    (ordered(limit=10_001), 400),
    (ordered(limit={"total": 0}), 400),
    (ordered(top_k=1), 400),
    (ordered(limit=10_000, offset=1), 400),
    ({"filters": ["n", "Eq", 1], "limit": 1, "offset": 0}, 400),
    ({"limit": 1}, 400),
    (ordered(limit=1.0), 422),
    (ordered(limit="1"), 422),
    (ordered(limit=-1), 422),
    (ordered(limit={}), 422),
    (ordered(offset=-1), 422),
    (ordered(offset="1"), 422),
    # rank_by
    ({"rank_by": [], "limit": 1}, 400),
    ({"rank_by": "id", "limit": 1}, 422),
    ({"rank_by": ["id", "sideways"], "limit": 1}, 422),
    ({"rank_by": ["id", "Nearest", 1], "limit": 1}, 422),
    ({"rank_by": ["vector", "ANN", "x"], "limit": 1}, 400),
    ({"rank_by": ["vector", "ANN", ["x"]], "limit": 1}, 422),
    ({"rank_by": ["vector", "ANN", [1.0]], "limit": 1}, 400),
    ({"rank_by": ["vector", "kNN", [1.0, 0.0]], "limit": 1}, 400),
    ({"rank_by": ["ghost", "ANN", [1.0]], "limit": 1}, 400),
    ({"rank_by": ["n", "ANN", [1.0]], "limit": 1}, 400),
    ({"rank_by": ["ghost", "BM25", "x"], "limit": 1}, 400),
    ({"rank_by": ["n", "BM25", "x"], "limit": 1}, 400),
    ({"rank_by": ["words", "BM25", ["x"]], "limit": 1}, 400),
    ({"rank_by": ["tokens", "BM25", "x"], "limit": 1}, 400),
    ({"rank_by": ["words", "BM25", "x" * 8_193], "limit": 1}, 400),
    ({"rank_by": ["Sum", [VECTOR]], "limit": 1}, 400),
    ({"rank_by": ["ghost", "asc"], "limit": 1}, 400),
    ({"rank_by": ["tags", "asc"], "limit": 1}, 400),
    ({"rank_by": [["n", "asc"]] * 9, "limit": 1}, 400),
    # attributes
    (ordered(include_attributes=["ghost"]), 400),
    (ordered(exclude_attributes=["ghost"]), 400),
    (ordered(exclude_attributes=["id"]), 400),
    (ordered(include_attributes=["n"], exclude_attributes=["tags"]), 400),
    (ordered(include_attributes="n"), 422),
    (ordered(exclude_attributes=True), 422),
    # filters
    (filtered(), 400),
    (filtered("ghost", "Eq", 1), 400),
    (filtered("words", "Eq", "x"), 400),
    (filtered("raw", "Eq", "x"), 400),
    (filtered("vector", "Eq", 1), 400),
    (filtered("raw", "Glob", "x*"), 400),
    (filtered("path", "Glob", "[a"), 400),
    (filtered("path", "Glob", "{a,b"), 400),
    (filtered("n", "Eq", "1"), 400),
    (filtered("n", "Eq", True), 400),
    (filtered("n", "Gt", 1.5), 400),
    (filtered("id", "In", ["1"]), 400),
    (filtered("tags", "Contains", None), 400),
    (filtered("tags", "Contains", 1), 400),
    (filtered("n", "Contains", 1), 400),
    (filtered("tags", "Gt", "a"), 400),
    (filtered("n", "ContainsAnyToken", "x"), 400),
    (filtered("n", "Equals", 1), 422),
    (filtered("n", "In", 1), 422),
    (filtered("n", "In", [None]), 422),
    (filtered("n", "In", [1, "2"]), 422),
    (filtered("tags", "ContainsAny", [["a"]]), 422),
    (filtered("n", "Eq", {"$ref_new": "n"}), 422),
    (filtered("And", "n"), 422),
    (ordered(filters="n"), 422),
    # aggregations
    ({"aggregate_by": {"n": ["Count"]}, "top_k": 1}, 400),
    ({"aggregate_by": {}}, 400),
    ({"aggregate_by": {"n": ["Count"]}, "limit": 1}, 422),
    ({"aggregate_by": {"n": ["Count"]}, "rank_by": ["id", "asc"]}, 422),
    ({"aggregate_by": {"n": ["Average", "n"]}}, 422),
    # the rest
    (ordered(consistency="strong"), 422),
    (ordered(consistency={"level": "sloppy"}), 422),
    (ordered(vector_encoding="hex"), 422),
]
ELSEWHERE: list[dict[str, Any]] = [
    ordered(group_by=["n"]),
    ordered(compute_attributes={"d": ["vector", "VectorDist", [1.0, 0.0]]}),
    ordered(limit={"total": 5, "per": {"attributes": ["n"], "limit": 1}}),
    {"rank_by": ["words", "BM25", "x", {"last_as_prefix": True}], "limit": 1},
    {"rank_by": ["Attribute", "n"], "limit": 1},
    {"rank_by": ["vector", "SparseKNN", {"0": 1.0}], "limit": 1},
    {"rank_by": ["vector", "ANN", ["Embed", "text"]], "limit": 1},
    {"aggregate_by": {"n": ["Sum", "n"]}},
    filtered("path", "Regex", ".*"),
    filtered("words", "ContainsTokenSequence", "a b"),
    filtered("tags", "AnyGt", "a"),
    filtered("words", "ContainsAllTokens", "a", {"last_as_prefix": True}),
]


@pytest.fixture(scope="module")
def documents(shared_target: Target) -> Namespace:
    namespace = shared_target.namespace()
    namespace.write(
        upsert_rows=[{"id": 1, "n": 1, "tags": ["a"], "vector": [1.0, 0.0]}],
        schema={
            "words": {"type": "string", "full_text_search": True},
            "tokens": {
                "type": "[]string",
                "full_text_search": {"tokenizer": "pre_tokenized_array"},
            },
            "raw": {"type": "string", "filterable": False},
            "path": {"type": "string", "glob": True},
        },
        distance_metric="cosine_distance",
    )
    return namespace


@pytest.mark.parametrize(("body", "status"), CASES, ids=lambda value: str(value)[:70])
def test_a_wrong_query_is_refused(
    documents: Namespace, target: Target, body: dict[str, Any], status: int
) -> None:
    answer = target.post(f"/v2/namespaces/{documents.id}/query", json=body)
    target.check_status(answer.status_code, status)
    assert answer.json()["status"] == "error"


@pytest.mark.parametrize("body", ELSEWHERE, ids=lambda value: str(value)[:70])
def test_what_only_the_real_service_can_do_is_refused_not_ignored(
    documents: Namespace, target: Target, body: dict[str, Any]
) -> None:
    if not target.is_local:
        pytest.skip("the service can do it")
    answer = target.post(f"/v2/namespaces/{documents.id}/query", json=body)
    assert answer.status_code == 400
