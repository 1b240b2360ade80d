"""Requests that are not carried out twice, as rows."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An ``Idempotency-Key`` of one tenant (``project_id`` 0: of the operators), hashed."""

    project_id: int
    key_hash: bytes


@dataclass(frozen=True, slots=True)
class SavedResponse:
    """The request that came with a key before. ``answer`` None: it is still being executed."""

    request_hash: bytes
    answer: bytes | None = field(repr=False)
