"""Writes that the service refuses, and how."""

from __future__ import annotations

import gzip
from typing import Any

import httpx2
import orjson
import pytest
from turbopuffer import BadRequestError, Turbopuffer

from tests.contract.turbopuffer.targets import LocalServer, Namespace, Target, ids, named

CASES: list[tuple[dict[str, Any], int]] = [
    # ids
    ({"upsert_rows": [{"id": True}]}, 422),
    ({"upsert_rows": [{"id": 1.5}]}, 422),
    ({"upsert_rows": [{"id": None}]}, 422),
    ({"upsert_rows": [{"n": 1}]}, 422),
    ({"upsert_rows": [{"id": -1}]}, 422),
    ({"deletes": [True]}, 422),
    ({"upsert_rows": [{"id": "text"}]}, 400),
    ({"upsert_rows": [{"id": 2}, {"id": "3"}]}, 400),
    ({"deletes": ["1"]}, 400),
    ({"upsert_rows": [{"id": 2}, {"id": 2}]}, 400),
    ({"upsert_rows": [{"id": 1}], "patch_rows": [{"id": 1}]}, 400),
    ({"upsert_rows": [{"id": 1}], "deletes": [1]}, 400),
    ({"deletes": [1, 1]}, 400),
    ({"schema": {"id": "string"}, "upsert_rows": [{"id": 2}]}, 400),
    # values
    ({"upsert_rows": [{"id": 2, "n": "one"}]}, 400),
    ({"upsert_rows": [{"id": 2, "n": 1.5}]}, 400),
    ({"upsert_rows": [{"id": 2, "n": True}]}, 400),
    ({"upsert_rows": [{"id": 2, "n": 2**63}]}, 400),
    ({"upsert_rows": [{"id": 2, "u": -1}]}, 400),
    ({"upsert_rows": [{"id": 2, "tags": "a"}]}, 400),
    ({"upsert_rows": [{"id": 2, "tags": ["a", 1]}]}, 400),
    ({"upsert_rows": [{"id": 2, "at": "yesterday"}]}, 400),
    ({"upsert_rows": [{"id": 2, "key": "no uuid"}]}, 400),
    ({"upsert_rows": [{"id": 2, "undeclared": 1.5}]}, 400),
    ({"upsert_rows": [{"id": 2, "undeclared": {"a": 1}}]}, 400),
    ({"upsert_rows": [{"id": 2, "text": "x" * 4_097}]}, 400),
    ({"upsert_rows": [{"id": 2, "text": "狐" * 1_366}]}, 400),
    ({"upsert_rows": [{"id": 2, "tags": ["x" * 4_097]}]}, 400),
    ({"upsert_rows": [{"id": 2, "$x": 1}]}, 400),
    ({"upsert_rows": [{"id": 2, "": 1}]}, 400),
    # shapes
    ({"upsert_rows": {"id": 2}}, 422),
    ({"upsert_rows": [1]}, 422),
    ({"deletes": True}, 422),
    ({"upsert_columns": {"id": 2}}, 422),
    ({"upsert_columns": {"n": [1]}}, 400),
    ({"upsert_columns": {"id": [2, 3], "n": [1]}}, 400),
    ({"distance_metric": "manhattan", "upsert_rows": [{"id": 2}]}, 422),
    ({"delete_by_filter": ["ghost", "Eq", 1]}, 400),
    ({"delete_by_filter": ["n", "Equals", 1]}, 422),
]
ELSEWHERE: list[dict[str, Any]] = [
    {"copy_from_namespace": {"source_namespace": "x"}},
    {"branch_from_namespace": {"source_namespace": "x"}},
    {"patch_by_filter": {"filters": ["n", "Eq", 1], "patch": {"n": 2}}},
    {"encryption": {"mode": "default"}, "upsert_rows": [{"id": 2}]},
    {"sharding": {}, "upsert_rows": [{"id": 2}]},
    {"schema": {"x": {"type": "string", "regex": True}}, "upsert_rows": [{"id": 2}]},
    {"schema": {"x": {"type": "string", "fuzzy": True}}, "upsert_rows": [{"id": 2}]},
    {"schema": {"x": {"type": "string", "embed": "model"}}, "upsert_rows": [{"id": 2}]},
    {"schema": {"x": "{}f16"}, "upsert_rows": [{"id": 2}]},
    {
        "schema": {"x": {"type": "string", "full_text_search": {"stemming": True}}},
        "upsert_rows": [{"id": 2}],
    },
    {"nonsense": 1, "upsert_rows": [{"id": 2}]},
]


@pytest.fixture(scope="module")
def documents(shared_target: Target) -> Namespace:
    namespace = shared_target.namespace()
    namespace.write(
        upsert_rows=[{"id": 1, "n": 1, "tags": ["a"], "text": "t"}],
        schema={"u": "uint", "at": "datetime", "key": "uuid"},
    )
    return namespace


@pytest.mark.parametrize(("body", "status"), CASES, ids=lambda value: str(value)[:70])
def test_a_wrong_write_is_refused_and_changes_nothing(
    documents: Namespace, target: Target, body: dict[str, Any], status: int
) -> None:
    answer = target.post(f"/v2/namespaces/{documents.id}", json=body)
    target.check_status(answer.status_code, status)
    assert answer.json()["status"] == "error"
    assert ids(documents.query(rank_by=("id", "asc"), limit=9)) == [1]


@pytest.mark.parametrize("body", ELSEWHERE, ids=lambda value: str(value)[:70])
def test_what_only_the_real_service_can_do_is_refused_not_ignored(
    documents: Namespace, target: Target, body: dict[str, Any]
) -> None:
    if not target.is_local:
        pytest.skip("the service can do it")
    answer = target.post(f"/v2/namespaces/{documents.id}", json=body)
    assert answer.status_code == 400
    assert ids(documents.query(rank_by=("id", "asc"), limit=9)) == [1]


@pytest.mark.parametrize("body", [b"{not json", b"", b'{"upsert_rows": [', b"\xff\xfe"])
def test_what_is_no_json_is_refused(documents: Namespace, target: Target, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    for path in ("", "/query"):
        url = f"/v2/namespaces/{documents.id}{path}"
        target.check_status(target.post(url, content=body, headers=headers).status_code, 400)


def test_ids_of_up_to_sixty_four_bytes_are_taken(namespace: Namespace, target: Target) -> None:
    longest = ["", "x" * 64, "狐" * 21]
    namespace.write(upsert_rows=[{"id": identity} for identity in longest])
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == longest
    for identity in ("x" * 65, "狐" * 22):
        row: dict[str, Any] = {"id": identity}
        target.refuses(lambda row=row: namespace.write(upsert_rows=[row]), 400)  # type: ignore[misc]


def test_a_filterable_value_of_four_kibibytes_is_taken(namespace: Namespace) -> None:
    namespace.write(
        upsert_rows=[{"id": 1, "text": "x" * 4_096, "raw": "x" * 100_000}],
        schema={"raw": {"type": "string", "filterable": False}},
    )
    assert ids(namespace.query(rank_by=("id", "asc"), limit=1)) == [1]


def test_a_compressed_body_is_read(namespace: Namespace, target: Target) -> None:
    body = gzip.compress(orjson.dumps({"upsert_rows": [{"id": i} for i in range(500)]}))
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    answer = target.post(f"/v2/namespaces/{namespace.id}", content=body, headers=headers)
    assert answer.status_code == 200
    assert namespace.query(aggregate_by={"n": ("Count",)}).aggregations == {"n": 500}


def test_the_sdks_own_compression_is_read(namespace: Namespace, target: Target) -> None:
    with Turbopuffer(
        api_key=target.client.api_key,
        base_url=target.client.original_base_url,
        region=target.client.region,
        compression=True,
    ) as client:
        named(client, namespace.id).write(upsert_rows=[{"id": i} for i in range(500)])
        answer = named(client, namespace.id).query(rank_by=("id", "asc"), limit=500)
    assert ids(answer) == list(range(500))


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_body_over_the_limit_is_too_large(local_server: LocalServer, encoding: str) -> None:
    raw = orjson.dumps({"upsert_rows": [{"id": 1, "a": "x" * 2_000_000}]})
    answer = httpx2.post(
        f"{local_server.url}/v2/namespaces/too-large",
        content=gzip.compress(raw) if encoding == "gzip" else raw,
        headers={"authorization": "Bearer key", "content-encoding": encoding},
    )
    assert answer.status_code == 413


def test_one_filter_deletes_a_limited_number_of_documents(local_client: Turbopuffer) -> None:
    namespace = named(local_client, "limited-deletes")
    namespace.write(upsert_rows=[{"id": i, "n": 1} for i in range(5)])
    with pytest.raises(BadRequestError):
        namespace.write(delete_by_filter=("n", "Eq", 1))
    answer = namespace.write(delete_by_filter=("n", "Eq", 1), delete_by_filter_allow_partial=True)
    assert (answer.rows_deleted, answer.rows_remaining) == (3, True)
    rest = namespace.write(delete_by_filter=("n", "Eq", 1), delete_by_filter_allow_partial=True)
    assert (rest.rows_deleted, rest.rows_remaining) == (2, None)
