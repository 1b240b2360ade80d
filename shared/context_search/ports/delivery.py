"""What still has to reach SQS, or to leave turbopuffer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.ports.queue import Message


class Outbox(Protocol):
    """Messages that wait to be sent."""

    def add(self, messages: Iterable[Message]) -> list[int]:
        """Stores messages and returns their ids."""
        ...

    def take(self, *, older_than_s: float, limit: int) -> list[tuple[int, Message]]:
        """Returns messages that nobody has sent, and keeps others from taking them for a minute."""
        ...

    def remove(self, ids: Sequence[int]) -> None:
        """Forgets messages that were sent."""
        ...


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A document that must leave turbopuffer."""

    namespace: str
    doc_id: str
    window_count: int


@dataclass(frozen=True, slots=True)
class SweepCursor:
    """Where the orphan sweep of a namespace stands."""

    generation_id: int
    namespace: str
    after: str


class Graveyard(Protocol):
    """What is deleted in Postgres and must follow in turbopuffer."""

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        """Returns tombstones never deleted yet, or old enough for their last delete."""
        ...

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        """Notes a delete in turbopuffer; forgets those past the grace and returns their number."""
        ...

    def remove_deleted_tables(self, *, limit: int) -> int:
        """Deletes nodes of deleted tables, at most ``limit``, then the empty tables."""
        ...

    def retired(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns generations that were retired that long ago and have no node left."""
        ...

    def remove_retired_nodes(self, *, limit: int) -> int:
        """Deletes nodes of retired generations, at most ``limit``."""
        ...

    def forget_generation(self, generation_id: int) -> None:
        """Forgets a generation whose namespace is deleted, with its tombstones."""
        ...

    def next_to_sweep(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns live generations in the middle of a sweep, or whose last one is that old."""
        ...

    def note_swept(self, cursor: SweepCursor, *, after: str, report: Mapping[str, object]) -> None:
        """Moves the cursor of a sweep; ``""`` when the namespace was walked to its end."""
        ...
