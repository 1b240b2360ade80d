"""How a project retrieves: read by every retrieval, changed by its owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from context_search.core.callers import Principal
from context_search.core.errors import ConflictError
from context_search.searching.rules.retrieval import RetrievalSettings, StoredSettings
from context_search.searching.targets import check_owner
from context_search.store import Store


@dataclass(frozen=True, slots=True)
class ManageRetrievalSettings:
    """The settings of the caller's project."""

    store: Store

    def read(self, principal: Principal, project_id: int) -> StoredSettings:
        """Raises NotFoundError for a project that is not the caller's."""
        check_owner(principal, project_id)
        with self.store.for_project(principal.project_id) as work:
            return work.project_settings.read(project_id)

    def change(
        self,
        principal: Principal,
        project_id: int,
        change: Callable[[RetrievalSettings], RetrievalSettings],
        *,
        if_versions: Sequence[int] = (),
    ) -> StoredSettings:
        """Writes what ``change`` makes of the settings; what changes nothing is no new version.

        Raises NotFoundError for a project that is not the caller's, and ConflictError when one of
        ``if_versions`` is not the current version.
        """
        check_owner(principal, project_id)
        with self.store.for_project(principal.project_id) as work:
            stored = work.project_settings.lock(project_id)
            if any(version != stored.version for version in if_versions):
                raise ConflictError("the settings have another version by now")
            changed = change(stored.settings)
            if changed == stored.settings:
                return stored
            return work.project_settings.write(project_id, changed)
