"""How projects retrieve, in memory."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.searching.rules.retrieval import RetrievalSettings, StoredSettings
from testing.in_memory.rows import Rows


@dataclass(frozen=True, slots=True)
class MemoryProjectSettings:
    """The port ``ProjectSettings``."""

    rows: Rows

    def read(self, project_id: int) -> StoredSettings:
        """Returns what was written, or the defaults."""
        return self.rows.retrieval_settings.get(project_id, StoredSettings())

    def lock(self, project_id: int) -> StoredSettings:
        """Only reads: a transaction is alone anyway."""
        return self.read(project_id)

    def write(self, project_id: int, settings: RetrievalSettings) -> StoredSettings:
        """Keeps the settings as the next version."""
        stored = StoredSettings(self.read(project_id).version + 1, settings)
        self.rows.retrieval_settings[project_id] = stored
        return stored
