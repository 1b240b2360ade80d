"""The event source mapping of the local stack: SQS messages in, function invocations out.

https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local.invocation import LambdaFunction
from local.queues import LONG_POLL_S
from local.template import QueueMapping

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

_SQS_BATCH_LIMIT = 10
_PAUSE_AFTER_ERROR_S = 1.0

logger = logging.getLogger(__name__)


class Poller:
    """Takes one queue's messages in ``workers`` threads. Use as a context manager.

    Each thread receives a batch, invokes the function and deletes what succeeded, so ``workers``
    is the function's concurrency (never above the mapping's ``MaximumConcurrency``). Batches hold
    at most 10 messages, as many as one receive gives. Redrive is the queue's own business.
    """

    def __init__(
        self,
        function: LambdaFunction,
        mapping: QueueMapping,
        client: SQSClient,
        queue_url: str,
        workers: int,
    ) -> None:
        self._function = function
        self._mapping = mapping
        self._client = client
        self._queue_url = queue_url
        self._stopping = threading.Event()
        self._busy = 0
        self._idle = threading.Condition()
        self._arn = client.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])[
            "Attributes"
        ]["QueueArn"]
        self._threads = [
            threading.Thread(target=self._work, name=f"poller-{n}", daemon=True)
            for n in range(min(workers, mapping.maximum_concurrency or workers))
        ]

    def __enter__(self) -> Poller:
        """Start receiving."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; returns when no handler runs, after 5 seconds at most.

        A thread inside a long poll cannot be woken. It is left to end by itself and gives back
        what it may still receive.
        """
        self._stopping.set()
        with self._idle:
            self._idle.wait_for(lambda: self._busy == 0, timeout=5)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                messages = self._receive()
                if messages:
                    self._take(messages)
            except (BotoCoreError, ClientError) as error:
                if not self._stopping.is_set():
                    logger.warning("queue: %s", error)
                self._stopping.wait(_PAUSE_AFTER_ERROR_S)

    def _receive(self) -> list[MessageTypeDef]:
        reply = self._client.receive_message(
            QueueUrl=self._queue_url,
            MaxNumberOfMessages=min(self._mapping.batch_size, _SQS_BATCH_LIMIT),
            WaitTimeSeconds=LONG_POLL_S,
            MessageSystemAttributeNames=["All"],
        )
        return reply.get("Messages", [])

    def _take(self, messages: list[MessageTypeDef]) -> None:
        with self._idle:
            self._busy += 1
        try:
            if self._stopping.is_set():
                self._give_back(messages)
            else:
                self._delete(self._succeeded(messages))
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def _succeeded(self, messages: list[MessageTypeDef]) -> list[MessageTypeDef]:
        """Invoke the function and return the messages that are done."""
        started = time.monotonic()
        try:
            response = self._function.invoke(sqs_event(messages, self._arn))
        except Exception:
            logger.exception("%s failed a batch of %d", self._function.spec.name, len(messages))
            return []
        if not self._mapping.reports_item_failures:
            return messages
        failed = failed_ids(response, [message["MessageId"] for message in messages])
        if failed:
            seconds = time.monotonic() - started
            logger.warning("%d of %d failed in %.1f s", len(failed), len(messages), seconds)
        return [message for message in messages if message["MessageId"] not in failed]

    def _delete(self, messages: list[MessageTypeDef]) -> None:
        if not messages:
            return
        reply = self._client.delete_message_batch(
            QueueUrl=self._queue_url,
            Entries=[
                {"Id": str(n), "ReceiptHandle": message["ReceiptHandle"]}
                for n, message in enumerate(messages)
            ],
        )
        for failure in reply.get("Failed", []):
            logger.warning("not deleted, will come again: %s", failure.get("Message"))

    def _give_back(self, messages: list[MessageTypeDef]) -> None:
        self._client.change_message_visibility_batch(
            QueueUrl=self._queue_url,
            Entries=[
                {"Id": str(n), "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
                for n, message in enumerate(messages)
            ],
        )


def sqs_event(messages: Iterable[MessageTypeDef], queue_arn: str) -> dict[str, Any]:
    """The event of one batch; ``queue_arn`` names the queue and its region.

    Messages have no attributes of their own: ours carry all they have in the body.
    """
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": dict(message.get("Attributes", {})),
                "messageAttributes": {},
                "md5OfBody": message["MD5OfBody"],
                "eventSource": "aws:sqs",
                "eventSourceARN": queue_arn,
                "awsRegion": queue_arn.split(":")[3],
            }
            for message in messages
        ]
    }


def failed_ids(response: Any, message_ids: Sequence[str]) -> frozenset[str]:
    """The messages to keep, from the answer of a function that reports batch item failures.

    An answer Lambda cannot read, or an identifier that is not in the batch, fails the whole batch.
    """
    everything = frozenset(message_ids)
    try:
        named = frozenset(failure["itemIdentifier"] for failure in response["batchItemFailures"])
    except (TypeError, KeyError):
        return everything
    return named if named <= everything else everything
