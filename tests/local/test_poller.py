"""The poller against MiniStack's SQS, through the real boto3."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from local.poller import Poller
from local.queues import sqs_client
from local.template import QueueMapping
from tests.local.tiny import running_emulator, tiny_function
from tests.stack import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_sqs import SQSClient

pytestmark = pytest.mark.stack

SUCCESS: dict[str, Any] = {"batchItemFailures": []}
_names = (f"queue-{n}" for n in itertools.count())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQSClient]:
    with running_emulator(tmp_path_factory.mktemp("emulator")) as (endpoint, _):
        yield sqs_client(endpoint, connections=20)


def _queue(client: SQSClient, visibility_s: int = 60) -> str:
    attributes = {"VisibilityTimeout": str(visibility_s)}
    return client.create_queue(QueueName=next(_names), Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]


def _send(client: SQSClient, url: str, bodies: list[str]) -> None:
    for start in range(0, len(bodies), 10):
        entries = [
            {"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies[start : start + 10])
        ]
        client.send_message_batch(QueueUrl=url, Entries=entries)  # type: ignore[arg-type]


def _left(client: SQSClient, url: str) -> int:
    names: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    reply = client.get_queue_attributes(QueueUrl=url, AttributeNames=names)
    return sum(int(reply["Attributes"][name]) for name in names)


def _poller(
    client: SQSClient,
    url: str,
    handler: Callable[[dict[str, Any], Any], Any],
    *,
    batch_size: int = 1,
    workers: int = 2,
    maximum_concurrency: int | None = None,
    reports_item_failures: bool = True,
) -> Poller:
    mapping = QueueMapping("Queue", batch_size, maximum_concurrency, reports_item_failures)
    return Poller(tiny_function(handler), mapping, client, url, workers)


def test_a_queue_of_200_messages_is_worked_off_and_empty(client: SQSClient) -> None:
    url = _queue(client)
    _send(client, url, [str(n) for n in range(200)])
    seen: Counter[str] = Counter()

    def handler(event: dict[str, Any], _: Any) -> dict[str, Any]:
        seen.update(record["body"] for record in event["Records"])
        return SUCCESS

    with _poller(client, url, handler, workers=4):
        assert eventually(lambda: _left(client, url) == 0)
    assert seen == Counter(str(n) for n in range(200))


def test_the_event_carries_what_sqs_knows_of_the_message(client: SQSClient) -> None:
    url = _queue(client)
    events: list[dict[str, Any]] = []
    client.send_message(
        QueueUrl=url,
        MessageBody=json.dumps({"id": 1}),
        MessageGroupId="tenant-7",
    )

    def handler(event: dict[str, Any], _: Any) -> dict[str, Any]:
        events.append(event)
        return SUCCESS

    with _poller(client, url, handler):
        assert eventually(lambda: _left(client, url) == 0)
    [record] = events[0]["Records"]
    assert json.loads(record["body"]) == {"id": 1}
    assert record["attributes"]["ApproximateReceiveCount"] == "1"
    assert record["attributes"]["MessageGroupId"] == "tenant-7"
    assert {"SentTimestamp", "ApproximateFirstReceiveTimestamp"} <= record["attributes"].keys()
    assert record["eventSourceARN"].endswith(url.rsplit("/", 1)[1])


def test_only_the_failed_messages_of_a_batch_come_again(client: SQSClient) -> None:
    url = _queue(client, visibility_s=1)
    _send(client, url, ["good-1", "bad", "good-2"])
    received: Counter[str] = Counter()

    def handler(event: dict[str, Any], _: Any) -> dict[str, Any]:
        failures = []
        for record in event["Records"]:
            received[record["body"]] += 1
            if record["body"] == "bad" and received["bad"] == 1:
                failures.append({"itemIdentifier": record["messageId"]})
        return {"batchItemFailures": failures}

    with _poller(client, url, handler, batch_size=10):
        assert eventually(lambda: _left(client, url) == 0)
    assert received == {"good-1": 1, "bad": 2, "good-2": 1}


@pytest.mark.parametrize("answer", ["raises", "unreadable"])
def test_a_failed_invocation_keeps_its_whole_batch(client: SQSClient, answer: str) -> None:
    url = _queue(client, visibility_s=1)
    _send(client, url, ["a", "b"])
    received: Counter[str] = Counter()

    def handler(event: dict[str, Any], _: Any) -> Any:
        first_time = not received
        received.update(record["body"] for record in event["Records"])
        if not first_time:
            return SUCCESS
        if answer == "raises":
            raise RuntimeError("as a bug would")
        return "not an answer"

    with _poller(client, url, handler, batch_size=10, workers=1):
        assert eventually(lambda: _left(client, url) == 0)
    assert received == {"a": 2, "b": 2}


def test_without_item_failures_in_the_template_any_answer_is_a_success(client: SQSClient) -> None:
    url = _queue(client)
    _send(client, url, ["a"])
    with _poller(client, url, lambda *_: "not an answer", reports_item_failures=False):
        assert eventually(lambda: _left(client, url) == 0)


def test_concurrency_stays_within_the_templates_maximum(client: SQSClient) -> None:
    url = _queue(client)
    _send(client, url, [str(n) for n in range(40)])
    lock = threading.Lock()
    running = 0
    most = 0

    def handler(*_: Any) -> dict[str, Any]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)  # work, not synchronisation
        with lock:
            running -= 1
        return SUCCESS

    with _poller(client, url, handler, workers=8, maximum_concurrency=2):
        assert eventually(lambda: _left(client, url) == 0)
    assert most == 2


def test_stopping_waits_for_the_handler_but_not_for_the_long_poll(client: SQSClient) -> None:
    url = _queue(client)
    _send(client, url, ["slow"])
    entered = threading.Event()
    finished = threading.Event()

    def handler(*_: Any) -> dict[str, Any]:
        entered.set()
        time.sleep(0.3)  # work, not synchronisation
        finished.set()
        return SUCCESS

    with _poller(client, url, handler, workers=3):
        assert entered.wait(10)
    assert finished.is_set()
    assert _left(client, url) == 0


def test_a_message_that_arrives_after_the_stop_is_given_back(client: SQSClient) -> None:
    url = _queue(client, visibility_s=300)
    _send(client, url, ["early"])
    seen: list[str] = []

    def handler(event: dict[str, Any], _: Any) -> dict[str, Any]:
        seen.extend(record["body"] for record in event["Records"])
        return SUCCESS

    others = set(threading.enumerate())
    with _poller(client, url, handler, workers=1):
        [thread] = set(threading.enumerate()) - others
        # Once this message is gone, the thread is in its next long poll.
        assert eventually(lambda: _left(client, url) == 0)
    _send(client, url, ["late"])
    thread.join(15)
    assert not thread.is_alive()
    [message] = client.receive_message(QueueUrl=url)["Messages"]
    assert message["Body"] == "late"
    assert seen == ["early"]
