"""The settings of projects, in memory."""

from __future__ import annotations

from context_search.catalog.rules.settings import S, StoredSettings
from context_search.catalog.sql.project_settings import ProjectSettings
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import Rows


class MemoryProjectSettings(Model, ProjectSettings):
    """``ProjectSettings`` over rows in memory; a transaction is alone, so nothing is locked."""

    def read(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        return stored_settings(self.rows, kind, project_id)

    def lock(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        return self.read(kind, project_id)

    def write(self, project_id: int, settings: S) -> StoredSettings[S]:
        version = self.read(type(settings), project_id).version + 1
        stored = StoredSettings(version, settings)
        self.rows.project_settings[project_id, settings.KIND] = stored
        return stored


def stored_settings(rows: Rows, kind: type[S], project_id: int) -> StoredSettings[S]:
    """Returns the settings of a project; the defaults at version 0."""
    unchanged = StoredSettings(0, kind.from_mapping({}))
    return rows.project_settings.get((project_id, kind.KIND), unchanged)
