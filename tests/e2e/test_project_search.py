"""Project search with the real parts: switched on, followed, paged over a rebuild."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import until
from tests.e2e.library import COMETS, PLACES, QUESTIONS, WHALE, check_hit, library
from tests.e2e.running import Running, Tenant

pytestmark = pytest.mark.stack
WITHIN_S = 120.0


def index(tenant: Tenant) -> str:
    return f"/api/v1/projects/{tenant.project_id}/search-index"


def ready(tenant: Tenant, namespace: str | None = None) -> dict[str, Any]:
    """Waits until the index (of another namespace) answers and follows every table."""

    def settled() -> dict[str, Any] | None:
        state = tenant("GET", index(tenant)).json()
        is_new = namespace is None or state["namespace"] != namespace
        return state if state["status"] == "ready" and is_new else None

    return until(settled, WITHIN_S, every_s=0.2)


def ask(tenant: Tenant, query: str, **more: Any) -> dict[str, Any]:
    path = f"/api/v1/projects/{tenant.project_id}/search"
    found = tenant("POST", path, json={"query": query, **more})
    assert found.status_code == 200, found.text
    return dict(found.json())


def test_every_string_is_found_and_pages_agree_over_a_rebuild(
    stack: Running, tenant: Tenant
) -> None:
    document = library(7)
    outbox = tenant.table(document)
    assert tenant("POST", index(tenant)).status_code == 202
    later = tenant.table({"notes": [f"storm number {number} at sea" for number in range(60)]})
    namespace = ready(tenant)["namespace"]
    for sentence in (COMETS, WHALE):
        best = ask(tenant, QUESTIONS[sentence])["results"][0]
        assert (best["chunk"]["table_id"], best["json_path"]) == (outbox, PLACES[sentence][0])
        assert best["highlights"]
        check_hit(document, best)
    assert ask(tenant, QUESTIONS[COMETS])["results"][0]["title"] == "Letters"

    asked = {"strategy": "keyword", "tables": [later]}
    first = ask(tenant, "storm", **asked)
    rebuild = f"/internal/projects/{tenant.project_id}/search-index/rebuild"
    assert stack.internally("POST", rebuild).status_code == 202
    ready(tenant, namespace)
    second = ask(tenant, "storm", cursor=first["cursor"], **asked)
    paths = [each["json_path"] for page in (first, second) for each in page["results"]]
    assert (len(paths), len(set(paths)), second["hasMore"]) == (60, 60, False)

    assert tenant("DELETE", f"/api/v1/tables/{later}").status_code == 204
    assert ask(tenant, "storm", **asked)["results"] == []
    assert tenant("DELETE", index(tenant)).status_code == 204
    assert tenant("GET", index(tenant)).json()["code"] == "PROJECT_INDEX_OFF"
    until(lambda: not stack.rows(namespace) and not stack.documents(namespace), WITHIN_S)
