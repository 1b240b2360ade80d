"""Removes the tables and tools that our API deleted, each by itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from context_search.domain.errors import ContextSearchError
from context_search.ports.store import Store
from context_search.ports.upkeep import Removal

REMOVALS_PER_STEP = 200
RETRY_S = 3_600.0
SOON_S = 60.0
MOST_WAITS = 3


@dataclass(frozen=True, slots=True)
class RemoveDeleted:
    """A row that something of the database's owner refers to stays, and keeps no other."""

    store: Store

    def __call__(self) -> tuple[int, list[str]]:
        """Returns how many rows are gone, and of each that stays which, and why.

        It is tried again after an hour, or after a minute what may work soon. A run ends at the
        third of those: each has waited for a lock.
        """
        with self.store.for_all("upkeep") as work:
            due = work.removals.due(limit=REMOVALS_PER_STEP)
        removed, waited, failed = 0, 0, []
        for removal in due:
            name = f"remove_{removal.kind} {removal.row_id}"
            try:
                with self.store.for_all("upkeep") as work:
                    is_gone = work.removals.remove(removal)
            except ContextSearchError as error:
                failed.append(f"{name}: {_reason(error)}")
                self._put_off(removal, SOON_S if error.retryable else RETRY_S)
                waited += error.retryable
                if waited == MOST_WAITS:
                    break
            else:
                removed += is_gone
                if not is_gone and self._put_off(removal, RETRY_S):
                    failed.append(f"{name}: KEPT (a trigger of the database's owner)")
        return removed, failed

    def _put_off(self, removal: Removal, retry_in_s: float) -> bool:
        with suppress(ContextSearchError), self.store.for_all("upkeep") as work:
            return work.removals.put_off(removal, retry_in_s=retry_in_s)
        return False


def _reason(error: ContextSearchError) -> str:
    """The code, and the message: names of the schema, never a value of a row."""
    return f"{error.code} ({error.message})"
