"""The settings of projects."""

from __future__ import annotations

from typing import Protocol

from context_search.catalog.rules.settings import S, StoredSettings


class ProjectSettings(Protocol):
    """Settings of projects by their kind; a project without some has the defaults, at version 0."""

    def read(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        """Returns the settings of a project."""
        ...

    def lock(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        """Returns the settings, and keeps others from changing them until the transaction ends."""
        ...

    def write(self, project_id: int, settings: S) -> StoredSettings[S]:
        """Writes the settings as the next version. The caller holds the lock."""
        ...
