"""How a project is searched as a whole."""

from __future__ import annotations

from typing import Protocol

from context_search.searching.rules.retrieval import RetrievalSettings, StoredSettings


class ProjectSettings(Protocol):
    """How projects retrieve; a project without settings has the defaults, at version 0."""

    def read(self, project_id: int) -> StoredSettings:
        """Returns the settings of a project."""
        ...

    def lock(self, project_id: int) -> StoredSettings:
        """Returns the settings, and keeps others from changing them until the transaction ends."""
        ...

    def write(self, project_id: int, settings: RetrievalSettings) -> StoredSettings:
        """Writes the settings as the next version. The caller holds the lock."""
        ...
