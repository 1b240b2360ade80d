"""SQS: messages that hold ids only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

Message = Mapping[str, object]


class Queue(Protocol):
    """SQS. At least once, in any order."""

    def send(self, messages: Sequence[Message]) -> list[int]:
        """Sends messages and returns the positions of those that were taken."""
        ...
