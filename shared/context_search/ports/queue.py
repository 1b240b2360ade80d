"""SQS: messages that hold ids only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

Message = Mapping[str, object]


class DeadLetters(Protocol):
    """Messages that were received too often."""

    def move_back(self, limit: int) -> int:
        """Sends up to ``limit`` of them to the queue again, and returns how many.

        A message may come back twice, it is never lost. Raises QueueUnavailableError.
        """
        ...


class Queue(Protocol):
    """SQS. At least once, in any order."""

    def send(self, messages: Sequence[Message]) -> list[int]:
        """Sends messages and returns the positions of those that were taken."""
        ...
