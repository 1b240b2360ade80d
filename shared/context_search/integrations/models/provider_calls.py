"""What calls of a model's provider have in common, whatever they ask for and with which client.

Providers quote the texts that they are asked about. Of what they say to a refusal, only a kind, a
status and a pause are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from context_search.core.errors import (
    ContextSearchError,
    EmbeddingError,
    EmbeddingRejectedError,
    EmbeddingTimeoutError,
    EmbeddingUnavailableError,
    RerankError,
    RerankRejectedError,
    RerankTimeoutError,
    RerankUnavailableError,
)
from context_search.core.limits import LONGEST_RETRY_S

KEY_REFUSED = (401, 403)
LATE = (408, 504)
"""What a client's timeout counts as, and gateways say."""
_PAUSES = (("retry-after-ms", 0.001), ("retry-after", 1.0))
T = TypeVar("T")
E = TypeVar("E", bound=ContextSearchError)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What came instead of an answer. ``status`` is HTTP's; None: there was no reply.

    ``message`` is for logs. ``retry_after_s`` is the pause that the provider asked for.
    """

    message: str
    status: object = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Failures(Generic[E]):
    """The errors of one kind of call."""

    late: type[E]
    rejected: type[E]
    unavailable: type[E]

    def of(self, refusal: Refusal) -> E:
        """Returns our error for a refusal."""
        if refusal.status in LATE:
            return self.late(refusal.message)
        # The key is refused, not the text, and another takes its place.
        passing = (*KEY_REFUSED, 429)
        if refusal.status in range(400, 500) and refusal.status not in passing:
            return self.rejected(refusal.message)
        return self.unavailable(refusal.message, retry_after_s=refusal.retry_after_s)

    def time_until(self, deadline: float) -> float:
        """Returns the seconds until a moment of the monotonic clock; ``late`` where it is over."""
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise self.late("the deadline passed before the request was sent")
        return left_s


EMBEDDING: Failures[EmbeddingError] = Failures(
    EmbeddingTimeoutError, EmbeddingRejectedError, EmbeddingUnavailableError
)
RERANKING: Failures[RerankError] = Failures(
    RerankTimeoutError, RerankRejectedError, RerankUnavailableError
)


class ProviderKey:
    """The key of a provider, which may be rotated; safe to share between threads.

    ``instead_of`` tells which key has taken the place of one that the provider refuses, if one has.
    """

    def __init__(self, key: str | None, instead_of: Callable[[str | None], str | None]) -> None:
        self._key = key
        self._instead_of = instead_of

    def answer(self, ask: Callable[[str | None], T | Refusal]) -> T | Refusal:
        """Returns what ``ask`` does with the key, or with the one that has taken its place."""
        key = self._key
        answer = ask(key)
        if not isinstance(answer, Refusal) or answer.status not in KEY_REFUSED:
            return answer
        other = self._instead_of(key)
        if other is None:
            return answer
        self._key = other
        return ask(other)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Returns the pause that a provider asks for, within reason.

    The names of ``headers`` are in small letters. A date is none.
    """
    for name, unit_s in _PAUSES:
        with suppress(KeyError, ValueError):
            if (seconds := float(headers[name]) * unit_s) >= 0:
                return min(seconds, LONGEST_RETRY_S)
    return None
