"""Every route honours ``If-Match`` and ``If-None-Match``, or refuses the request that has them."""

from __future__ import annotations

import httpx2
import pytest

from context_search.web.openapi import contract
from tests.web.access.matrix import ROWS, UNDOCUMENTED, Operation, ids_of, request_of
from tests.web.access.things import Tenant, things_of
from tests.web.api import SECRET, Api, LocalParts, problem

OPERATIONS = sorted(set(ROWS) - UNDOCUMENTED)
STALE = '"999"'


def taking(name: str) -> list[Operation]:
    """The operations that declare a header."""
    return [
        (method, path)
        for method, path in OPERATIONS
        for one in contract()["paths"][path][method.lower()].get("parameters", ())
        if one["name"] == name
    ]


def refusing() -> list[tuple[str, Operation]]:
    """Each condition with the operations that do not declare it."""
    pairs = [(name, one) for name in ("if-match", "if-none-match") for one in OPERATIONS]
    return [(name, one) for name, one in pairs if one not in taking(name)]


@pytest.fixture(scope="module")
def tenant(http: httpx2.Client, parts: LocalParts) -> Tenant:
    """A project with one of everything, which no test here changes."""
    api = Api.of_new_project(http, parts)
    return Tenant(api, things_of(api, parts.work))


def ask(tenant: Tenant, operation: Operation, **conditions: str) -> httpx2.Response:
    """The request of the access matrix with further headers."""
    headers = {name.replace("_", "-"): text for name, text in conditions.items()}
    headers |= {"authorization": f"Bearer {tenant.api.key}", "x-internal-secret": SECRET}
    request = request_of(operation, ids_of(operation, tenant.ids))
    return tenant.api.http.request(url=request.pop("path"), headers=headers, **request)


@pytest.mark.parametrize(("name", "operation"), refusing(), ids=str)
def test_a_condition_that_a_route_cannot_honour_is_refused(
    tenant: Tenant, name: str, operation: Operation
) -> None:
    refused = problem(
        ask(tenant, operation, **{name.replace("-", "_"): STALE}), 422, "INVALID_INPUT"
    )
    assert name in refused["detail"].lower()


@pytest.mark.parametrize("operation", taking("if-match"), ids=" ".join)
def test_nothing_happens_to_another_revision(tenant: Tenant, operation: Operation) -> None:
    problem(ask(tenant, operation, if_match=STALE), 409, "CONFLICT")
    problem(ask(tenant, operation, if_match='W/"1"'), 412, "PRECONDITION_FAILED")


@pytest.mark.parametrize("operation", taking("if-none-match"), ids=" ".join)
def test_what_a_client_has_is_not_sent_again(tenant: Tenant, operation: Operation) -> None:
    whole = ask(tenant, operation)
    tag = whole.headers["etag"]
    for known in (tag, tag.removeprefix("W/"), f"{STALE}, {tag}", "*"):
        again = ask(tenant, operation, if_none_match=known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = ask(tenant, operation, if_none_match=STALE)
    assert (other.status_code, other.content) == (200, whole.content)


def test_tables_and_tools_of_the_named_revision_are_deleted(api: Api) -> None:
    table = api.table({"a": 1})
    tool = api.unindexed_tool(table)
    for path in (f"/api/v1/tools/{tool['tool_id']}", f"/api/v1/tables/{table['id']}"):
        tag = api("GET", path).headers["etag"]
        assert api("DELETE", path, headers={"if-match": STALE}).status_code == 409
        assert api("GET", path).status_code == 200
        assert api("DELETE", path, headers={"if-match": tag}).status_code == 204
        problem(api("GET", path), 404, "NOT_FOUND")
