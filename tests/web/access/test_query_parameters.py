"""No route takes a query parameter that it does not know, one twice, or an id in another spelling.

Generated over the access matrix: whatever is refused has changed nothing.
"""

from __future__ import annotations

import httpx2
import pytest

from context_search.web.openapi import contract
from tests.web.access.matrix import (
    MCP_METHODS,
    MCP_PATHS,
    NAMES,
    ROWS,
    TRUSTED,
    Operation,
    ids_of,
    markers,
    request_of,
)
from tests.web.access.stores import without_uses
from tests.web.access.test_keys_and_scopes import state_of
from tests.web.access.things import Tenant
from tests.web.api import SECRET, Api, LocalParts, problem

every_route = pytest.mark.parametrize("operation", ROWS, ids=" ".join)
SPELLINGS = ["+{}", "0{}", "{}.0", "-{}", "{}e0", "0x{}", " {}", "1_{}", "\uff11{}", "\u0661{}"]


def declared(operation: Operation) -> set[str]:
    """The query parameters of a route, as its OpenAPI document has them."""
    method, path = operation
    described = contract()["paths"].get(path, {}).get(method.lower(), {})
    parameters = described.get("parameters", ())
    return {parameter["name"] for parameter in parameters if parameter["in"] == "query"}


def send(tenant: Tenant, operation: Operation, query: str = "", path: str = "") -> httpx2.Response:
    request = request_of(operation, ids_of(operation, tenant.ids))
    request.pop("params", None)
    request["path"] = f"{path or request['path']}?{query}" if query else path or request["path"]
    call: Api = tenant.api
    if ROWS[operation].opened_by == TRUSTED:
        return call.internally(request.pop("method"), request.pop("path"), **request)
    return call(**request)


@pytest.mark.sampled
@every_route
def test_a_parameter_that_a_route_does_not_know_is_refused(
    parts: LocalParts, victim: Tenant, operation: Operation
) -> None:
    before = state_of(parts)
    for name in ("ponter", "Pointer", "wait ", "", "x\u00e9", SECRET):
        detail = problem(send(victim, operation, f"{name}=1"), 422, "INVALID_INPUT")["detail"]
        assert all(known in detail for known in declared(operation))
    good = "&".join(f"{name}={_sample(name)}" for name in sorted(declared(operation)))
    if good:
        problem(send(victim, operation, f"{good}&ponter=/a"), 422, "INVALID_INPUT")
    assert without_uses(state_of(parts)) == without_uses(before)


@pytest.mark.sampled
@every_route
def test_a_parameter_that_comes_twice_is_refused(
    parts: LocalParts, victim: Tenant, operation: Operation
) -> None:
    before = state_of(parts)
    for name in declared(operation):
        twice = f"{name}={_sample(name)}&{name}={_sample(name)}"
        problem(send(victim, operation, twice), 422, "INVALID_INPUT")
    assert without_uses(state_of(parts)) == without_uses(before)


def _sample(name: str) -> str:
    samples = {"pointer": "/strings/0", "dry_run": "true", "shared": "true"}
    return samples.get(name, "1")


@pytest.mark.parametrize("path", MCP_PATHS)
@pytest.mark.parametrize("method", MCP_METHODS)
def test_mcp_takes_no_query_parameter(victim: Tenant, method: str, path: str) -> None:
    where = path.format(api_key=victim.ids["api_key"])
    refused = victim.api(method, f"{where}?pointer=/a", key=victim.ids["api_key"])
    assert refused.status_code == 422
    if method != "HEAD":
        problem(refused, 422, "INVALID_INPUT")


@pytest.mark.sampled
@every_route
def test_an_id_in_a_path_has_one_spelling(
    parts: LocalParts, victim: Tenant, operation: Operation
) -> None:
    _, template = operation
    names = [name for name in markers(template) if name not in {"api_key", *NAMES}]
    before = state_of(parts)
    ids = ids_of(operation, victim.ids)
    for name in names:
        for spelling in SPELLINGS:
            others = {**ids, name: spelling.format(ids[name])}
            path = template.format(**{**others, **{k: str(v) for k, v in others.items()}})
            problem(send(victim, operation, path=path), 422, "INVALID_INPUT")
    assert without_uses(state_of(parts)) == without_uses(before)


@pytest.mark.parametrize("text", ["+1", "01", "1.0", "\uff11", "", "true"])
def test_a_number_in_a_query_has_one_spelling(victim: Tenant, text: str) -> None:
    project = f"/api/v1/projects/{victim.ids['project_id']}"
    problem(victim.api("GET", f"{project}/keys?cursor={text}"), 422, "INVALID_INPUT")
    redrive = victim.api.internally("POST", f"/internal/index/redrive?limit={text}")
    problem(redrive, 422, "INVALID_INPUT")


@pytest.mark.parametrize("text", ["yes", "1", "on", "TRUE", "t", ""])
def test_a_truth_in_a_query_has_one_spelling(victim: Tenant, text: str) -> None:
    chunks = f"/internal/tools/{victim.ids['tool_id']}/chunks"
    for method, query in (("DELETE", f"?shared={text}"), ("POST", f"/rebuild?dry_run={text}")):
        problem(victim.api.internally(method, chunks + query), 422, "INVALID_INPUT")
