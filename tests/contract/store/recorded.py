"""What tests of a store do with versions: write, read and prune them."""

from __future__ import annotations

from context_search.catalog.rules.pieces import cut, joined, packed
from context_search.catalog.rules.versions import HistoryLimits, Origin, Pruned, Version
from context_search.core.model import Table
from context_search.store import UnitOfWork
from tests.contract.store.bench import Bench

PUT = Origin("put", "key:7", "a-request")
LONG = [f"A sentence that is not like the others, number {number}." for number in range(9_000)]


def write(bench: Bench, table: Table, text: str, *, by: Origin = PUT) -> Table:
    """Writes a document as our API does: what it overwrites is recorded."""
    with bench.store.for_all("test") as work:
        before = work.versions.overwritten(table.id, project_id=table.project_id, max_bytes=10**9)
        changed = work.tables.replace(table.id, text, expected_revision=None, origin=by)
        assert changed is not None
        if before.text is not None:
            record(work, changed, before.revision, before.text)
        return changed


def record(work: UnitOfWork, table: Table, revision: int, text: str) -> None:
    """Records a text as the content of a revision."""
    pieces = cut(text)
    missing = work.versions.missing(table, list(pieces.pieces))
    new = [(name, packed(piece)) for name, piece in pieces.pieces.items() if name in missing]
    work.versions.record(table, revision, pieces.content, new)


def versions(bench: Bench, table: Table) -> list[Version]:
    """Returns all versions, the newest first."""
    return bench.work.versions.page(table, below=None, limit=1_000)


def read(bench: Bench, table: Table, revision: int) -> str:
    """Returns the text of a recorded version."""
    with bench.store.for_all("test") as work:
        version = work.versions.find(table, revision)
        assert version is not None
        assert version.sha256 is not None
        return joined(work.versions.pieces(table, revision, first=0, count=1_000), version.sha256)


def prune(bench: Bench, limit: int = 1_000) -> Pruned:
    """Prunes every history that is due once."""
    pruned = [
        bench.work.versions.prune(each, limit=limit) for each in bench.work.versions.due(limit=99)
    ]
    return Pruned(
        sum(each.versions for each in pruned),
        sum(each.pieces for each in pruned),
        all(each.is_done for each in pruned),
    )


def keep(bench: Bench, project_id: int, **settings: int) -> None:
    """Changes how much is kept."""
    with bench.store.for_all("test") as work:
        stored = work.project_settings.lock(HistoryLimits, project_id)
        work.project_settings.write(project_id, HistoryLimits(**settings))
        assert work.project_settings.read(HistoryLimits, project_id).version == stored.version + 1


def pieces_of(bench: Bench, table: Table) -> int:
    """Returns how many bytes the pieces of a project take."""
    return bench.work.versions.overwritten(
        table.id, project_id=table.project_id, max_bytes=0
    ).used_bytes
