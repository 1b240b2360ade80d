"""SqsQueue over real boto3 against moto's server, and against none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

import boto3
import pytest

from context_search.core.errors import QueueUnavailableError
from context_search.core.messages import IndexNodes
from context_search.integrations.ports import MessageBody
from context_search.integrations.sqs import SqsQueue, sqs_client
from tests.builders import aws_server, until

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType
    from mypy_boto3_sqs.type_defs import MessageTypeDef

MESSAGES = [IndexNodes((number,)).to_json() for number in range(25)]


@pytest.fixture(scope="module")
def aws() -> Iterator[dict[str, str]]:
    with aws_server() as environment:
        yield environment


@pytest.fixture
def client(aws: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> SQSClient:
    """What the functions use; region, endpoint and credentials come from the environment."""
    for name, value in aws.items():
        monkeypatch.setenv(name, value)
    return sqs_client()


@pytest.fixture
def queue(client: SQSClient) -> SqsQueue:
    return SqsQueue(
        client.create_queue(QueueName=f"queue-{uuid4().hex}")["QueueUrl"], client=client
    )


def received(queue: SqsQueue, *, visibility_s: int = 60) -> list[MessageTypeDef]:
    """All messages that are visible."""
    found: list[MessageTypeDef] = []
    while page := queue.client.receive_message(
        QueueUrl=queue.url, MaxNumberOfMessages=10, VisibilityTimeout=visibility_s
    ).get("Messages"):
        found += page
    return found


def test_a_queue_that_is_gone_takes_nothing_and_says_so(queue: SqsQueue) -> None:
    with pytest.raises(QueueUnavailableError) as failure:
        SqsQueue(f"{queue.url}-never-made", client=queue.client).send(MESSAGES)
    assert failure.value.retryable


def test_nobody_listening_is_unavailable_too(client: SQSClient) -> None:
    unreachable = boto3.client("sqs", endpoint_url="http://127.0.0.1:9", config=client.meta.config)
    with pytest.raises(QueueUnavailableError):
        SqsQueue("http://127.0.0.1:9/1/q", client=unreachable).send(MESSAGES[:1])


def test_what_one_batch_loses_does_not_hide_what_others_delivered(queue: SqsQueue) -> None:
    too_large = {"kind": "node", "node_id": 1, "padding": "x" * 1_200_000}
    messages = [*MESSAGES[:10], too_large, *MESSAGES[10:12], *MESSAGES[12:20], MESSAGES[20]]
    assert queue.send(messages) == list(range(10))
    assert len(received(queue)) == 10


def test_a_message_that_must_come_back_is_visible_again_when_asked(queue: SqsQueue) -> None:
    queue.send(MESSAGES[:2])
    soon, later = received(queue)
    queue.come_back(soon["ReceiptHandle"], 0)
    queue.come_back(later["ReceiptHandle"], 3600)
    assert [message["MessageId"] for message in received(queue)] == [soon["MessageId"]]


@pytest.mark.parametrize("after_s", [0.001, 0.5])
def test_a_message_never_comes_back_before_its_time(queue: SqsQueue, after_s: float) -> None:
    queue.send(MESSAGES[:1])
    [message] = received(queue)
    queue.come_back(message["ReceiptHandle"], after_s)
    assert received(queue) == []
    assert until(lambda: received(queue), timeout_s=5)[0]["MessageId"] == message["MessageId"]


@pytest.mark.parametrize("after_s", [-5, 1e9, float("inf")])
def test_times_beyond_what_sqs_takes_are_kept_within(queue: SqsQueue, after_s: float) -> None:
    queue.send(MESSAGES[:1])
    [message] = received(queue)
    queue.come_back(message["ReceiptHandle"], after_s)
    assert len(received(queue)) == (1 if after_s < 0 else 0)


def test_a_receipt_that_expired_is_no_error(queue: SqsQueue) -> None:
    queue.come_back("not-a-receipt", 10)
    queue.send(MESSAGES[:1])
    assert len(received(queue)) == 1


@pytest.fixture
def with_dead_letters(queue: SqsQueue) -> SqsQueue:
    """A queue with a dead-letter queue."""
    name = f"dead-{uuid4().hex}"
    dead_letter_url = queue.client.create_queue(QueueName=name)["QueueUrl"]
    return SqsQueue(queue.url, dead_letter_url, queue.client)


def add_dead_letters(queue: SqsQueue, *bodies: str) -> None:
    for body in bodies:
        queue.client.send_message(QueueUrl=queue.dead_letter_url, MessageBody=body)


def dead(queue: SqsQueue) -> int:
    """How many dead letters there are, visible or not."""
    names: list[QueueAttributeNameType] = [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
    ]
    found = queue.client.get_queue_attributes(QueueUrl=queue.dead_letter_url, AttributeNames=names)
    return sum(int(found["Attributes"][name]) for name in names)


def test_dead_letters_come_back_as_they_were(with_dead_letters: SqsQueue) -> None:
    add_dead_letters(with_dead_letters, *[json.dumps(message) for message in MESSAGES])
    kept: list[MessageBody] = []
    assert with_dead_letters.take_up(12, kept.extend) == 12
    assert with_dead_letters.take_up(100, kept.extend) == 13
    assert with_dead_letters.take_up(100, kept.extend) == 0
    assert sorted(kept, key=lambda body: int(str(body["node_id"]))) == MESSAGES
    assert received(with_dead_letters) == []
    assert dead(with_dead_letters) == 0


def test_what_nobody_understands_stays_dead_and_does_not_stop_the_others(
    with_dead_letters: SqsQueue,
) -> None:
    good = json.dumps(MESSAGES[0])
    add_dead_letters(with_dead_letters, "not json", good, "[1]", '"text"', "{", good)
    kept: list[MessageBody] = []
    assert with_dead_letters.take_up(100, kept.extend) == 2
    assert kept == [MESSAGES[0]] * 2
    assert dead(with_dead_letters) == 4
