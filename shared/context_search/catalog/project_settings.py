"""The settings of a project, changed by its owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from context_search.catalog.rules.settings import S, StoredSettings
from context_search.core.callers import Principal
from context_search.core.errors import ConflictError
from context_search.store import Store, UnitOfWork


@dataclass(frozen=True, slots=True)
class ManageSettings(Generic[S]):
    """The settings of one kind of the caller's project.

    ``on_change`` does in the transaction of a change what follows from it for a project.
    """

    store: Store
    kind: type[S]
    on_change: Callable[[UnitOfWork, int], None] = lambda _work, _project_id: None

    def change(
        self,
        principal: Principal,
        change: Callable[[S], S],
        *,
        if_versions: Sequence[int] = (),
    ) -> StoredSettings[S]:
        """Writes what ``change`` makes of the settings; what changes nothing is no new version.

        Raises ConflictError when one of ``if_versions`` is not the current version.
        """
        project_id = principal.project_id
        with self.store.for_project(project_id) as work:
            stored = work.projects.lock_settings(self.kind, project_id)
            if any(version != stored.version for version in if_versions):
                raise ConflictError("the settings have another version by now")
            changed = change(stored.settings)
            if changed == stored.settings:
                return stored
            self.on_change(work, project_id)
            return work.projects.write_settings(project_id, changed)


def prune_histories(work: UnitOfWork, project_id: int) -> None:
    """Has ``cleanup`` delete what the history settings of a project no longer keep."""
    work.versions.look_at_all(project_id)
