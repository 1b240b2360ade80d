"""The versions of a table: recorded, listed, read, labelled, erased, restored, compared, pruned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice

from context_search.access.lookup import live_table
from context_search.budgets.bounds import check_growth
from context_search.budgets.shares import managing
from context_search.catalog.rules.differences import Difference, differences
from context_search.catalog.rules.pieces import cut, joined, packed
from context_search.catalog.rules.uploads import NewUpload, Upload
from context_search.catalog.rules.versions import (
    MAX_LABELS,
    MAX_READ_BYTES,
    MAX_RECORDED_BYTES,
    Gap,
    HistoryLimits,
    Origin,
    Overwritten,
    Pruned,
    Version,
)
from context_search.core.callers import Principal
from context_search.core.documents import parse_exact
from context_search.core.errors import (
    ConflictError,
    DocumentTooLargeError,
    InvalidDocumentError,
    NotFoundError,
    TooManyLabelsError,
    VersionDamagedError,
    VersionNotRecordedError,
)
from context_search.core.json_pointer import resolve
from context_search.core.json_text import fits, to_json
from context_search.core.limits import MAX_INLINE_BYTES, ProjectBounds
from context_search.core.messages import ImportUpload
from context_search.core.model import Table
from context_search.core.pages import PAGE, Page, page_of
from context_search.store import Store, UnitOfWork

NOT_ASKED_FOR = 2
"""So few pieces are sent, whether they are there or not: that is quicker than to ask."""


@dataclass(frozen=True, slots=True)
class RecordVersions:
    """Records versions of documents of up to ``max_bytes`` bytes.

    No change is refused for its history: what cannot be recorded is a gap with a reason.
    """

    max_bytes: int = MAX_RECORDED_BYTES

    def record(self, work: UnitOfWork, changed: Table, before: Overwritten) -> None:
        """Records the document that ``changed`` has overwritten.

        A change to what was there already has made no new revision: nothing is recorded.
        """
        if before.settings.is_off or changed.revision == before.revision:
            return
        gap = self.gap_of(before)
        if gap is not None or before.text is None:
            work.versions.note_gap(changed, before.revision, gap or "too_large")
            return
        text = cut(before.text)
        missing: Collection[bytes] = text.pieces.keys()
        if len(missing) > NOT_ASKED_FOR:
            missing = work.versions.missing(changed, list(missing))
        new = ((name, packed(piece)) for name, piece in text.pieces.items() if name in missing)
        work.versions.record(changed, before.revision, text.content, new)

    def gap_of(self, before: Overwritten) -> Gap | None:
        """Returns why a document would not be recorded, where its text is there."""
        if before.settings.is_full(before.used_bytes):
            return "full"
        is_long = before.text is not None and not fits(before.text, self.max_bytes)
        return "too_large" if is_long else None


PIECES_AT_ONCE = 200
_NOT_RECORDED = "this revision is not recorded: its gap says why"


@dataclass(frozen=True, slots=True)
class ManageVersions:
    """The past of the caller's tables.

    What names a table or a revision raises NotFoundError; what needs the content of a revision
    raises VersionNotRecordedError for a gap, and DocumentTooLargeError.
    """

    store: Store
    recorder: RecordVersions = field(default_factory=RecordVersions)
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def label(
        self, principal: Principal, table_id: int, revision: int, label: str | None
    ) -> Version:
        """Gives a version a label, with which no limit removes it; None takes the label away.

        Raises TooManyLabelsError.
        """
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, table_id)
            version = find_version(work, table, revision)
            if version.gap or _is_off(work, table):
                raise VersionNotRecordedError(_NOT_RECORDED)
            if not work.versions.label(table, revision, label):
                raise TooManyLabelsError(f"a table may have {MAX_LABELS} labelled versions")
            return find_version(work, table, revision)

    def erase(self, principal: Principal, table_id: int, revision: int) -> None:
        """Makes the content of a version unreadable at once; ``cleanup`` deletes its pieces.

        Raises ConflictError for the live one.
        """
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, table_id)
            if find_version(work, table, revision).is_live:
                raise ConflictError("this is the document itself: change it, or delete the table")
            work.versions.erase(table, revision)

    def erase_all(self, principal: Principal, table_id: int) -> None:
        """Does what ``erase`` does to every version but the live one."""
        with self.store.for_project(principal.project_id) as work:
            work.versions.erase(live_table(work, principal, table_id))

    def restore(
        self,
        principal: Principal,
        table_id: int,
        revision: int,
        *,
        if_revision: int | None = None,
        request_id: str | None = None,
    ) -> Table | Upload:
        """Makes the content of a version the newest revision; what it overwrites is recorded.

        A document that is too large for a request, now or then, becomes an upload whose document
        is the version: a worker imports it. Raises ConflictError when ``if_revision`` is not the
        current revision, and ProjectFullError.
        """
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, table_id)
            version = find_version(work, table, revision)
            if if_revision not in (None, table.revision):
                raise ConflictError("the table has another revision by now")
            if version.is_live:
                return table
            if version.gap:
                raise VersionNotRecordedError(_NOT_RECORDED)
            origin = Origin("restore", principal.actor, request_id)
            size = version.size or 0
            if size <= MAX_INLINE_BYTES:
                changed = self._write(work, table, version, if_revision, origin)
                if changed is not None:
                    return changed
            upload = work.uploads.add(
                NewUpload(
                    project_id=table.project_id,
                    table_id=table.id,
                    format="json",
                    size=size,
                    if_revision=if_revision,
                    from_revision=revision,
                    actor=origin.actor,
                    request_id=request_id,
                )
            )
            work.send(ImportUpload(upload.id))
            return upload

    def _write(
        self,
        work: UnitOfWork,
        table: Table,
        version: Version,
        if_revision: int | None,
        origin: Origin,
    ) -> Table | None:
        """None when the present document is too large for a request to record."""
        before = work.versions.overwritten(
            table.id, project_id=table.project_id, max_bytes=self.recorder.max_bytes
        )
        if before.text is None and not before.settings.is_off:
            return None
        text = text_of(work, table, version, max_bytes=MAX_INLINE_BYTES)
        changed = work.tables.replace(table.id, text, expected_revision=if_revision, origin=origin)
        if changed is None:
            raise ConflictError("the table has another revision by now")
        self.recorder.record(work, changed, before)
        check_growth(work, changed.project_id, self.bounds, text, before.text)
        work.send_waiting(changed.project_id)  # a trigger has ordered the comparisons
        return changed


def page_of_versions(work: UnitOfWork, table: Table, *, below: int | None) -> Page[Version]:
    """Returns versions with lower revisions, the newest first, at most 100."""
    if _is_off(work, table):
        return Page([] if below else [_live(table)], None)
    rows = work.versions.page(table, below=below, limit=PAGE + 1)
    if below is None and not any(row.is_live for row in rows):
        rows = [_live(table), *rows]
    return page_of(rows, lambda row: row.revision)


def value_in(text: str, path: Sequence[str]) -> str:
    """Returns the JSON text of the value at a path in the text of a version.

    Raises NotFoundError, and DocumentTooLargeError for a value that does not fit into an answer.
    """
    if path:
        try:
            text = to_json(resolve(parse_exact(text), path))
        except KeyError:
            raise NotFoundError("the pointer leads nowhere in this version") from None
    # In Lambda's answer it is a JSON string.
    if not fits(text, MAX_INLINE_BYTES - text.count('"') - text.count("\\")):
        raise DocumentTooLargeError(
            f"an answer has {MAX_INLINE_BYTES} bytes: ask for parts of the version with pointer"
        )
    return text


def find_version(work: UnitOfWork, table: Table, revision: int) -> Version:
    """Returns a version of a table. Raises NotFoundError.

    The live one is there also where nothing is kept, or nothing was when it was written.
    """
    is_live = revision == table.revision
    found = None if _is_off(work, table) else work.versions.find(table, revision)
    if found is None and not is_live:
        raise NotFoundError("the table has no such version")
    return found or _live(table)


def text_of(work: UnitOfWork, table: Table, version: Version, *, max_bytes: int) -> str:
    """Returns the JSON text of a version, byte for byte as Postgres wrote it.

    Raises VersionNotRecordedError, DocumentTooLargeError, and VersionDamagedError.
    """
    if version.is_live:
        part = work.tables.part(table.id, [], max_bytes=max_bytes)
        if part is None or part.text is None:
            raise DocumentTooLargeError(f"the document has over {max_bytes} bytes")
        return part.text
    if version.gap or version.sha256 is None or version.size is None:
        raise VersionNotRecordedError(_NOT_RECORDED)
    if version.size > max_bytes:
        raise DocumentTooLargeError(f"the version has over {max_bytes} bytes")
    stored: list[bytes] = []
    while pieces := work.versions.pieces(
        table, version.revision, first=len(stored), count=PIECES_AT_ONCE
    ):
        stored += pieces
    try:
        return joined(stored, version.sha256)
    except VersionDamagedError:
        # Somebody may have erased it meanwhile.
        if work.versions.find(table, version.revision) == version:
            raise
        raise VersionNotRecordedError(_NOT_RECORDED) from None


def _is_off(work: UnitOfWork, table: Table) -> bool:
    return work.projects.settings(HistoryLimits, table.project_id).settings.is_off


def _live(table: Table) -> Version:
    """The version of a table whose live revision has none."""
    return Version(
        revision=table.revision,
        is_live=True,
        cause=None,
        actor=None,
        request_id=None,
        plan_id=None,
        label=None,
        size=None,
        sha256=None,
        noted_gap=None,
        created_at=table.updated_at,
        overwritten_at=None,
    )


DIFFERENCES_A_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Compared:
    """Two revisions and a page of their differences; ``next_after`` None: the last page."""

    older: int
    newer: int
    differences: list[Difference]
    next_after: int | None


@dataclass(frozen=True, slots=True)
class CompareVersions:
    """Compares versions of the caller's tables."""

    store: Store

    def compare(
        self, principal: Principal, table_id: int, revision: int, to: int | None, *, after: int
    ) -> Compared:
        """Returns what is different in ``to`` (None: the live revision), from number ``after`` on.

        Raises NotFoundError, VersionNotRecordedError for a gap, DocumentTooLargeError when one of
        both has over 50,000,000 bytes or is too deep, and ManagementBackpressureError.
        """
        with managing(self.store, principal.project_id):
            return self._compared(principal, table_id, revision, to, after)

    def _compared(
        self, principal: Principal, table_id: int, revision: int, to: int | None, after: int
    ) -> Compared:
        with self.store.for_project(principal.project_id) as work:
            table = live_table(work, principal, table_id)
            newer = table.revision if to is None else to
            texts = [
                text_of(work, table, find_version(work, table, each), max_bytes=MAX_READ_BYTES)
                for each in (newer, revision)
            ]
        end = after + DIFFERENCES_A_PAGE
        try:
            before = parse_exact(texts.pop())  # neither text is held for long
            now = parse_exact(texts.pop())
            found = list(islice(differences(before, now), after, end + 1))
        except (InvalidDocumentError, RecursionError):
            raise DocumentTooLargeError("the documents are too deep to be compared") from None
        more = end if len(found) > DIFFERENCES_A_PAGE else None
        return Compared(revision, newer, found[:DIFFERENCES_A_PAGE], more)


HISTORIES_PER_STEP = 100
VERSIONS_PER_STEP = 1_000


def prune_versions(store: Store) -> Pruned:
    """Prunes the histories that are due, each in a transaction of its own, at most 100.

    First the oldest versions of projects that keep too much leave.
    """
    with store.for_all("maintenance") as work:
        over = work.versions.over_limit(limit=HISTORIES_PER_STEP)
        versions = sum(work.versions.expire_oldest(project_id) for project_id in over)
        due = work.versions.due(limit=HISTORIES_PER_STEP)
    pieces, is_done = 0, versions == 0 and len(due) < HISTORIES_PER_STEP
    for history in due:
        with store.for_all("maintenance") as work:
            pruned = work.versions.prune(history, limit=VERSIONS_PER_STEP)
        versions += pruned.versions
        pieces += pruned.pieces
        is_done &= pruned.is_done
    return Pruned(versions, pieces, is_done)
