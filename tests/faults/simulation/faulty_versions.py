"""Versions with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from context_search.catalog.rules.versions import (
    BY_SQL,
    Content,
    Origin,
    Overwritten,
    Pruned,
    TableHistory,
)
from context_search.core.model import Table
from tests.faults.simulation.model.catalog import ModelTables
from tests.faults.simulation.model.versions import ModelVersions

Pieces = Iterable[tuple[bytes, bytes]]


class ForgetsToRecord(ModelVersions):
    """A path that writes and forgets what it overwrites."""

    def record(self, table: Table, revision: int, content: Content, new: Pieces) -> None:
        """Does nothing."""


class RecordsNoPieces(ModelVersions):
    """Believes that every piece is there."""

    def record(self, table: Table, revision: int, content: Content, new: Pieces) -> None:
        """Stores none."""
        del new
        ModelVersions.record(self, table, revision, content, [])


class RecordsAnotherText(ModelVersions):
    """Reads the document without the lock: it is another one by the time of the change."""

    def overwritten(self, table_id: int, *, project_id: int, max_bytes: int) -> Overwritten:
        """Returns a text that was not there."""
        before = ModelVersions.overwritten(
            self, table_id, project_id=project_id, max_bytes=max_bytes
        )
        return replace(before, text=before.text and f"{before.text} ")


class ErasesNothing(ModelVersions):
    """Says yes to an erasure."""

    def erase(self, table: Table, revision: int | None = None) -> None:
        """Does nothing."""


class BorrowsOurOrigin(ModelTables):
    """The origin of a change stays on the connection, and the next writer has it."""

    def replace(
        self,
        table_id: int,
        data_json: str,
        *,
        expected_revision: int | None,
        origin: Origin = BY_SQL,
    ) -> Table | None:
        """Gives another program our cause."""
        borrowed = Origin("put") if origin == BY_SQL else origin
        return ModelTables.replace(
            self, table_id, data_json, expected_revision=expected_revision, origin=borrowed
        )


class CollectsWhatIsNamed(ModelVersions):
    """Collects without a look at the other versions."""

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        """Keeps the pieces of the newest recorded version only."""
        pruned = ModelVersions.prune(self, history, limit=limit)
        of = (history.table_id, history.project_id)
        recorded = [row for key, row in self.rows.versions.items() if key[:2] == of and row.content]
        newest = max(recorded, key=lambda row: row.revision, default=None)
        named = newest.content.pieces if newest and newest.content else ()
        for key in [key for key in self.rows.pieces if key[:2] == of and key[2] not in named]:
            del self.rows.pieces[key]
        return pruned


class CollectsNothing(ModelVersions):
    """Forgets versions and keeps their pieces."""

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        """Puts back what was collected."""
        before = dict(self.rows.pieces)
        pruned = ModelVersions.prune(self, history, limit=limit)
        for key, content in before.items():
            self.rows.pieces.setdefault(key, content)
        return pruned
