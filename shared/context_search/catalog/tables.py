"""Projects and their JSON documents: create, list, read, change, delete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from context_search.access.keys import KeyOptions, ShownKey, add_key
from context_search.access.lookup import live_table
from context_search.budgets.bounds import check_bound, check_growth
from context_search.catalog.rules.tables import ListedTable
from context_search.catalog.rules.versions import Origin, Overwritten
from context_search.catalog.versions import RecordVersions
from context_search.core.callers import Internal, KeyOwner, Principal
from context_search.core.documents import check_depth, merge_patch, number_padding, parse_exact
from context_search.core.errors import (
    ConflictError,
    DocumentTooLargeError,
    InvalidPointerError,
    NotFoundError,
)
from context_search.core.json_number import MAX_GROWTH
from context_search.core.json_pointer import remove_value, replace_value, resolve, split
from context_search.core.json_text import fits, to_json
from context_search.core.limits import MAX_INLINE_BYTES, MAX_UPLOAD_BYTES, ProjectBounds
from context_search.core.model import Project, Table
from context_search.core.pages import NAMES_LOOKED_AT, Page
from context_search.core.progress import IndexStatus, worst_status
from context_search.store import Store, UnitOfWork

MAX_CHANGED_BYTES = 100_000_000
"""Maximum size of a document, in bytes, of which a request changes a part. A request has 29 s, and
118 MB took up to 24 on a busy machine; 1,769 MB of memory hold 133 MB.
"""
TABLES_PER_STEP = 1_000
"""Tables of a deleted project that one transaction marks: the rest is invisible a little later."""
_OF_STRINGS = "one string is read in windows, by POST /api/v1/tables/{table_id}/text"
_OF_OTHERS = "ask for parts of it with pointer"


@dataclass(frozen=True, slots=True)
class ManageTables:
    """Projects, and tables with a JSON document each. Strings that change are indexed again.

    What a change overwrites is recorded with it; ``request_id`` says later which one it was.

    What names a table raises NotFoundError. Those that change a document raise
    InvalidPointerError, ConflictError when ``if_revision`` is not the current revision,
    InvalidDocumentError when the document gets too deep, and DocumentTooLargeError when it gets
    larger than an upload may be, or its numbers, written out, over 6,000,000 characters longer
    than they need be, and ProjectFullError. ``max_changed_bytes``: how large a document is of
    which a part is changed.
    """

    store: Store
    max_bytes: int = MAX_UPLOAD_BYTES
    max_changed_bytes: int = MAX_CHANGED_BYTES
    recorder: RecordVersions = field(default_factory=RecordVersions)
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    def create_project(self, name: str) -> tuple[Project, ShownKey]:
        """Makes a tenant. Returns it with its first key: shown this once, it may do everything."""
        with self.store.for_all("create a project") as work:
            project = work.projects.add(name)
            key = add_key(work, KeyOwner(project.id), KeyOptions(), Internal(), self.bounds)
            return project, key

    def delete_project(self, project_id: int) -> None:
        """Notes that a project is deleted; ``cleanup`` removes all that it has.

        Its keys and tokens are refused from the commit on. Raises NotFoundError.
        """
        with self.store.for_project(project_id) as work:
            if not work.projects.mark_deleted(project_id):
                raise NotFoundError("there is no such project")
            work.tables.mark_of_deleted_projects(limit=TABLES_PER_STEP)

    def create(
        self,
        principal: Principal,
        name: str,
        description: str | None,
        document: object,
        *,
        url_template: str | None = None,
        request_id: str | None = None,
    ) -> Table:
        """Stores a document. Nothing is indexed until a tool, or project search, wants it.

        ``document`` has been read by ``core.documents.parse_json``, inside of a body.
        Raises InvalidDocumentError when it is too deep by itself, and ProjectFullError.
        """
        check_depth(document)
        with self.store.for_project(principal.project_id) as work:
            origin = Origin("create", principal.actor, request_id)
            text = to_json(document)
            check_bound(work, principal.project_id, "tables", self.bounds, more=1)
            table = work.tables.add(
                principal.project_id,
                name,
                description,
                text,
                url_template=url_template,
                origin=origin,
            )
            check_growth(work, table.project_id, self.bounds, text, before="")
            work.send_waiting(table.project_id)  # a trigger has ordered the comparison
            return table

    def replace(
        self,
        principal: Principal,
        table_id: int,
        value: object,
        *,
        pointer: str = "",
        if_revision: int | None = None,
        request_id: str | None = None,
    ) -> Table:
        """Writes ``value`` as the document, or to ``pointer`` inside of it."""
        path, origin = split(pointer), Origin("put", principal.actor, request_id)
        if path:
            return self._change(
                principal,
                table_id,
                if_revision,
                origin,
                lambda before: replace_value(before, path, value),
            )
        with self.store.for_project(principal.project_id) as work:
            before = work.versions.overwritten(
                table_id, project_id=principal.project_id, max_bytes=self.recorder.max_bytes
            )
            return self._write(work, table_id, before, value, if_revision, origin)

    def merge(
        self,
        principal: Principal,
        table_id: int,
        patch: object,
        *,
        pointer: str = "",
        if_revision: int | None = None,
        request_id: str | None = None,
    ) -> Table:
        """Applies a JSON Merge Patch (RFC 7396) to the document, or to what is at ``pointer``."""
        path = split(pointer)

        def merged(before: object) -> object:
            return replace_value(before, path, merge_patch(resolve(before, path), patch))

        origin = Origin("patch", principal.actor, request_id)
        return self._change(principal, table_id, if_revision, origin, merged)

    def remove(
        self,
        principal: Principal,
        table_id: int,
        *,
        pointer: str,
        if_revision: int | None = None,
        request_id: str | None = None,
    ) -> Table:
        """Takes out the member or the element at ``pointer``, which is not the whole document."""
        path = split(pointer)
        if not path:
            raise InvalidPointerError("the whole document cannot be removed: delete the table")
        origin = Origin("patch", principal.actor, request_id)
        return self._change(
            principal, table_id, if_revision, origin, lambda before: remove_value(before, path)
        )

    def delete(
        self, principal: Principal, table_id: int, *, if_revision: int | None = None
    ) -> None:
        """Makes a table, its tools and their hits unreachable; ``cleanup`` does the rest.

        Raises NotFoundError, and ConflictError when ``if_revision`` is not the current revision.
        """
        with self.store.for_project(principal.project_id) as work:
            live_table(work, principal, table_id)
            if if_revision is not None:
                work.tables.lock(table_id)  # whoever held it may have deleted the table
                if live_table(work, principal, table_id).revision != if_revision:
                    raise ConflictError("the table has another revision by now")
            work.tables.mark_deleted(table_id)

    def _change(
        self,
        principal: Principal,
        table_id: int,
        if_revision: int | None,
        origin: Origin,
        change: Callable[[object], object],
    ) -> Table:
        with self.store.for_project(principal.project_id) as work:
            before = work.versions.overwritten(
                table_id, project_id=principal.project_id, max_bytes=self.max_changed_bytes
            )
            if before.text is None:
                before = replace(before, text=self._not_recorded(work, table_id))
            text = before.text or ""
            try:
                document = change(parse_exact(text))
            except KeyError:
                raise NotFoundError("the pointer leads nowhere in this table") from None
            check_depth(document)
            _check_numbers(text, document)
            return self._write(work, table_id, before, document, if_revision, origin)

    def _not_recorded(self, work: UnitOfWork, table_id: int) -> str | None:
        """Returns the locked document where no history is kept. Refuses one that is too large."""
        part = work.tables.part(table_id, [], max_bytes=self.max_changed_bytes)
        if part is None:
            return None
        if part.is_too_long:
            raise DocumentTooLargeError(
                f"a part can be changed in a document of at most {self.max_changed_bytes} bytes;"
                f" this one has {part.size}: upload it as a whole"
            )
        return part.text

    def _write(
        self,
        work: UnitOfWork,
        table_id: int,
        before: Overwritten,
        document: object,
        if_revision: int | None,
        origin: Origin,
    ) -> Table:
        text = to_json(document)
        if not fits(text, self.max_bytes):
            raise DocumentTooLargeError(f"the document would have over {self.max_bytes} bytes")
        changed = work.tables.replace(table_id, text, expected_revision=if_revision, origin=origin)
        if changed is None:
            raise ConflictError("the table has another revision by now")
        check_growth(work, changed.project_id, self.bounds, text, before.text)
        self.recorder.record(work, changed, before)
        work.send_waiting(changed.project_id)  # a trigger has ordered the comparisons
        return changed


def set_url_template(
    store: Store, principal: Principal, table_id: int, url_template: str | None
) -> Table:
    """Changes where the owner's application shows the places of a table. Raises NotFoundError."""
    with store.for_project(principal.project_id) as work:
        changed = work.tables.set_url_template(
            table_id, url_template, project_id=principal.project_id
        )
        if changed is None:
            raise NotFoundError("there is no such table")
        return changed


def value_at(
    work: UnitOfWork, principal: Principal, table_id: int, pointer: str
) -> tuple[int, str]:
    """Returns the revision of a document and the JSON text of the value at ``pointer``.

    Raises NotFoundError, InvalidPointerError, and DocumentTooLargeError for a value that does not
    fit into an answer.
    """
    path = split(pointer)
    live_table(work, principal, table_id)
    part = work.tables.part(table_id, path, max_bytes=MAX_INLINE_BYTES)
    if part is None:
        raise NotFoundError("the pointer leads nowhere in this table")
    if part.text is None or _carried_bytes(part.size, part.text) > MAX_INLINE_BYTES:
        raise DocumentTooLargeError(
            f"the value has {part.size} bytes, an answer {MAX_INLINE_BYTES}: "
            + (_OF_STRINGS if part.is_string else _OF_OTHERS)
        )
    return part.revision, part.text


def _carried_bytes(size: int, text: str) -> int:
    """Returns what a JSON text takes in Lambda's answer, in which it is a JSON string."""
    return size + text.count('"') + text.count("\\")


def _check_numbers(before: str, document: object) -> None:
    """What a request may bring by itself would come to any length with many requests.

    A document that is over the limit already, as an upload or SQL may write it, may not get worse.
    """
    after = number_padding(document)
    if after > MAX_GROWTH and after > number_padding(parse_exact(before)):
        raise DocumentTooLargeError(
            "the numbers of the document, written out in full, would take over"
            f" {MAX_GROWTH} characters more than they need"
        )


LISTED_TABLES = 20
"""Number of tables on a page, usually. Each may have indexes of its own to be asked."""
MOST_LISTED_TABLES = 50


@dataclass(frozen=True, slots=True)
class TableOverview:
    """A table with the sums over the indexes that serve its tools; ``status`` is the worst one's.

    Without a tool it is None. The index of the whole project is not among them.
    """

    listed: ListedTable
    status: IndexStatus | None
    nodes_count: int
    chunks_count: int
    indexed_chunks_count: int


def page_of_tables(
    work: UnitOfWork,
    principal: Principal,
    *,
    after: int,
    limit: int,
    part_of_name: str | None = None,
    silent_s: float,
) -> Page[TableOverview]:
    """Returns tables of the caller's project by id; a page with a name may be short.

    Costs the page and the indexes of its tables, not their strings.
    """
    page = work.tables.page(
        principal.project_id,
        after=after,
        limit=limit,
        among=NAMES_LOOKED_AT,
        part_of_name=part_of_name,
    )
    rows = [_overview(work, listed, silent_s) for listed in page.rows]
    return Page(rows, page.next_after)


def _overview(work: UnitOfWork, listed: ListedTable, silent_s: float) -> TableOverview:
    indexes = [work.indexes.find(index_id) for index_id in listed.index_ids]
    found = [
        work.node_counts.progress(index, "", silent_s=silent_s)
        for index in indexes
        if index is not None
    ]
    return TableOverview(
        listed,
        worst_status([progress.status for progress in found]),
        sum(progress.nodes_count for progress in found),
        sum(progress.chunks_count for progress in found),
        sum(progress.indexed_chunks_count for progress in found),
    )
