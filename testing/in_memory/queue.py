"""A queue in a list."""

from __future__ import annotations

from collections.abc import Sequence

from context_search.core.errors import ContextSearchError
from context_search.integrations.ports import MessageBody


class ListQueue:
    """The port ``Queue``; what was sent waits in ``messages``, first come first."""

    def __init__(self) -> None:
        self.messages: list[MessageBody] = []

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        self.messages.extend(dict(message) for message in messages)
        return list(range(len(messages)))

    def is_empty(self) -> bool:
        return not self.messages


def unexpected(error: ContextSearchError) -> None:
    """Is told of failures where there can be none."""
    raise error
