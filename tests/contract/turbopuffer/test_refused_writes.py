"""Writes that the service refuses, and how; and what only this server refuses, by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.turbopuffer.targets import Namespace, Target, ids, upsert

VECTOR = [1.0, 0.0]
PLAIN = {"id": "2", "vector": VECTOR}


def row(**values: Any) -> dict[str, Any]:
    return {"upsert_rows": [PLAIN | values]}


CASES: list[tuple[dict[str, Any], int]] = [
    # ids
    (row(id=True), 400),
    (row(id=1.5), 400),
    (row(id=None), 400),
    (row(id=2), 400),
    (row(id="x" * 65), 400),
    (row(id="狐" * 22), 400),
    ({"upsert_rows": [{"vector": VECTOR}]}, 422),
    ({"deletes": [1]}, 400),
    ({"upsert_rows": [PLAIN, PLAIN]}, 400),
    ({"upsert_rows": [PLAIN], "deletes": ["2"]}, 400),
    ({"deletes": ["1", "1"]}, 400),
    # values
    (row(n="one"), 400),
    (row(n=1.5), 400),
    (row(n=True), 400),
    (row(n=2**63), 400),
    (row(raw=5), 400),
    (row(tags="a"), 400),
    (row(tags=["a", 1]), 400),
    (row(content="text"), 400),
    (row(at="yesterday"), 400),
    (row(at=5), 400),
    (row(tags=["x" * 4_097]), 400),
    (row(tags=["狐" * 1_366]), 400),
    # shapes
    ({"upsert_rows": {"id": "2"}}, 422),
    ({"upsert_rows": [1]}, 422),
    ({"deletes": True}, 422),
]
# What a refusal names.
ELSEWHERE: list[tuple[dict[str, Any], str]] = [
    (row(undeclared=1), "undeclared"),
    ({"upsert_columns": {"id": ["2"], "vector": [VECTOR]}}, "upsert_columns"),
    ({**row(), "distance_metric": "dot_product"}, "distance_metric"),
    ({**row(), "nonsense": 1}, "nonsense"),
]


@pytest.mark.parametrize(("body", "status"), CASES, ids=lambda value: str(value)[:70])
def test_a_wrong_write_is_refused_and_changes_nothing(
    one_document: Namespace, target: Target, body: dict[str, Any], status: int
) -> None:
    answer = target.post(f"/v2/namespaces/{one_document.id}", json=body)
    target.check_status(answer.status_code, status)
    assert answer.json()["status"] == "error"
    assert ids(one_document.query(rank_by=("id", "asc"), limit=9)) == ["1"]


@pytest.mark.parametrize(("body", "named"), ELSEWHERE, ids=lambda value: str(value)[:70])
def test_what_only_the_real_service_can_do_is_refused_by_name_not_ignored(
    one_document: Namespace, target: Target, body: dict[str, Any], named: str
) -> None:
    if not target.is_local:
        pytest.skip("the service can do it")
    answer = target.post(f"/v2/namespaces/{one_document.id}", json=body)
    assert answer.status_code == 400
    assert named in answer.json()["error"]
    assert ids(one_document.query(rank_by=("id", "asc"), limit=9)) == ["1"]


@pytest.mark.parametrize("body", [b"{not json", b"", b'{"upsert_rows": [', b"\xff\xfe"])
def test_what_is_no_json_is_refused(one_document: Namespace, target: Target, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    for path in ("", "/query"):
        url = f"/v2/namespaces/{one_document.id}{path}"
        target.check_status(target.post(url, content=body, headers=headers).status_code, 400)


def test_ids_of_up_to_sixty_four_bytes_are_taken(namespace: Namespace) -> None:
    longest = ["", "x" * 64, "狐" * 21]
    upsert(namespace, *({"id": name} for name in longest))
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == longest


def test_a_filterable_value_of_four_kibibytes_is_taken(namespace: Namespace) -> None:
    upsert(namespace, {"id": "1", "tags": ["x" * 4_096], "raw": "x" * 100_000})
    assert ids(namespace.query(rank_by=("id", "asc"), limit=1)) == ["1"]


def test_rows_that_are_no_list_are_refused_in_the_services_words(
    one_document: Namespace, target: Target
) -> None:
    body = {"upsert_rows": {"id": "2", "vector": VECTOR}}
    answer = target.post(f"/v2/namespaces/{one_document.id}", json=body)
    assert answer.status_code == 422
    assert "invalid type: map, expected a sequence" in answer.json()["error"]
