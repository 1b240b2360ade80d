"""Doing the same again, on purpose or by accident, changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from context_search.core.messages import CompareIndex, IndexNodes, Message
from local.queues import sqs_client
from tests.builders import english, message_of, until
from tests.e2e.running import Running, Tenant

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import QueueAttributeNameType

pytestmark = pytest.mark.stack
DOCUMENT = {
    "a": english(60_000, 21),
    "list": [english(12_000, 22), "short"],
    "b": english(90_000, 23),
}
STATE = {
    "chunks": "SELECT * FROM chunks WHERE turbopuffer_namespace = :name ORDER BY id",
    "nodes": (
        "SELECT node.* FROM node JOIN index_generation ON index_generation.id = generation_id"
        " WHERE namespace = :name ORDER BY node.id"
    ),
    "tombstones": "SELECT doc_id FROM tombstone WHERE namespace = :name",
}


def snapshot(stack: Running, tool: dict[str, Any]) -> dict[str, object]:
    """All that indexing has made, row for row and document for document."""
    name = tool["namespace"]
    found: dict[str, object] = {kind: stack.sql(query, name=name) for kind, query in STATE.items()}
    return {**found, "documents": stack.documents(name)}


def is_idle(stack: Running) -> bool:
    """Whether the queue holds nothing, visible or in work."""
    client = sqs_client(stack.queue_url.rsplit("/", 2)[0])
    kinds: list[QueueAttributeNameType] = [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
    ]
    reply = client.get_queue_attributes(QueueUrl=stack.queue_url, AttributeNames=kinds)
    return not any(int(value) for value in reply["Attributes"].values())


def orders(stack: Running, tool: dict[str, Any]) -> list[str]:
    """What every message that ever led to this index asked for, ordered again."""
    nodes = stack.sql(
        "SELECT node.id FROM node JOIN index_generation ON index_generation.id = generation_id"
        " WHERE namespace = :name",
        name=tool["namespace"],
    )
    [[index_id]] = stack.sql(
        "SELECT index_id FROM coverage WHERE tool_id = :id", id=tool["tool_id"]
    )
    every: list[Message] = [*(IndexNodes((row[0],)) for row in nodes), CompareIndex(index_id)]
    return [json.dumps(message_of(message, stack.sql)) for message in every]


def test_while_an_index_is_built_its_counters_only_grow(stack: Running, tenant: Tenant) -> None:
    tool = tenant.tool(tenant.table(DOCUMENT))
    seen: list[dict[str, Any]] = []

    def is_ready() -> bool:
        seen.append(tenant.state(tool))
        return bool(seen[-1]["status"] == "ready")

    until(is_ready, 60, every_s=0.02)
    assert {state["status"] for state in seen} <= {"indexing", "ready"}
    for counter in ("chunks_count", "indexed_chunks_count"):
        values = [state[counter] for state in seen]
        assert values == sorted(values)
    assert all(state["indexed_chunks_count"] <= state["chunks_count"] for state in seen)
    assert seen[-1]["nodes"] == {"indexed": 3}
    assert stack.documents(tool["namespace"]) == stack.rows(tool["namespace"])


def test_replaying_every_message_changes_nothing(stack: Running, tenant: Tenant) -> None:
    tool = tenant.tool(tenant.table(DOCUMENT))
    tenant.ready(tool)
    before = snapshot(stack, tool)
    messages = orders(stack, tool)
    assert len(messages) == 4
    stack.send(*messages, *messages)
    until(lambda: is_idle(stack), 60)
    assert snapshot(stack, tool) == before
