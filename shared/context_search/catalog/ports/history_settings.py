"""How long a project keeps versions."""

from __future__ import annotations

from typing import Protocol

from context_search.catalog.rules.versions import HistoryLimits, StoredHistoryLimits


class HistorySettings(Protocol):
    """How much of the past projects keep."""

    def read(self, project_id: int) -> StoredHistoryLimits:
        """Returns the settings of a project; the defaults when it never had any."""
        ...

    def lock(self, project_id: int) -> StoredHistoryLimits:
        """Returns the settings and keeps others from changing them until the transaction ends."""
        ...

    def write(self, project_id: int, settings: HistoryLimits) -> StoredHistoryLimits:
        """Writes settings as the next version; every history of the project is due."""
        ...
