"""Documents change and go; the index follows within seconds, and nothing stays behind."""

from __future__ import annotations

from typing import Any

import pytest
from turbopuffer import NotFoundError

from tests.builders import english, planted, until
from tests.e2e.library import COMETS, QUESTIONS, VIOLIN, check_hit
from tests.e2e.running import Running, Tenant

pytestmark = pytest.mark.stack
OLD = planted(english(40_000, 31), COMETS, 12_000)
NEW = planted(english(40_000, 32), VIOLIN, 25_000)
KEPT = english(15_000, 33)
FOLLOWS_WITHIN_S = 30.0
SWEPT_WITHIN_S = 90.0
"""A namespace is swept once a minute (``CleanupIdleMinutes``)."""


@pytest.fixture
def tool(tenant: Tenant) -> dict[str, Any]:
    """A tool over two strings, ready, with the id of its table."""
    table_id = tenant.table({"text": OLD, "kept": KEPT})
    made = tenant.tool(table_id)
    tenant.ready(made)
    return {**made, "table_id": table_id}


def texts(found: dict[str, Any]) -> str:
    return "\n".join(hit["chunk"]["chunk_text"] for hit in found["results"])


def write_by_sql(stack: Running, tool: dict[str, Any], text: str) -> None:
    """As somebody does who knows nothing of this system."""
    stack.sql(
        "UPDATE context_table SET data = jsonb_set(data, '{text}', to_jsonb(CAST(:text AS text)))"
        " WHERE id = :id",
        text=text,
        id=tool["table_id"],
    )


def test_a_change_by_plain_sql_is_found_and_what_it_replaced_is_not(
    stack: Running, tenant: Tenant, tool: dict[str, Any]
) -> None:
    before = set(stack.documents(tool["namespace"]))
    write_by_sql(stack, tool, NEW)
    at_once = tenant.search(tool, QUESTIONS[COMETS], top_k=20)["results"]
    document = {"text": NEW, "kept": KEPT}
    for hit in at_once:  # what is shown of the old text says so
        if hit["chunk"]["chunk_text"] not in NEW + KEPT:
            assert hit["stale"] is True

    def the_new_text() -> dict[str, Any] | None:
        answer = tenant.search(tool, QUESTIONS[VIOLIN])
        return answer if VIOLIN[:20] in texts(answer) else None

    found = until(the_new_text, FOLLOWS_WITHIN_S)
    for hit in found["results"]:
        check_hit(document, hit)
    assert COMETS[:20] not in texts(tenant.search(tool, QUESTIONS[COMETS], top_k=20))
    tenant.ready(tool)
    until(lambda: stack.documents(tool["namespace"]) == stack.rows(tool["namespace"]))
    assert before & set(stack.documents(tool["namespace"]))  # the string that stayed


@pytest.mark.parametrize("by", ["API", "SQL"])
def test_a_deleted_table_takes_everything_with_it(
    stack: Running, tenant: Tenant, tool: dict[str, Any], by: str
) -> None:
    table_id = tool["table_id"]
    if by == "API":
        assert tenant("DELETE", f"/api/v1/tables/{table_id}").status_code == 204
    else:
        stack.sql("DELETE FROM context_table WHERE id = :id", id=table_id)
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    assert tenant("POST", path, json={"query": "x"}).status_code == 404
    until(lambda: is_gone(stack, tool), FOLLOWS_WITHIN_S)
    for table, column in (("context_table", "id"), ("tool", "table_id"), ("node", "table_id")):
        query = f"SELECT {column} FROM {table} WHERE {column} = :id"
        assert stack.sql(query, id=table_id) == []


def is_gone(stack: Running, tool: dict[str, Any]) -> bool:
    """Whether a namespace is neither in turbopuffer nor in any row."""
    name = tool["namespace"]
    for table in ("index_generation", "tombstone"):
        if stack.sql(f"SELECT namespace FROM {table} WHERE namespace = :name", name=name):
            return False
    try:
        stack.turbopuffer.namespace(name).schema()
    except NotFoundError:
        return True
    return False


def test_a_document_that_nobody_knows_is_deleted(
    stack: Running, tenant: Tenant, tool: dict[str, Any]
) -> None:
    namespace = stack.turbopuffer.namespace(tool["namespace"])
    namespace.write(
        upsert_rows=[{"id": "0.stranger", "vector": [0.1] * 512}],
        distance_metric="cosine_distance",
    )
    until(
        lambda: stack.documents(tool["namespace"]) == stack.rows(tool["namespace"]),
        SWEPT_WITHIN_S,
    )


def test_a_document_that_got_lost_is_written_again(
    stack: Running, tenant: Tenant, tool: dict[str, Any]
) -> None:
    before = stack.documents(tool["namespace"])
    [best, *_] = tenant.search(tool, QUESTIONS[COMETS])["results"]
    stack.turbopuffer.namespace(tool["namespace"]).write(
        deletes=[best["chunk"]["turbopuffer_doc_id"]]
    )
    assert stack.documents(tool["namespace"]) != before
    until(lambda: stack.documents(tool["namespace"]) == before, SWEPT_WITHIN_S)
