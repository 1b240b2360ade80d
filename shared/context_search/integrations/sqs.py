"""SQS behind the port ``Queue``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from context_search.core.errors import QueueUnavailableError
from context_search.integrations.ports import Message

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeFilterType
    from mypy_boto3_sqs.type_defs import MessageTypeDef

BATCH = 10  # of one SendMessageBatch
# All attempts together within a request's time: what SQS does not take stays in the outbox.
_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "max_attempts": 2})
MAX_VISIBILITY_S = 43_200
_COUNTS: list[QueueAttributeFilterType] = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
]


def sqs_client() -> SQSClient:
    """Returns a client for the region and endpoint of the environment."""
    return boto3.client("sqs", config=_CONFIG)


@dataclass(frozen=True, slots=True)
class SqsQueue:
    """One queue."""

    client: SQSClient
    url: str
    dead_letter_url: str = ""

    def send(self, messages: Sequence[Message]) -> list[int]:
        """Raises QueueUnavailableError only when not a single message was taken."""
        taken: list[int] = []
        for first in range(0, len(messages), BATCH):
            try:
                taken += self._send_batch(first, messages[first : first + BATCH])
            except (BotoCoreError, ClientError) as error:
                if taken:
                    return taken
                raise QueueUnavailableError(f"SQS: {type(error).__name__}") from error
        return taken

    def _send_batch(self, first: int, batch: Sequence[Message]) -> list[int]:
        reply = self.client.send_message_batch(
            QueueUrl=self.url,
            Entries=[
                {"Id": str(first + offset), "MessageBody": json.dumps(message)}
                for offset, message in enumerate(batch)
            ],
        )
        return [int(entry["Id"]) for entry in reply.get("Successful", [])]

    def is_empty(self) -> bool:
        try:
            reply = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=_COUNTS)
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailableError(f"SQS: {type(error).__name__}") from error
        return all(int(count) == 0 for count in reply["Attributes"].values())

    def take_up(self, limit: int, keep: Callable[[Sequence[Message]], None]) -> int:
        """See the port ``DeadLetters``. Receive, keep, delete: it works on every SQS.

        What is no message of ours stays where it is.
        """
        moved = 0
        try:
            while moved < limit and (letters := self._receive_dead(min(BATCH, limit - moved))):
                moved += self._move(letters, keep)
        except (BotoCoreError, ClientError) as error:
            raise QueueUnavailableError(f"SQS: {type(error).__name__}") from error
        return moved

    def _move(
        self, letters: Sequence[MessageTypeDef], keep: Callable[[Sequence[Message]], None]
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
        try:
            self.client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=receipt_handle, VisibilityTimeout=visibility_s
            )
        except (BotoCoreError, ClientError):
            return


def _message(body: str) -> Message | None:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
