"""Walks with a client that ``openapi-python-client`` has made: table, Search Tool, index, search.

Runs in ``.venv-clients``, in the folder of the client. Arguments: URL, key and id of a project.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any

WITHIN_S = 60.0
SENTENCE = "The lighthouse keeper counted nine comets before dawn."


def main(url: str, key: str, project_id: int) -> None:
    """Walk to the end or raise. Every answer is one of the client's own classes."""
    made = import_module("context_search_client")
    with made.AuthenticatedClient(url, token=key, raise_on_unexpected_status=True) as client:
        walk(client, project_id)


def walk(client: Any, project_id: int) -> None:
    """From a document to a passage in it."""

    def call(name: str, kind: str, *ids: int, body: dict[str, Any] | None = None) -> Any:
        route = import_module(f"context_search_client.api.{name}")
        more: dict[str, Any] = {}
        if body is not None:
            more = {"body": route.sync.__annotations__["body"].from_dict(body)}
        answer = route.sync(*ids, client=client, **more)
        assert type(answer).__name__ == kind, answer
        return answer

    document = {"diary": SENTENCE * 400}
    table = {"project_id": project_id, "name": "diary", "data": document}
    table_id = call("tables.create_table", "TableAnswer", body=table).id
    assert [row.id for row in call("tables.list_tables", "TablesAnswer").tables] == [table_id]
    tool = {"project_id": project_id, "table_id": table_id, "name": "search_diary"}
    tool_id = call("tools.create_search_tool", "NewSearchToolAnswer", body=tool).tool_id
    began = time.monotonic()
    while call("tools.read_search_index", "SearchIndexAnswer", tool_id).status != "ready":
        assert time.monotonic() - began < WITHIN_S, "the index is not ready"
        time.sleep(0.2)
    question = {"query": "Who counted comets?", "top_k": 1}
    found = call("search.search_tool", "SearchAnswer", tool_id, body=question)
    assert SENTENCE in found.results[0].chunk.chunk_text


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
