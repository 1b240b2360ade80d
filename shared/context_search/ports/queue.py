"""SQS: messages that hold ids only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

Message = Mapping[str, object]


class DeadLetters(Protocol):
    """Messages that were received too often."""

    def take_up(self, limit: int, keep: Callable[[Sequence[Message]], None]) -> int:
        """Hands up to ``limit`` of them to ``keep``, then deletes them, and returns how many.

        A message may be handed over twice, it is never lost. Raises QueueUnavailableError, and
        what ``keep`` raises.
        """
        ...


class Queue(Protocol):
    """SQS. At least once, in any order."""

    def send(self, messages: Sequence[Message]) -> list[int]:
        """Sends messages and returns the positions of those that were taken."""
        ...

    def is_empty(self) -> bool:
        """Tells whether there is no message at all: waiting, put off, or at a worker.

        Counted about a minute ago. Raises QueueUnavailableError.
        """
        ...
