"""What the sweeps have proven."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.ports.store import Store


@dataclass(frozen=True, slots=True)
class ReadIntegrity:
    """The last complete report of each namespace: checked, orphans, missing, repaired, at."""

    store: Store

    def __call__(self) -> list[dict[str, object]]:
        """Returns the reports of all live generations."""
        with self.store.for_all("upkeep") as work:
            return work.sweeps.reports(None)
