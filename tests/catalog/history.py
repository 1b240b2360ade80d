"""A system with the past of its tables."""

from __future__ import annotations

import json

from context_search.catalog.project_settings import ManageSettings, prune_histories
from context_search.catalog.rules.uploads import Upload
from context_search.catalog.rules.versions import HistoryLimits, Version
from context_search.catalog.tables import ManageTables
from context_search.catalog.uploads import ManageUploads
from context_search.catalog.versions import CompareVersions, ManageVersions, RecordVersions
from context_search.core.callers import ProjectKey
from context_search.core.model import Table
from context_search.maintenance.rules.health import CleanupLimits
from context_search.store import Store
from tests.system import System


class Editing(System):
    """A system with the past of its tables."""

    def __init__(self, recorded_bytes: int = 10**7, store: Store | None = None) -> None:
        super().__init__(store=store)
        recorder = RecordVersions(recorded_bytes)
        self.principal = ProjectKey(self.new_project(), key_id=7)
        self.tables = ManageTables(self.store, recorder=recorder)
        self.versions = ManageVersions(self.store, recorder)
        self.compare = CompareVersions(self.store).compare
        self.limits = ManageSettings(self.store, HistoryLimits, prune_histories)
        self.uploads = ManageUploads(self.store, self.objects)

    def new_project(self) -> int:
        with self.store.for_all("test") as work:
            return work.projects.add("p").id

    def make(self, document: object) -> Table:
        return self.tables.create(self.principal, "t", None, document, request_id="made")

    def put(self, table: Table, document: object) -> Table:
        return self.tables.replace(self.principal, table.id, document, request_id="put")

    def list(self, table: Table) -> list[Version]:
        return [*self.versions.page(self.principal, table.id, below=None).rows]

    def document(self, table: Table, revision: int, pointer: str = "") -> object:
        text = self.versions.read_document(self.principal, table.id, revision, pointer)
        return json.loads(text)

    def now(self, table: Table) -> object:
        return json.loads(self.tables.read_document(self.principal, table.id, "")[1])

    def by_sql(self, table: Table, text: str) -> None:
        """What another program does."""
        with self.store.for_all("test") as work:
            work.tables.replace(table.id, text, expected_revision=None)

    def clean_up(self) -> None:
        report = self.scheduled(CleanupLimits()).run(self.deadline())
        assert report.errors == []

    def restore(self, table: Table, revision: int, **more: int) -> Table | Upload:
        return self.versions.restore(
            self.principal, table.id, revision, request_id="restored", **more
        )


def reported(versions: list[Version]) -> list[tuple[object, ...]]:
    return [(v.revision, v.cause, v.gap, v.actor) for v in versions]
