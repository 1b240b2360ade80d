"""Search and replace in the running product: plans for workers, and what searches see meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english, planted, until
from tests.e2e.library import COMETS, QUESTIONS
from tests.e2e.running import Tenant

pytestmark = pytest.mark.stack
FOUND, BECOMES = "lighthouse", "windmill"
TABLES = 104
"""More than one transaction takes."""
LONG = planted(english(40_000, 41), COMETS, 12_000)
DONE_WITHIN_S = 120.0


def short(number: int) -> dict[str, Any]:
    return {"n": number, "text": f"The {FOUND} {number}, seen from the {FOUND}."}


@pytest.fixture
def tool(tenant: Tenant) -> dict[str, Any]:
    """A ready tool over one long string; beside it, the project has many short ones."""
    table_id = tenant.table({"text": LONG})
    made = tenant.tool(table_id)
    tenant.ready(made)
    return {**made, "table_id": table_id}


def plan_of(tenant: Tenant, plan_id: int) -> dict[str, Any]:
    read = tenant("GET", f"/api/v1/projects/{tenant.project_id}/replace/{plan_id}")
    assert read.status_code == 200, read.text
    return dict(read.json())


def document(tenant: Tenant, table_id: int) -> Any:
    return tenant("GET", f"/api/v1/tables/{table_id}/data").json()


def kinds_of_hits(tenant: Tenant, tool: dict[str, Any], texts: tuple[str, ...]) -> set[int]:
    """Which of the texts the hits of one answer are slices of: it has to be one for all of them."""
    results = tenant.search(tool, QUESTIONS[COMETS], top_k=20)["results"]
    assert results
    fitting = [
        number
        for number, text in enumerate(texts)
        if all(
            text[hit["chunk"]["char_start"] : hit["chunk"]["char_end"]]
            == hit["chunk"]["chunk_text"]
            for hit in results
        )
    ]
    assert len(fitting) == 1, "hits of more than one version, or of none"
    return set(fitting)


def test_a_plan_over_many_documents_is_carried_out_by_workers_and_taken_back(
    tenant: Tenant, tool: dict[str, Any]
) -> None:
    documents = {tenant.table(short(number)): short(number) for number in range(TABLES)}
    texts = (LONG, LONG.replace(FOUND, BECOMES))
    seen: set[int] = set()

    def ended(plan_id: int, text: int) -> dict[str, Any]:
        """Waits until a plan has ended and its text is found, searching all the while."""

        def over() -> dict[str, Any] | None:
            hits = kinds_of_hits(tenant, tool, texts)
            seen.update(hits)
            plan = plan_of(tenant, plan_id)
            return plan if plan["state"] != "executing" and hits == {text} else None

        return until(over, DONE_WITHIN_S, every_s=0.1)

    replace = f"/api/v1/projects/{tenant.project_id}/replace"
    body = {"find": FOUND, "replace_with": BECOMES}
    preview = tenant("POST", f"{replace}/preview", json=body).json()
    assert (preview["state"], preview["atomic"]) == ("ready", False)
    assert (preview["tables_count"], preview["matches_count"]) == (TABLES + 1, 2 * TABLES + 1)

    chosen = {"plan_id": preview["plan_id"], "digest": preview["digest"]}
    started = tenant("POST", f"{replace}/execute", json=chosen)
    assert (started.status_code, started.json()["state"]) == (202, "executing")
    assert started.headers["location"] == f"{replace}/{preview['plan_id']}"
    done = ended(preview["plan_id"], 1)
    assert done["state"] == "done"
    replayed = tenant("POST", f"{replace}/execute", json=chosen).json()
    assert (replayed["replayed"], replayed["replaced_count"]) == (True, 2 * TABLES + 1)
    for table_id, original in documents.items():
        changed = original["text"].replace(FOUND, BECOMES)
        assert document(tenant, table_id) == {**original, "text": changed}

    undo = tenant("POST", f"{replace}/{preview['plan_id']}/undo", json={})
    assert (undo.status_code, undo.json()["state"]) == (202, "executing")
    assert ended(undo.json()["plan_id"], 0)["state"] == "done"
    for table_id, original in documents.items():
        assert document(tenant, table_id) == original
    assert document(tenant, tool["table_id"]) == {"text": LONG}
    assert seen == {0, 1}
