"""Namespaces: their names, their list, metadata, creation and end."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.contract.turbopuffer.targets import (
    COSINE,
    SCHEMA,
    LocalServer,
    Namespace,
    Target,
    ids,
    named,
    upsert,
)


@pytest.mark.parametrize(
    "name", ["bad namespace", "ü", "项目", "a/b", "a%2Fb", "a" * 129, "x:y", "tab\t"], ids=repr
)
def test_a_name_outside_the_rules_is_refused(target: Target, name: str) -> None:
    for method, path in (
        ("POST", f"/v2/namespaces/{quote(name, safe='')}/query"),
        ("POST", f"/v2/namespaces/{quote(name, safe='')}"),
        ("GET", f"/v1/namespaces/{quote(name, safe='')}/schema"),
    ):
        answer = target.http.request(method, path, json={"rank_by": ["id", "asc"], "limit": 1})
        assert answer.status_code == 400


def test_every_allowed_character_makes_a_name(target: Target) -> None:
    name = f"context-search-contract-{uuid.uuid4().hex[:8]}-A.z_0-"
    name += "x" * (128 - len(name))
    namespace = named(target.client, name)
    upsert(namespace, {"id": "1"})
    assert ids(namespace.query(rank_by=("id", "asc"), limit=1)) == ["1"]
    namespace.delete_all()


def test_a_namespace_that_was_never_written_is_missing(
    namespace: Namespace, target: Target
) -> None:
    assert not namespace.exists()
    calls: list[Any] = [
        lambda: namespace.query(rank_by=("id", "asc"), limit=1),
        lambda: namespace.multi_query(queries=[{"rank_by": ("id", "asc"), "limit": 1}]),
        lambda: namespace.write(schema=SCHEMA),
        lambda: namespace.write(deletes=["1"]),
        namespace.schema,
        namespace.delete_all,
    ]
    for call in calls:
        target.refuses(call, 404)
    assert not namespace.exists()


def test_a_deleted_namespace_is_gone_and_can_be_made_anew(
    namespace: Namespace, target: Target
) -> None:
    upsert(namespace, {"id": "1", "tags": ["a"]})
    assert namespace.delete_all().status == "OK"
    assert not namespace.exists()
    target.refuses(namespace.delete_all, 404)
    namespace.write(
        upsert_rows=[{"id": "2", "vector": [1.0, 2.0, 3.0]}],
        schema={"vector": {"type": "[3]f32", "ann": True}},
        distance_metric=COSINE,
    )
    assert ids(namespace.query(rank_by=("id", "asc"), limit=9)) == ["2"]


def test_the_list_is_ordered_and_comes_in_pages(target: Target) -> None:
    made = sorted(target.namespace().id for _ in range(5))
    for name in made:
        upsert(named(target.client, name), {"id": "1"})
    prefix = "context-search-contract-"
    listed = [n.id for n in target.client.namespaces(prefix=prefix, page_size=2)]
    assert [name for name in listed if name in made] == made
    assert listed == sorted(listed)
    assert [n.id for n in target.client.namespaces(prefix=made[0])] == [made[0]]


@pytest.mark.parametrize("query", ["page_size=0", "page_size=1001", "cursor=a%20b", "cursor="])
def test_a_wrong_page_is_refused(target: Target, query: str) -> None:
    assert target.http.get(f"/v1/namespaces?{query}").status_code == 400


def test_an_unknown_parameter_of_the_list_is_refused(target: Target) -> None:
    answer = target.http.get("/v1/namespaces?page_size=1&order=desc")
    if target.is_local:
        assert answer.status_code == 400
        assert "'order'" in answer.json()["error"]


def test_routes_that_only_the_real_service_has_are_not_mistaken_for_a_missing_namespace(
    namespace: Namespace, target: Target
) -> None:
    if not target.is_local:
        pytest.skip("the service has them")
    upsert(namespace, {"id": "1"})
    for version, path in (("v2", "explain_query"), ("v1", "metadata"), ("v1", "schema")):
        url = f"/{version}/namespaces/{namespace.id}/{path}"
        answer = target.post(url, json={})
        assert answer.status_code == 400
        assert f"POST {url} is not supported" in answer.json()["error"]


@pytest.mark.parametrize("authorization", [None, "Bearer", "Basic abc"])
def test_without_a_key_nothing_is_answered(
    local_server: LocalServer, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"authorization": authorization}
    for path in ("/v1/namespaces", "/v1/namespaces/x/schema"):
        answer = httpx2.get(f"{local_server.url}{path}", headers=headers)
        assert answer.status_code == 401
        assert answer.json()["status"] == "error"
