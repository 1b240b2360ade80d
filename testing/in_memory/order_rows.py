"""The row of an order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from context_search.ports.outside import Message


@dataclass(frozen=True, slots=True)
class OutboxRow:
    id: int
    body: Message
    created_at: datetime
    project_id: int
    key: str | None
    is_long: bool = False
    claimed_until: datetime | None = None
    claimed_at: datetime | None = None
    sent_at: datetime | None = None
    begun_at: datetime | None = None
    due_at: datetime | None = None
    times_lost: int = 0
