"""Requests that are not carried out twice, as rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An ``Idempotency-Key`` of one tenant (``project_id`` 0: of the operators), hashed."""

    project_id: int
    key_hash: bytes


@dataclass(frozen=True, slots=True)
class EarlierRequest:
    """The request that came with a key before. ``answer`` None: it is still being executed."""

    request_hash: bytes
    answer: bytes | None = field(repr=False)


class IdempotencyKeys(Protocol):
    """One row for each key that was sent."""

    def claim(
        self, key: RequestKey, *, request_hash: bytes, holder: str, lease_s: float, kept_s: float
    ) -> EarlierRequest | None:
        """Returns None when the caller shall execute the request, else the earlier one.

        A row that is older than ``kept_s``, or whose holder gave no answer within its lease, is
        taken over.
        """
        ...

    def keep(self, key: RequestKey, *, holder: str, answer: bytes) -> None:
        """Stores the answer, unless somebody else has taken the row over meanwhile."""
        ...

    def release(self, key: RequestKey, *, holder: str) -> None:
        """Forgets a request that came to nothing, so that it can be sent again."""
        ...

    def count(self, project_id: int, *, at_most: int) -> int:
        """Returns how many rows a tenant has, counting no further than ``at_most``."""
        ...

    def forget(self, *, older_than_s: float, limit: int) -> int:
        """Deletes rows; returns how many."""
        ...
