"""Queries that the service refuses, and how; and what only this server refuses, by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target

ORDER = {"rank_by": ["id", "asc"], "limit": 1}
VECTOR = ["vector", "ANN", [1.0, 0.0]]
WORDS = ["content", "BM25", ["x"]]


def ordered(**more: Any) -> dict[str, Any]:
    return {**ORDER, **more}


def by(*rank_by: Any) -> dict[str, Any]:
    return {"rank_by": list(rank_by), "limit": 1}


def filtered(*leaf: Any) -> dict[str, Any]:
    return {**ORDER, "filters": list(leaf)}


CASES: list[tuple[dict[str, Any], int]] = [
    # pages
    (ordered(limit=0), 400),
    (ordered(limit=-1), 400),
    (ordered(limit=10_001), 400),
    (ordered(limit=1.0), 422),
    (ordered(limit="1"), 422),
    # rank_by
    (by(), 422),
    ({"rank_by": "id", "limit": 1}, 422),
    (by("vector", "ANN", "x"), 400),
    (by("vector", "ANN", ["x"]), 400),
    (by("vector", "ANN", [1.0]), 400),
    (by("ghost", "BM25", ["x"]), 400),
    (by("n", "BM25", ["x"]), 400),
    (by("content", "BM25", "x"), 400),
    (by("content", "BM25", ["x" * 8_193]), 400),
    (by("content", "BM25", ["中" * 2_731]), 400),
    (by("Sum", [["content", "BM25", ["x" * 4_097]]] * 2), 400),
    (by("Sum", []), 400),
    (by("Sum", [VECTOR]), 400),
    (by("Product", -1, WORDS), 400),
    # attributes
    (ordered(include_attributes=["ghost"]), 400),
    (ordered(include_attributes="n"), 422),
    # filters
    (filtered(), 422),
    (ordered(filters="n"), 422),
    (filtered("ghost", "Contains", "x"), 400),
    (filtered("content", "Contains", "x"), 400),
    (filtered("n", "In", ["1"]), 400),
    (filtered("n", "In", [1, None]), 400),
    (filtered("n", "In", [True]), 400),
    (filtered("n", "In", [2**63]), 400),
    (filtered("id", "In", [1]), 400),
    (filtered("id", "Gt", 1), 400),
    (filtered("n", "Contains", "1"), 400),
    (filtered("And", [["tags"]]), 400),
]
# What the service's own tests expect, word for word.
IN_ITS_WORDS: list[tuple[dict[str, Any], str]] = [
    (
        filtered("tags", "ContainsAny", "python"),
        "filter error in key `tags`: type mismatch, ContainsAny expects []string, but got 'python'",
    ),
    (
        filtered("tags", "Contains", ["python", "javascript"]),
        "filter error in key `tags`: type mismatch, Contains expects string, "
        "but got '[python, javascript]'",
    ),
    (
        by("content", "BM25", "jumped"),
        "invalid input 'jumped' for rank_by field \"content\", expecting []string",
    ),
]
# What a refusal names.
ELSEWHERE: list[tuple[dict[str, Any], str]] = [
    (ordered(top_k=1), "top_k"),
    (by("id", "desc"), "desc"),
    (by("n", "asc"), "asc"),
    (by("vector", "kNN", [1.0, 0.0]), "kNN"),
    (by("Max", [WORDS]), "Max"),
    (by("content", "BM25", ["x"], {"last_as_prefix": True}), "BM25"),
    (filtered("Or", [["n", "In", [1]]]), "Or"),
    (filtered("n", "Eq", 1), "Eq"),
    (filtered("id", "Eq", "1"), "Eq"),
    (filtered("at", "In", ["2026-01-01"]), "In"),
    (filtered("raw", "Glob", "x*"), "Glob"),
    (filtered("content", "ContainsAllTokens", ["a"]), "ContainsAllTokens"),
]


@pytest.mark.parametrize(("body", "status"), CASES, ids=lambda value: str(value)[:70])
def test_a_wrong_query_is_refused(
    one_document: Namespace, target: Target, body: dict[str, Any], status: int
) -> None:
    answer = target.post(f"/v2/namespaces/{one_document.id}/query", json=body)
    target.check_status(answer.status_code, status)
    assert answer.json()["status"] == "error"


@pytest.mark.parametrize(("body", "text"), IN_ITS_WORDS, ids=lambda value: str(value)[:70])
def test_a_value_of_another_type_is_refused_in_the_services_words(
    one_document: Namespace, target: Target, body: dict[str, Any], text: str
) -> None:
    answer = target.post(f"/v2/namespaces/{one_document.id}/query", json=body)
    assert answer.status_code == 400
    assert text in answer.json()["error"]


@pytest.mark.parametrize("operand", [[1], 1, None, ["a", None], {"a": "b"}], ids=str)
@pytest.mark.parametrize("operator", ["In", "ContainsAny", "Contains"])
def test_what_is_no_text_is_refused_by_the_attribute_and_its_type(
    one_document: Namespace, target: Target, operator: str, operand: Any
) -> None:
    body = filtered("tags", operator, operand)
    answer = target.post(f"/v2/namespaces/{one_document.id}/query", json=body)
    assert answer.status_code == 400
    if target.is_local:
        expected = "string" if operator == "Contains" else "[]string"
        reported = f"in key `tags`: type mismatch, {operator} expects {expected}, but got '"
        assert reported in answer.json()["error"]


@pytest.mark.parametrize("body", [{"rank_by": ["id", "asc"]}, {"limit": 1}], ids=str)
def test_order_and_limit_are_needed(
    one_document: Namespace, target: Target, body: dict[str, Any]
) -> None:
    answer = target.post(f"/v2/namespaces/{one_document.id}/query", json=body)
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize(("body", "named"), ELSEWHERE, ids=lambda value: str(value)[:70])
def test_what_only_the_real_service_can_do_is_refused_by_name_not_ignored(
    one_document: Namespace, target: Target, body: dict[str, Any], named: str
) -> None:
    if not target.is_local:
        pytest.skip("the service can do it")
    answer = target.post(f"/v2/namespaces/{one_document.id}/query", json=body)
    assert answer.status_code == 400
    assert named in answer.json()["error"]
