"""A project over its limit: what it has not searched for long gives way, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import english
from tests.functions.deployment import Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "log", "narrow")]


@pytest.fixture(scope="module")
def narrow(deployed: Deployment) -> Iterator[None]:
    """A deployment whose projects may hold eight chunks, and where idle means cold at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROJECT_MAX_CHUNKS", "8")
        patch.setenv("INDEX_COLD_SECONDS", "0")
        deployed.restart()
        yield


def second_tool(deployed: Deployment, first: dict[str, Any]) -> dict[str, Any]:
    """A tool of the same project over another table, indexed."""
    key, small = first["key"], {"chunk_threshold": 20, "chunk_size": 100, "chunk_overlap": 10}
    [[project_id]] = deployed.sql(
        "SELECT project_id FROM context_table WHERE id = :id", id=first["table_id"]
    )
    data = {"project_id": project_id, "name": "t", "data": {"a": english(500, 2)}}
    table = deployed.http("POST", "/api/v1/tables", data, key=key)["json"]
    wanted = {
        "project_id": project_id,
        "table_id": table["id"],
        "name": "second",
        "search_config": small,
    }
    made = deployed.http("POST", "/api/v1/tools/search", wanted, key=key)["json"]
    deployed.drain()
    return {**made, "key": key, "table_id": table["id"]}


def test_an_index_is_evicted_and_a_search_brings_it_back(deployed: Deployment) -> None:
    first = deployed.tool({"a": english(500, 1)})
    deployed.drain()
    assert deployed.search_index(first)["status"] == "ready"
    second = second_tool(deployed, first)
    report = deployed.clean_up()
    [[evicted]] = deployed.sql("SELECT count(*) FROM search_index WHERE evicted_at IS NOT NULL")
    assert (report["indexes_evicted"], report["readings"]["evicted_indexes"]) == (1, evicted)

    reported = deployed.search_index(first)
    assert (reported["status"], reported["last_error"]["code"]) == ("evicted", "INDEX_EVICTED")
    assert reported["chunks_count"] == 0
    [[summary]] = deployed.sql(
        "SELECT metadata -> 'search_index' ->> 'status' FROM tool WHERE id = :id",
        id=first["tool_id"],
    )
    assert summary == "evicted"

    for _ in range(2):
        deployed.clean_up()
    assert deployed.search_index(second)["status"] == "ready"
    assert deployed.documents(first["namespace"]) == []

    answer = deployed.search(first)
    assert (answer["results"], answer["index"]) == ([], {"status": "evicted"})
    assert answer["retrieval"]["degraded"] == ["index_evicted"]
    assert deployed.search(first)["index"]["status"] == "indexing"
    deployed.drain()
    answer = deployed.search(first)
    assert (len(answer["results"]), answer["index"]["status"]) == (3, "ready")
    assert answer["results"][0]["chunk"]["turbopuffer_namespace"] != first["namespace"]

    assert deployed.clean_up()["indexes_evicted"] == 1
    assert [deployed.search_index(tool)["status"] for tool in (first, second)] == [
        "ready",
        "evicted",
    ]
