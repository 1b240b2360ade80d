"""The access matrix over real HTTP: the gateway's routes, API Gateway's events, a running stack."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.builders import until
from tests.e2e.running import Running
from tests.web.access.matrix import PUBLIC, ROWS, Operation, expected, ids_of, swaps
from tests.web.access.test_tenancy import ask, seen
from tests.web.access.things import MISSING, STRINGS, Tenant, things_of
from tests.web.api import Api, LocalParts, answer

# Each answer has its own.
_OF_THE_GATEWAY = {"date", "apigw-requestid"}


def tenant_of(stack: Running, *, changes: int = 1) -> Tenant:
    """A project with one of everything; the parts behind the API are out of reach here."""
    project = stack.project()
    http: Any = stack.http
    api = Api(http, cast(LocalParts, None), project.project_id, project.key)
    path = f"/api/v1/projects/{api.project_id}/search-index"

    def is_indexed() -> bool:
        state = answer(api("GET", path), 200)
        return bool(state["status"] == "ready" and (state["indexed_chunks_count"] or 0) > STRINGS)

    def settle() -> None:
        until(is_indexed, 60)

    return Tenant(api, things_of(api, settle, changes=changes))


@pytest.fixture(scope="module")
def victim(stack: Running) -> Tenant:
    return tenant_of(stack, changes=3)


@pytest.fixture(scope="module")
def stranger(stack: Running, victim: Tenant) -> Tenant:
    return tenant_of(stack)


@pytest.mark.parametrize("operation", PUBLIC, ids=" ".join)
def test_what_is_a_strangers_looks_like_what_is_missing(
    victim: Tenant, stranger: Tenant, operation: Operation
) -> None:
    own = ids_of(operation, stranger.ids)
    for swapped in swaps(operation):
        reported = []
        for tenant in (victim.ids, MISSING):
            others = ids_of(operation, tenant)
            response = ask(stranger.api, operation, own | {name: others[name] for name in swapped})
            status, headers, body = seen(response)
            kept = {name: text for name, text in headers.items() if name not in _OF_THE_GATEWAY}
            reported.append((status, kept, body))
        assert reported[0] == reported[1], swapped
        assert reported[0][0] == expected(ROWS[operation], swapped), swapped
