"""Who may do what: every route with every kind of missing, malformed, dead and wrong key."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.web.access.credentials import Headers, bad_headers, bad_secrets, unscoped
from tests.web.access.matrix import (
    ANY_SCOPE,
    BOTH,
    EVERYBODYS,
    INTERNAL,
    OPEN,
    PUBLIC,
    ROWS,
    SCOPED,
    TRUSTED,
    Operation,
    ids_of,
    request_of,
)
from tests.web.access.stores import State, state_without, without_uses
from tests.web.access.things import Tenant
from tests.web.api import OLD_SECRET, SECRET, Api, LocalParts, problem

OPENED_BY = {
    OPEN: {
        "GET /.well-known/oauth-protected-resource",
        "GET /.well-known/oauth-protected-resource/mcp",
        "POST /api/v1/console/sign-in",
        "GET /console",
        "GET /healthz",
        "GET /openapi.json",
        "GET /readyz",
    },
    ANY_SCOPE: {"GET /api/v1/whoami"},
    frozenset({"search"}): {
        "GET /api/v1/citations/{cite}",
        "POST /api/v1/find-text",
        "POST /api/v1/outline",
        "POST /api/v1/read",
        "POST /api/v1/projects/{project_id}/retrieve",
        "POST /api/v1/projects/{project_id}/search",
        "POST /api/v1/projects/{project_id}/search/explain",
        "POST /api/v1/tools/{tool_id}/retrieve",
        "POST /api/v1/tools/{tool_id}/search",
        "POST /api/v1/tools/{tool_id}/search/explain",
    },
    frozenset({"search", "manage"}): {
        "GET /api/v1/projects/{project_id}/health",
        "POST /api/v1/projects/{project_id}/measures",
        "GET /api/v1/projects/{project_id}/retrieval-settings",
        "GET /api/v1/projects/{project_id}/search-index",
        "GET /api/v1/tools",
        "GET /api/v1/tools/{tool_id}",
        "POST /api/v1/tools/{tool_id}/chunks",
        "GET /api/v1/tools/{tool_id}/search-index",
        "GET /api/v1/tools/{tool_id}/search-index/nodes",
    },
    frozenset({"replace"}): {
        "GET /api/v1/projects/{project_id}/replace",
        "POST /api/v1/projects/{project_id}/replace/execute",
        "POST /api/v1/projects/{project_id}/replace/preview",
        "DELETE /api/v1/projects/{project_id}/replace/{plan_id}",
        "GET /api/v1/projects/{project_id}/replace/{plan_id}",
        "GET /api/v1/projects/{project_id}/replace/{plan_id}/matches",
        "POST /api/v1/projects/{project_id}/replace/{plan_id}/undo",
    },
    TRUSTED | {"manage"}: {"POST /api/v1/projects/{project_id}/keys"},
    TRUSTED: {
        "POST /api/v1/projects",
        "DELETE /api/v1/projects/{project_id}",
        "POST /internal/index/redrive",
        "GET /internal/integrity",
        "GET /internal/mcp-v2/{api_key}",
        "GET /internal/projects",
        "POST /internal/projects/{project_id}/adopt",
        "POST /internal/projects/{project_id}/search-index/rebuild",
        "POST /internal/projects/{project_id}/search-index/rollback",
        "GET /internal/rebuild",
        "POST /internal/rebuild",
        "DELETE /internal/tools/{tool_id}/chunks",
        "POST /internal/tools/{tool_id}/chunks/rebuild",
        "POST /internal/tools/{tool_id}/chunks/rollback",
        "GET /internal/tools/{tool_id}/chunks/stats",
        "POST /internal/tools/{tool_id}/retrieve",
        "POST /internal/tools/{tool_id}/search",
    },
}
"""The routes that want something else than the scope ``manage``, by what opens each."""
NOBODY = 0
"""The id of no project."""
every_public_route = pytest.mark.parametrize("operation", PUBLIC, ids=" ".join)
every_scoped_route = pytest.mark.parametrize("operation", SCOPED, ids=" ".join)
every_internal_route = pytest.mark.parametrize("operation", INTERNAL, ids=" ".join)


def test_routes_are_opened_as_they_are_written_down_here() -> None:
    """The other tests take the keys of a route from its declaration; this one does not."""
    opened = {
        opened_by: {" ".join(pair) for pair, row in ROWS.items() if row.opened_by == opened_by}
        for opened_by in {row.opened_by for row in ROWS.values()}
    }
    opened.pop(frozenset({"manage"}))
    assert opened == OPENED_BY


@pytest.fixture(scope="module")
def no_keys(victim: Tenant) -> dict[str, Headers]:
    return bad_headers(victim)


@pytest.fixture(scope="module")
def no_secrets(victim: Tenant) -> dict[str, Headers]:
    return bad_secrets(victim)


def send(tenant: Tenant, operation: Operation, headers: Headers) -> httpx2.Response:
    """A call that is good but for its headers."""
    sent: Any = dict(headers)
    request = request_of(operation, ids_of(operation, tenant.ids))
    return tenant.api.http.request(
        request.pop("method"), request.pop("path"), headers=sent, **request
    )


def state_of(parts: LocalParts) -> State:
    return state_without(parts, NOBODY)


@pytest.mark.sampled
@every_public_route
def test_a_public_route_wants_a_good_key(
    parts: LocalParts, victim: Tenant, no_keys: dict[str, Headers], operation: Operation
) -> None:
    before = state_of(parts)
    said = {}
    for kind, headers in no_keys.items():
        if ROWS[operation].opened_by >= TRUSTED and SECRET in headers.values():
            continue
        response = send(victim, operation, headers)
        assert response.status_code == 401, kind
        said[kind] = problem(response, 401, "UNAUTHENTICATED")["detail"]
        assert response.headers["www-authenticate"].startswith("Bearer")
    assert len(no_keys) >= 30
    # Whether a key was ever good is nobody's business.
    dead = {said[kind] for kind in said if "key" in kind.split() and "as" not in kind}
    assert dead == {said["unknown"]}
    assert state_of(parts) == before


@pytest.mark.sampled
@pytest.mark.parametrize("operation", BOTH, ids=" ".join)
def test_a_route_for_keys_and_the_secret_takes_no_other_secret(
    parts: LocalParts, victim: Tenant, no_secrets: dict[str, Headers], operation: Operation
) -> None:
    before = state_of(parts)
    wrong = {
        kind: headers for kind, headers in no_secrets.items() if "authorization" not in headers
    }
    for kind, headers in wrong.items():
        assert send(victim, operation, headers).status_code == 401, kind
    # Whoever shows a key is asked for that, whatever else comes with it.
    both: Headers = {"authorization": "Bearer cs_unknown", "x-internal-secret": SECRET}
    assert send(victim, operation, both).status_code == 401
    assert len(wrong) >= 10
    assert state_of(parts) == before


@pytest.mark.sampled
@every_internal_route
def test_an_internal_route_wants_the_secret_and_takes_no_key(
    parts: LocalParts, victim: Tenant, no_secrets: dict[str, Headers], operation: Operation
) -> None:
    before = state_of(parts)
    said = []
    for kind, headers in no_secrets.items():
        response = send(victim, operation, headers)
        assert response.status_code == 401, kind
        said.append(problem(response, 401, "UNAUTHENTICATED"))
    assert all(each == said[0] for each in said)
    assert state_of(parts) == before


@pytest.mark.parametrize("secret", [SECRET, OLD_SECRET])
def test_both_secrets_of_a_rotation_are_good(api: Api, secret: str) -> None:
    headers = {"x-internal-secret": secret}
    response = api.http.post("/api/v1/projects", headers=headers, json={"name": "x"})
    assert response.status_code == 201


@pytest.mark.sampled
@every_scoped_route
def test_a_route_wants_a_key_with_its_scope(
    parts: LocalParts, victim: Tenant, operation: Operation
) -> None:
    keys = unscoped(victim.api, ROWS[operation].scopes)
    assert keys
    before = state_of(parts)
    for scopes, key in keys.items():
        response = send(victim, operation, {"authorization": f"Bearer {key}"})
        detail = problem(response, 403, "PERMISSION_DENIED")["detail"]
        assert not {*scopes.split("+")} & {*detail.split()}
    assert without_uses(state_of(parts)) == without_uses(before)


@every_public_route
def test_a_key_with_the_one_scope_is_enough(stranger: Tenant, operation: Operation) -> None:
    nowhere = ids_of(operation, stranger.ids) | {"project_id": 2**62, "table_id": 2**62}
    nowhere |= {"tool_id": 2**62, "mcp_id": 2**62}
    for scope in ROWS[operation].scopes:
        key = stranger.api.new_key(scopes=[scope])["api_key"]
        request = request_of(operation, nowhere)
        assert stranger.api(key=key, **request).status_code in {200, 201, 404}


@pytest.mark.sampled
@every_public_route
def test_the_key_of_an_mcp_instance_opens_no_route_but_mcp(
    parts: LocalParts, victim: Tenant, operation: Operation
) -> None:
    before = state_of(parts)
    key = victim.ids["api_key"]
    response = send(victim, operation, {"authorization": f"Bearer {key}"})
    problem(response, 403, "PERMISSION_DENIED")
    assert without_uses(state_of(parts)) == without_uses(before)


@pytest.mark.parametrize("operation", EVERYBODYS, ids=" ".join)
def test_what_is_for_everybody_asks_for_no_key_and_minds_none(
    victim: Tenant, no_keys: dict[str, Headers], operation: Operation
) -> None:
    answers = [send(victim, operation, headers) for headers in no_keys.values()]
    assert {response.status_code for response in answers} == {ROWS[operation].status}
    assert all(said(response) == said(answers[0]) for response in answers)


def said(response: httpx2.Response) -> object:
    """The body without the id of the request."""
    if not response.headers["content-type"].startswith("application/"):
        return response.text
    body = response.json()
    body.pop("requestId", None)
    return body


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_name_of_the_scheme_has_no_case(victim: Tenant, scheme: str) -> None:
    headers = {"authorization": f"{scheme} {victim.api.key}"}
    path = f"/api/v1/tables/{victim.ids['table_id']}"
    assert victim.api.http.get(path, headers=headers).status_code == 200
