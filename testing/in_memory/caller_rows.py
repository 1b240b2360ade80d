"""The rows of the in-memory store about callers: keys, permits and requests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from context_search.domain.access import ApiKey, KeyOwner


@dataclass(frozen=True, slots=True)
class KeyRow:
    owner: KeyOwner
    key_hash: bytes
    key: ApiKey


@dataclass(frozen=True, slots=True)
class PermitRow:
    holder: str | None
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class IdempotencyRow:
    request_hash: bytes
    holder: str
    lease_until: datetime
    created_at: datetime
    answer: bytes | None = None
