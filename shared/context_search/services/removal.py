"""Removes the tables and tools that our API deleted, each by itself."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.domain.errors import ContextSearchError
from context_search.ports.removal import Removal
from context_search.ports.store import Store

REMOVALS_PER_STEP = 200
RETRY_S = 3_600.0


@dataclass(frozen=True, slots=True)
class RemoveDeleted:
    """A row that something of the database's owner refers to stays, and keeps no other."""

    store: Store

    def __call__(self) -> tuple[int, list[str]]:
        """Returns how many rows are gone, and of each that stays which, and why.

        It is tried again after an hour, or at once what may work at once.
        """
        with self.store.transaction() as work:
            due = work.removals.due(limit=REMOVALS_PER_STEP)
        removed, failed = 0, []
        for removal in due:
            try:
                with self.store.transaction() as work:
                    removed += work.removals.remove(removal)
            except ContextSearchError as error:
                failed.append(f"remove_{removal.kind} {removal.row_id}: {_reason(error)}")
                if not error.retryable:
                    self._put_off(removal)
        return removed, failed

    def _put_off(self, removal: Removal) -> None:
        with self.store.transaction() as work:
            work.removals.put_off(removal, retry_in_s=RETRY_S)


def _reason(error: ContextSearchError) -> str:
    """The code, and the message: names of the schema, never a value of a row."""
    return f"{error.code} ({error.message})"
