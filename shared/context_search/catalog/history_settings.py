"""How much of the past a project keeps: read and changed by its owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from context_search.catalog.rules.versions import HistoryLimits, StoredHistoryLimits
from context_search.core.callers import Principal
from context_search.core.errors import ConflictError
from context_search.store import Store


@dataclass(frozen=True, slots=True)
class ManageHistorySettings:
    """The history settings of the caller's project."""

    store: Store

    def read(self, principal: Principal) -> StoredHistoryLimits:
        """Returns the settings; the defaults at version 0."""
        with self.store.for_project(principal.project_id) as work:
            return work.history_settings.read(principal.project_id)

    def change(
        self,
        principal: Principal,
        change: Callable[[HistoryLimits], HistoryLimits],
        *,
        if_versions: Sequence[int] = (),
    ) -> StoredHistoryLimits:
        """Writes what ``change`` makes of the settings; ``cleanup`` deletes what they keep no more.

        Raises ConflictError when one of ``if_versions`` is not the current version.
        """
        with self.store.for_project(principal.project_id) as work:
            stored = work.history_settings.lock(principal.project_id)
            if any(version != stored.version for version in if_versions):
                raise ConflictError("the settings have another version by now")
            changed = change(stored.settings)
            if changed == stored.settings:
                return stored
            return work.history_settings.write(principal.project_id, changed)
