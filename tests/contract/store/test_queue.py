"""Contract of ``Queue``."""

from __future__ import annotations

import json

import pytest

from context_search.integrations.ports import MessageBody, Queue
from context_search.integrations.sqs import SqsQueue
from testing.in_memory.queue import ListQueue


def received(queue: Queue) -> list[MessageBody]:
    """Everything that waits, in no order."""
    if isinstance(queue, ListQueue):
        return list(queue.messages)
    assert isinstance(queue, SqsQueue)
    found: list[MessageBody] = []
    while messages := queue.client.receive_message(QueueUrl=queue.url, MaxNumberOfMessages=10).get(
        "Messages", []
    ):
        found += [json.loads(message["Body"]) for message in messages]
    return found


@pytest.mark.parametrize("count", [0, 1, 10, 11, 25])
def test_every_message_arrives_and_its_position_is_told(queue: Queue, count: int) -> None:
    messages: list[MessageBody] = [{"kind": "node", "node_id": number} for number in range(count)]
    assert queue.send(messages) == list(range(count))
    assert sorted(received(queue), key=lambda body: str(body).zfill(60)) == sorted(
        messages, key=lambda body: str(body).zfill(60)
    )


def test_equal_messages_are_two_messages(queue: Queue) -> None:
    body = {"kind": "enumerate", "index_id": 2**60}
    assert queue.send([body, body]) == [0, 1]
    assert received(queue) == [body, body]


def test_a_message_is_what_it_was_when_it_was_sent(queue: Queue) -> None:
    body: dict[str, object] = {"kind": "node", "node_id": 1}
    queue.send([body])
    body["node_id"] = 2
    assert received(queue) == [{"kind": "node", "node_id": 1}]
