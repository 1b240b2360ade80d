"""A project is deleted through the deployed functions, and no row of it stays in any table."""

from __future__ import annotations

from typing import Any

import boto3
import httpx2
import pytest

from context_search.composition.parts import parts
from context_search.postgres.connection import quoted
from tests.builders import english, planted
from tests.functions.deployment import SECRET, SMALL, Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "uploads")]

OPERATOR = {"x-internal-secret": SECRET}
SENTENCE = "The lighthouse keeper counted nine comets."
DOCUMENT = {str(seed): planted(english(200, seed=seed), SENTENCE, 100) for seed in range(60)}
"""More hits than a page has, so that a ranking is kept."""
HAS_ROWS = {
    *("api_key", "chunk_set", "chunk_tally", "chunk_words", "chunks", "comparison", "coverage"),
    *(
        *("idempotency_key", "index_generation", "ledger", "mcp", "mcp_binding", "node"),
        *("outbox", "permit"),
    ),
    *("project_removal", "ranking", "project_settings", "search_index", "upload"),
    *("table_history", "table_version", "version_piece", "node_tally"),
    *("counted_part", "part_tally"),
    *("context_table", "project", "tool", "words_backlog"),
}
"""Of a project that has used everything; its tombstones come later."""


@pytest.fixture(scope="module")
def uploads(deployed: Deployment) -> None:
    assert deployed.environment["UPLOAD_BUCKET"] == "uploads"
    boto3.resource("s3").create_bucket(Bucket="uploads")


def rows(deployed: Deployment) -> dict[str, int]:
    """How many rows each table has, whatever tables there are."""
    names = deployed.sql(
        "SELECT table_schema, table_name FROM information_schema.tables"
        " WHERE table_schema IN ('public', 'context_search') AND table_type = 'BASE TABLE'"
    )
    return {
        name: deployed.sql(f"SELECT count(*) FROM {quoted(schema)}.{quoted(name)}")[0][0]
        for schema, name in names
    }


def use_everything(deployed: Deployment) -> dict[str, Any]:
    """A project with something of each kind, and a message that waits in the queue."""
    tool = deployed.tool(DOCUMENT, storage="lean")  # its words are written at once
    project, key = f"/api/v1/projects/{tool['project_id']}", tool["key"]
    table = f"/api/v1/tables/{tool['table_id']}"

    def ask(method: str, path: str, body: object = None, **more: Any) -> Any:
        answer = deployed.http(method, path, body, key=key, **more)
        assert answer["statusCode"] < 300, answer
        return answer["json"]

    part = {name: tool[name] for name in ("project_id", "table_id")} | {"name": "part"}
    config = {"search_config": {**SMALL, "storage": "lean"}, "json_path": "/0"}
    ask("POST", "/api/v1/tools/search", {**part, **config})
    deployed.drain()
    deployed.functions["cleanup"].invoke({})  # counts the part
    ask("POST", f"{project}/search-index", {})
    deployed.drain()
    ask("PATCH", f"{project}/retrieval-settings", {"topK": 7})
    ask("POST", f"{project}/keys", {}, headers={"idempotency-key": "once"})
    binding = {"tool_id": tool["tool_id"]}
    mcp = {"project_id": tool["project_id"], "name": "desk", "bindings": [binding]}
    tool["mcp_key"] = ask("POST", "/api/v1/mcps", mcp, function="search")["api_key"]
    for _ in range(2):
        ask("POST", f"{project}/search", {"query": "comets"}, function="search")
    put = ask("POST", f"{table}/uploads", {"format": "json", "size": 2})
    sent = httpx2.request(put["method"], put["url"], headers=put["headers"], content=b"{}")
    assert sent.status_code == 200
    ask("PATCH", f"{table}/data", {"0": english(500, seed=99)})
    return tool


def age(deployed: Deployment) -> None:
    """Past the grace of deletes, and the time for which unused permits are kept."""
    deployed.sql("UPDATE index_generation SET retired_at = retired_at - interval '1 hour'")
    deployed.sql("UPDATE tombstone SET created_at = created_at - interval '1 hour'")
    deployed.sql("UPDATE permit SET lease_until = lease_until - interval '1 day'")


def test_nothing_of_a_deleted_project_stays(deployed: Deployment) -> None:
    neighbour = deployed.tool({"a": english(4_000)})  # calibrated: its questions stay
    deployed.drain()
    age(deployed)
    deployed.functions["cleanup"].invoke({})
    before = rows(deployed)
    tool = use_everything(deployed)
    grown = {name for name, count in rows(deployed).items() if count > before[name]}
    assert grown == HAS_ROWS - {"project_removal"}
    in_flight = deployed.receive()
    assert in_flight
    path = f"/api/v1/projects/{tool['project_id']}"
    assert deployed.http("DELETE", path, headers=OPERATOR)["statusCode"] == 204
    for key in (tool["key"], tool["mcp_key"]):
        assert deployed.http("GET", "/api/v1/tools", key=key)["statusCode"] == 401
    for method, gone, body in (
        ("DELETE", path, None),
        ("POST", f"{path}/keys", {}),
        ("GET", f"/internal/tools/{tool['tool_id']}/chunks/stats", None),
    ):
        assert deployed.http(method, gone, body, headers=OPERATOR)["statusCode"] == 404
    assert deployed.index(in_flight) == set()
    for _ in range(4):  # the namespace of the project goes last
        report = deployed.functions["cleanup"].invoke({})
        assert report["errors"] == []
        deployed.drain()
        age(deployed)
    assert rows(deployed) == before
    assert parts().vectors.namespaces_after("", "", 10) == [neighbour["namespace"]]
    objects = boto3.resource("s3").Bucket("uploads").objects.all()
    assert [each.key for each in objects] == []
