"""Namespaces: their names, their list, metadata, creation and end."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.contract.turbopuffer.targets import LocalServer, Namespace, Target, ids, named


@pytest.mark.parametrize(
    "name", ["bad namespace", "ü", "项目", "a/b", "a%2Fb", "a" * 129, "x:y", "tab\t"], ids=repr
)
def test_a_name_outside_the_rules_is_refused_in_plain_text(target: Target, name: str) -> None:
    for method, path in (
        ("POST", f"/v2/namespaces/{quote(name, safe='')}/query"),
        ("POST", f"/v2/namespaces/{quote(name, safe='')}"),
        ("GET", f"/v1/namespaces/{quote(name, safe='')}/schema"),
    ):
        answer = target.http.request(method, path, json={"rank_by": ["id", "asc"], "limit": 1})
        assert answer.status_code == 400
        assert answer.headers["content-type"].startswith("text/plain")


def test_every_allowed_character_makes_a_name(target: Target) -> None:
    name = f"context-search-contract-{uuid.uuid4().hex[:8]}-A.z_0-"
    name += "x" * (128 - len(name))
    namespace = named(target.client, name)
    namespace.write(upsert_rows=[{"id": 1}])
    assert ids(namespace.query(rank_by=("id", "asc"), limit=1)) == [1]
    namespace.delete_all()


def test_a_namespace_that_was_never_written_is_missing(
    namespace: Namespace, target: Target
) -> None:
    assert not namespace.exists()
    calls: list[Any] = [
        lambda: namespace.query(rank_by=("id", "asc"), limit=1),
        lambda: namespace.multi_query(queries=[{"rank_by": ("id", "asc"), "limit": 1}]),
        namespace.schema,
        namespace.metadata,
        namespace.delete_all,
        lambda: namespace.update_schema(schema={"a": "string"}),
    ]
    for call in calls:
        target.refuses(call, 404)


def test_only_documents_or_an_order_create_a_namespace(
    namespace: Namespace, target: Target
) -> None:
    target.refuses(lambda: namespace.write(schema={"a": "string"}), 404)
    target.refuses(lambda: namespace.write(deletes=[1]), 404)
    target.refuses(lambda: namespace.write(upsert_rows=[{"id": 1}], create_namespace=False), 404)
    target.refuses(lambda: namespace.write(create_namespace=True, schema={"a": "string"}), 400)
    assert not namespace.exists()
    namespace.write(create_namespace=True, schema={"id": "uint", "a": "string"})
    assert namespace.exists()
    assert ids(namespace.query(rank_by=("id", "asc"), limit=1)) == []


def test_a_deleted_namespace_is_gone_and_can_be_made_anew(
    namespace: Namespace, target: Target
) -> None:
    namespace.write(upsert_rows=[{"id": 1, "a": "text"}])
    assert namespace.delete_all().status == "OK"
    assert not namespace.exists()
    target.refuses(namespace.delete_all, 404)
    namespace.write(upsert_rows=[{"id": "now a string", "a": 5}])
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == ["now a string"]


def test_the_list_is_ordered_and_comes_in_pages(target: Target) -> None:
    made = sorted(target.namespace().id for _ in range(5))
    for name in made:
        named(target.client, name).write(upsert_rows=[{"id": 1}])
    prefix = "context-search-contract-"
    listed = [n.id for n in target.client.namespaces(prefix=prefix, page_size=2)]
    assert [name for name in listed if name in made] == made
    assert listed == sorted(listed)
    assert [n.id for n in target.client.namespaces(prefix=made[0])] == [made[0]]


@pytest.mark.parametrize("query", ["page_size=0", "page_size=1001", "cursor=nonsense", "cursor="])
def test_a_wrong_page_is_refused(target: Target, query: str) -> None:
    assert target.http.get(f"/v1/namespaces?{query}").status_code == 400


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_metadata_is_there_in_both_versions(
    namespace: Namespace, target: Target, version: str
) -> None:
    namespace.write(upsert_rows=[{"id": i, "n": i} for i in range(3)])
    metadata = target.http.get(f"/{version}/namespaces/{namespace.id}/metadata").json()
    assert set(metadata["schema"]) == {"id", "n"}
    assert metadata["created_at"] <= metadata["updated_at"]
    assert metadata["index"]["status"] in {"up-to-date", "updating"}
    if target.is_local:  # the service's count lags behind
        assert metadata["approx_row_count"] == 3
    assert namespace.metadata().schema_["n"].type == "int"


def test_the_cache_hint_is_accepted(namespace: Namespace) -> None:
    namespace.write(upsert_rows=[{"id": 1}])
    assert namespace.hint_cache_warm().status == "ACCEPTED"


def test_a_read_only_namespace_takes_no_writes_until_it_is_opened(
    namespace: Namespace, target: Target
) -> None:
    namespace.write(upsert_rows=[{"id": 1}])
    assert namespace.update_metadata(read_only=True).read_only
    target.refuses(lambda: namespace.write(upsert_rows=[{"id": 2}]), 400)
    target.refuses(lambda: namespace.update_schema(schema={"a": "string"}), 400)
    assert namespace.update_metadata(read_only=False).read_only is None
    namespace.write(upsert_rows=[{"id": 2}])
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == [1, 2]


def test_routes_that_only_the_real_service_has_are_not_mistaken_for_a_missing_namespace(
    namespace: Namespace, target: Target
) -> None:
    if not target.is_local:
        pytest.skip("the service has them")
    namespace.write(upsert_rows=[{"id": 1}])
    for path in (f"/v2/namespaces/{namespace.id}/explain_query", "/v1/nonsense"):
        assert target.post(path, json={}).status_code == 400


@pytest.mark.parametrize("authorization", [None, "Bearer", "Basic abc"])
def test_without_a_key_nothing_is_answered(
    local_server: LocalServer, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    for path in ("/v1/namespaces", "/v1/namespaces/x/schema"):
        answer = httpx2.get(f"{local_server.url}{path}", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["status"] == "error"
