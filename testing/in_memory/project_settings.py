"""The settings of projects, in memory."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.rules.settings import S, StoredSettings
from testing.in_memory.rows import Rows


@dataclass(frozen=True, slots=True)
class MemoryProjectSettings:
    """The port ``ProjectSettings``; a transaction is alone, so nothing is locked."""

    rows: Rows

    def read(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        unchanged = StoredSettings(0, kind.from_mapping({}))
        return self.rows.project_settings.get((project_id, kind.KIND), unchanged)

    def lock(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        return self.read(kind, project_id)

    def write(self, project_id: int, settings: S) -> StoredSettings[S]:
        version = self.read(type(settings), project_id).version + 1
        stored = StoredSettings(version, settings)
        self.rows.project_settings[project_id, settings.KIND] = stored
        return stored
