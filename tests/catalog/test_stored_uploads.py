"""How PostgreSQL keeps uploads."""

from __future__ import annotations

from dataclasses import replace

from context_search.catalog.rules.uploads import NewUpload, Upload
from context_search.core.model import Table
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.rules.removals import Removal
from tests.contract.store.bench import Bench


def new(bench: Bench, table: Table, **more: object) -> Upload:
    with bench.store.for_all("test") as work:
        said = {"size": 5, **more}
        wanted = NewUpload(table.project_id, table.id, "json", **said)  # type: ignore[arg-type]
        return work.uploads.add(wanted)


def read(bench: Bench, upload: Upload) -> Upload | None:
    with bench.store.for_all("test") as work:
        return work.uploads.lock(upload.id)


def save(bench: Bench, upload: Upload) -> None:
    with bench.store.for_all("test") as work:
        work.uploads.save(upload)


def test_an_upload_begins_pending_and_remembers_what_was_said(bench: Bench) -> None:
    table = bench.table({})
    upload = new(bench, table, size=7, sha256="ab", if_revision=3)
    assert (upload.state, upload.runs, upload.bytes, upload.revision) == ("pending", 0, None, None)
    assert (upload.size, upload.sha256, upload.if_revision) == (7, "ab", 3)
    assert upload.key == f"uploads/{upload.project_id}/{upload.id}"
    assert read(bench, upload) == upload


def test_an_upload_is_found_by_its_table_only(bench: Bench) -> None:
    table, other = bench.table({}), bench.table({})
    upload = new(bench, table)
    with bench.store.for_all("test") as work:
        assert work.uploads.find(upload.id, table_id=table.id) == upload
        assert work.uploads.find(upload.id, table_id=other.id) is None
        assert work.uploads.find(10**9, table_id=table.id) is None
        assert work.uploads.lock(10**9) is None


def test_what_may_change_is_saved(bench: Bench) -> None:
    upload = new(bench, bench.table({}))
    error = {"code": "X", "message": "中", "retryable": False}
    changed = replace(upload, state="failed", bytes=9, revision=2, runs=1, last_error=error)
    save(bench, changed)
    assert read(bench, upload) == changed
    save(bench, replace(changed, state="done", last_error=None))
    assert read(bench, upload) == replace(changed, state="done", last_error=None)


def test_an_import_that_fell_silent_is_told_once_in_that_time(bench: Bench) -> None:
    table = bench.table({})
    importing = [new(bench, table) for _ in range(3)]
    new(bench, table)
    for upload in importing:
        save(bench, replace(upload, state="importing"))
    save(bench, replace(new(bench, table), state="done"))
    bench.pass_time(100)
    save(bench, replace(importing[2], state="importing"))
    with bench.store.for_all("test") as work:
        first = work.uploads.silent(silent_s=60, limit=1)
        rest = work.uploads.silent(silent_s=60, limit=10)
        assert work.uploads.silent(silent_s=60, limit=10) == []
    assert first + rest == [importing[0].id, importing[1].id]


def test_what_is_old_or_has_no_table_is_outdated(bench: Bench) -> None:
    table = bench.table({})
    old = [new(bench, table), new(bench, table)]
    bench.pass_time(1_000)
    young = new(bench, table)
    with bench.store.for_all("test") as work:
        first = work.uploads.outdated(older_than_s=500, limit=1)
        both = work.uploads.outdated(older_than_s=500, limit=9)
        work.uploads.delete_expired([upload.id for upload in both])
        assert work.uploads.outdated(older_than_s=500, limit=9) == []
        work.tables.mark_deleted(table.id)
        work.removals.remove(Removal("table", table.id))
        [orphan] = work.uploads.outdated(older_than_s=500, limit=9)
    assert [upload.id for upload in first] == [old[0].id]
    assert [upload.id for upload in both] == [upload.id for upload in old]
    assert orphan == replace(young, table_id=None)
    assert orphan.key == young.key


def test_pending_uploads_of_a_project_are_counted_while_they_are_young(bench: Bench) -> None:
    project = bench.project()
    table, other = bench.table({}, project), bench.table({}, project)
    new(bench, bench.table({}))  # somebody else's

    def pending() -> int:
        with bench.store.for_all("test") as work:
            return work.uploads.pending(project.id, younger_than_s=60)

    assert pending() == 0
    old = [new(bench, each) for each in (table, other, table)]
    save(bench, replace(old[0], state="importing"))
    assert pending() == 2
    bench.pass_time(61)
    new(bench, table)
    assert pending() == 1


def test_cleanup_is_due_at_once_while_a_document_is_imported(bench: Bench) -> None:
    def due() -> float | None:
        with bench.store.for_all("test") as work:
            return work.health.due_in_s([work.uploads], CleanupLimits())

    upload = new(bench, bench.table({}))
    assert due() is None
    save(bench, replace(upload, state="importing"))
    assert due() == 0
