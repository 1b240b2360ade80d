"""JSON web tokens instead of keys: they open what a project key with their scopes opens."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
)
from mcp.shared.auth import ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed

from context_search.postgres.pool import Database
from context_search.web.app import http_app
from context_search.web.openapi import every_router
from tests.issuer import AUDIENCE, MCP_AUDIENCE, Issuer, running_issuer
from tests.web.access.credentials import Headers
from tests.web.access.matrix import INTERNAL
from tests.web.access.stores import state_without
from tests.web.access.test_keys_and_scopes import send
from tests.web.access.test_mcp_access import METHODS, call_with, refusal
from tests.web.access.test_mcp_access import send as send_mcp
from tests.web.access.things import NOWHERE, Tenant
from tests.web.agent import READS
from tests.web.api import Api, LocalParts, answer, exposed, problem
from tests.web.in_process import client_of

METADATA = "/.well-known/oauth-protected-resource"
CLAIM = "https://search.example/project"


def taking_tokens(parts: LocalParts, issuer: Issuer) -> LocalParts:
    """The same parts, as configured for an issuer."""
    known = {
        "jwt_issuer": issuer.url,
        "jwt_audience": (AUDIENCE, MCP_AUDIENCE),
        "jwt_project_claim": CLAIM,
    }
    parts.settings = parts.settings.model_copy(update=known)
    return parts


@pytest.fixture(scope="module")
def parts(application_database: Database, turbopuffer_url: str, issuer: Issuer) -> LocalParts:
    """Like the other tests' parts, and an issuer is configured."""
    return taking_tokens(LocalParts(application_database, turbopuffer_url), issuer)


@pytest.fixture(autouse=True)
def _no_token_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    reported = exposed([r for when in ("setup", "call") for r in caplog.get_records(when)])
    assert "eyJ" not in reported  # how every token begins


def token_of(tenant: Tenant, issuer: Issuer, **claims: Any) -> str:
    """A token for a project, with every scope."""
    every: dict[str, Any] = {"scope": "search manage replace"}
    return project_token(issuer, tenant.api.project_id, **(every | claims))


def project_token(issuer: Issuer, project_id: object, /, **claims: Any) -> str:
    """A token that names a project."""
    named: dict[str, Any] = {CLAIM: project_id}
    return issuer.token(**(named | claims))


def bad_tokens(tenant: Tenant, issuer: Issuer) -> dict[str, str]:
    """Tokens that open nothing; ``tests/integrations/test_jwt_tokens.py`` has all that is wrong."""
    return {
        "expired": token_of(tenant, issuer, exp=1),
        "another audience": token_of(tenant, issuer, aud="https://other.example"),
        "project by its other name": token_of(
            tenant, issuer, **{CLAIM: None, "project_id": tenant.api.project_id}
        ),
        "missing project": token_of(tenant, issuer, **{CLAIM: NOWHERE}),
        "another's signature": token_of(tenant, issuer, which=5),
        "only dots": "e30.e30.e30",
    }


def test_a_token_that_is_not_good_opens_nothing(
    parts: LocalParts, victim: Tenant, issuer: Issuer
) -> None:
    """One route is enough: ``test_keys_and_scopes`` shows that all ask for the caller."""
    before = state_without(parts, 0)
    path = f"/api/v1/tables/{victim.ids['table_id']}"
    for kind, token in bad_tokens(victim, issuer).items():
        response = victim.api("DELETE", path, key=token)
        assert response.status_code == 401, kind
        problem(response, 401, "UNAUTHENTICATED")
    assert state_without(parts, 0) == before


@pytest.mark.parametrize(
    ("claims", "opened"),
    [
        ({"scope": "openid search"}, ["search"]),
        ({"scope": None, "scp": ["manage"]}, ["manage"]),
        ({"scope": "manage replace"}, ["manage", "replace"]),
        ({"scope": None}, []),
        ({"aud": MCP_AUDIENCE}, ["search"]),
        ({"aud": [AUDIENCE, MCP_AUDIENCE]}, ["search"]),
    ],
)
def test_a_token_opens_what_its_scopes_open_in_its_project(
    stranger: Tenant, victim: Tenant, issuer: Issuer, claims: dict[str, Any], opened: list[str]
) -> None:
    token = token_of(stranger, issuer, **claims)
    body = {"query": "harbour", "find": "harbour", "replace_with": "haven"}
    requests = {
        "search": ("POST", "tools/{tool_id}/search", ["query"]),
        "manage": ("GET", "tables/{table_id}", []),
        "replace": ("POST", "projects/{project_id}/replace/preview", ["find", "replace_with"]),
    }
    for scope, (method, path, names) in requests.items():
        sent = {"json": {name: body[name] for name in names}} if names else {}
        for tenant, status in ((stranger, 200), (victim, 404)):
            where = f"/api/v1/{path.format(**tenant.ids)}"
            response = stranger.api(method, where, key=token, **sent)
            assert response.status_code == (status if scope in opened else 403), scope


def test_an_internal_route_takes_no_token(victim: Tenant, issuer: Issuer) -> None:
    token = token_of(victim, issuer)
    headers: list[Headers] = [{"authorization": f"Bearer {token}"}, {"x-internal-secret": token}]
    for operation in INTERNAL:
        for each in headers:
            problem(send(victim, operation, each), 401, "UNAUTHENTICATED")


def test_a_token_makes_keys_for_no_more_than_it_may_itself(api: Api, issuer: Issuer) -> None:
    path = f"{api.project}/keys"
    token = project_token(issuer, api.project_id, scope="manage")
    problem(api("POST", path, key=token, json={"scopes": ["search"]}), 403, "PERMISSION_DENIED")
    made = answer(api("POST", path, key=token, json={}), 201)
    assert made["scopes"] == ["manage"]
    rotated = api("POST", f"{path}/{made['id']}/rotate", key=token)
    assert rotated.status_code == 201


def test_a_request_that_comes_again_with_the_next_token_is_not_repeated(
    api: Api, issuer: Issuer
) -> None:
    def create(idempotency_key: str = "one", **claims: Any) -> dict[str, Any]:
        token = project_token(issuer, api.project_id, **({"scope": "manage"} | claims))
        body = {"project_id": api.project_id, "name": "x", "data": 1}
        headers = {"idempotency-key": idempotency_key}
        return answer(api("POST", "/api/v1/tables", key=token, json=body, headers=headers), 201)

    first = create(jti="first", sub="alice")
    assert create(jti="second", sub="alice") == first
    assert create(sub="bob")["id"] != first["id"]
    assert create("another", sub="alice")["id"] != first["id"]
    assert create(sub=None)["id"] != create(sub=None, jti="other")["id"]


def test_a_first_answer_is_not_repeated_to_a_token_with_other_scopes(
    api: Api, issuer: Issuer
) -> None:
    path, headers = f"{api.project}/keys", {"idempotency-key": "one"}
    by_scope = {}
    for scope in ("search manage", "manage"):
        token = project_token(issuer, api.project_id, sub="alice", scope=scope)
        by_scope[scope] = answer(api("POST", path, key=token, json={}, headers=headers), 201)
    assert by_scope["manage"]["scopes"] == ["manage"]
    assert by_scope["manage"]["api_key"] != by_scope["search manage"]["api_key"]


# ---- MCP


def test_mcp_shows_and_calls_with_a_token_what_it_does_with_a_project_key(
    stranger: Tenant, issuer: Issuer
) -> None:
    call: Any = {"name": "secret_one", "arguments": {"query": "harbour"}}
    for method, params in (("server/discover", {}), ("tools/list", {}), ("tools/call", call)):
        by_key, by_token = (
            answer(call_with(stranger.api, "/mcp", text, method, **params), 200)
            for text in (stranger.api.key, token_of(stranger, issuer, scope="search"))
        )
        assert by_token.keys() == by_key.keys()
        assert "error" not in by_token
    of_agent = token_of(stranger, issuer, aud=MCP_AUDIENCE)
    listed = call_with(stranger.api, "/mcp", of_agent, "tools/list")
    names = [tool["name"] for tool in answer(listed, 200)["result"]["tools"]]
    assert names == [*READS, "secret_one", "secret_two"]


@pytest.mark.parametrize("method", METHODS)
def test_mcp_tells_who_brings_no_good_token_where_to_get_one(
    parts: LocalParts, victim: Tenant, issuer: Issuer, method: str
) -> None:
    before = state_without(parts, 0)
    where = f'scope="search", resource_metadata="http://testserver{METADATA}/mcp"'
    bare = send_mcp(victim.api, method, "/mcp")
    assert refusal(bare, 401)["data"]["code"] == "UNAUTHENTICATED"
    assert bare.headers["www-authenticate"] == f'Bearer realm="mcp", {where}'
    bad = bad_tokens(victim, issuer) | {"unknown key": "cs_" + "A" * 43}
    for kind, token in bad.items():
        response = send_mcp(victim.api, method, "/mcp", {"authorization": f"Bearer {token}"})
        assert response.status_code == 401, kind
        challenge = response.headers["www-authenticate"]
        assert challenge == f'Bearer realm="mcp", error="invalid_token", {where}'
    assert state_without(parts, 0) == before


def test_a_token_in_a_path_opens_nothing(victim: Tenant, issuer: Issuer) -> None:
    token = token_of(victim, issuer)
    response = send_mcp(victim.api, "tools/list", f"/api/v1/mcp/server/{token}")
    refusal(response, 401)
    assert "resource_metadata" not in response.headers["www-authenticate"]
    assert victim.api.internally("GET", f"/internal/mcp-v2/{token[:190]}").status_code == 404


# ---- metadata


@pytest.mark.parametrize(
    ("path", "scopes"), [("", ["search", "manage", "replace"]), ("/mcp", ["search"])]
)
def test_the_metadata_names_the_issuer(
    victim: Tenant, issuer: Issuer, path: str, scopes: list[str]
) -> None:
    assert answer(victim.api.http.get(f"{METADATA}{path}"), 200) == {
        "resource": f"http://testserver{path}",
        "authorization_servers": [issuer.url],
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
    }


def test_the_metadata_is_that_of_the_address_that_was_asked(victim: Tenant) -> None:
    headers = {"host": "search.example:8443"}
    found = answer(victim.api.http.get(f"{METADATA}/mcp", headers=headers), 200)
    assert found["resource"] == "http://search.example:8443/mcp"


@pytest.mark.parametrize("host", ["", "[::1", 'a", b="c', "a/b", "a:b", "é"])
def test_a_host_that_is_none_is_in_no_answer(victim: Tenant, host: str) -> None:
    headers: Any = {"host": host.encode()}
    problem(victim.api.http.get(f"{METADATA}/mcp", headers=headers), 404, "NOT_FOUND")
    response = send_mcp(victim.api, "tools/list", "/mcp", headers)
    assert response.headers["www-authenticate"] == 'Bearer realm="mcp"'


def test_the_official_client_finds_the_issuer(victim: Tenant, issuer: Issuer) -> None:
    refused = send_mcp(victim.api, "tools/list", "/mcp")
    httpx_answer = httpx2.Response(401, headers=refused.headers)
    where = extract_resource_metadata_from_www_auth(httpx_answer)
    assert where is not None
    assert extract_scope_from_www_auth(httpx_answer) == "search"
    said = answer(victim.api.http.get(where), 200)
    found = ProtectedResourceMetadata.model_validate(said)
    assert [str(url) for url in found.authorization_servers] == [issuer.url]
    assert check_resource_allowed("http://testserver/mcp", str(found.resource))


# ---- the issuer is away


def test_without_the_issuer_tokens_are_503_and_keys_go_on(
    application_database: Database, turbopuffer_url: str
) -> None:
    with running_issuer() as away:
        token = project_token(away, 1)
        parts = taking_tokens(LocalParts(application_database, turbopuffer_url), away)
    with client_of(http_app(every_router(), parts.use_cases)) as client:
        api = Api.of_new_project(client, parts)
        reported = problem(api("GET", "/api/v1/mcps", key=token), 503, "TOKEN_ISSUER_UNAVAILABLE")
        assert reported["retryable"]
        assert reported["retryAfterMs"] <= 5_000
        response = send_mcp(api, "tools/list", "/mcp", {"authorization": f"Bearer {token}"})
        assert response.status_code == 503
        assert int(response.headers["retry-after"]) <= 5
        assert response.json()["error"]["data"]["code"] == "TOKEN_ISSUER_UNAVAILABLE"
        answer(api("GET", "/api/v1/mcps"), 200)
        answer(client.get(METADATA), 200)
