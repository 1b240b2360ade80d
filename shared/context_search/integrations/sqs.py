"""SQS behind the port ``Queue``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from context_search.core.errors import QueueUnavailableError
from context_search.integrations.ports import MessageBody

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeFilterType
    from mypy_boto3_sqs.type_defs import MessageTypeDef

BATCH = 10  # of one SendMessageBatch
MAX_VISIBILITY_S = 43_200
_COUNTS: list[QueueAttributeFilterType] = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
]


def sqs_client() -> SQSClient:
    """Returns a client for the region and endpoint of the environment.

    boto3 is imported here, with the first message: it takes 60 ms, and a search sends none.
    """
    import boto3  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    # All attempts together within a request's time: what SQS does not take stays in the outbox.
    config = Config(
        connect_timeout=2, read_timeout=5, retries={"mode": "standard", "max_attempts": 2}
    )
    return boto3.client("sqs", config=config)


class SqsQueue:
    """One queue. Its client is made when it is needed."""

    def __init__(
        self, url: str, dead_letter_url: str = "", client: SQSClient | None = None
    ) -> None:
        self.url = url
        self.dead_letter_url = dead_letter_url
        self._given = client

    @cached_property
    def client(self) -> SQSClient:
        """The client that was given, or one of the environment."""
        return self._given or sqs_client()

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        """Raises QueueUnavailableError only when not a single message was taken."""
        taken: list[int] = []
        for first in range(0, len(messages), BATCH):
            try:
                taken += self._send_batch(first, messages[first : first + BATCH])
            except QueueUnavailableError:
                if taken:
                    return taken
                raise
        return taken

    def _send_batch(self, first: int, batch: Sequence[MessageBody]) -> list[int]:
        with _available():
            reply = self.client.send_message_batch(
                QueueUrl=self.url,
                Entries=[
                    {"Id": str(first + offset), "MessageBody": json.dumps(message)}
                    for offset, message in enumerate(batch)
                ],
            )
        return [int(entry["Id"]) for entry in reply.get("Successful", [])]

    def is_empty(self) -> bool:
        with _available():
            reply = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=_COUNTS)
        return all(int(count) == 0 for count in reply["Attributes"].values())

    def take_up(self, limit: int, keep: Callable[[Sequence[MessageBody]], None]) -> int:
        """See the port ``DeadLetters``. Receive, keep, delete: it works on every SQS.

        What is no message of ours stays where it is.
        """
        moved = 0
        with _available():
            while moved < limit and (letters := self._receive_dead(min(BATCH, limit - moved))):
                moved += self._move(letters, keep)
        return moved

    def _move(
        self, letters: Sequence[MessageTypeDef], keep: Callable[[Sequence[MessageBody]], None]
    ) -> int:
        read = [(letter["ReceiptHandle"], _message(letter["Body"])) for letter in letters]
        ours = [(receipt, message) for receipt, message in read if message is not None]
        keep([message for _, message in ours])
        for receipt, _ in ours:
            self.client.delete_message(QueueUrl=self.dead_letter_url, ReceiptHandle=receipt)
        return len(ours)

    def _receive_dead(self, count: int) -> list[MessageTypeDef]:
        reply = self.client.receive_message(
            QueueUrl=self.dead_letter_url, MaxNumberOfMessages=count, VisibilityTimeout=60
        )
        return reply.get("Messages", [])

    def come_back(self, receipt_handle: str, after_s: float) -> None:
        """Makes a received message visible again after ``after_s`` seconds instead of much later.

        Failing to is harmless: the message comes back when its visibility timeout ends.
        """
        # Rounded up: a message that comes too early uses up one of the queue's few receives.
        visibility_s = math.ceil(min(MAX_VISIBILITY_S, max(0.0, after_s)))
        with suppress(QueueUnavailableError), _available():
            self.client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=visibility_s
            )


@contextmanager
def _available() -> Iterator[None]:
    """Raises QueueUnavailableError for what boto3 raises."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - like boto3

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise QueueUnavailableError(f"SQS: {type(error).__name__}") from error


def _message(body: str) -> MessageBody | None:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
