"""Projects and their JSON documents: create, read, change, delete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from context_search.domain.access import Internal, KeyOwner, Principal
from context_search.domain.documents import check_depth, merge_patch, number_padding, parse_exact
from context_search.domain.errors import (
    ConflictError,
    DocumentTooLargeError,
    InvalidPointerError,
    NotFoundError,
)
from context_search.domain.json_number import MAX_GROWTH
from context_search.domain.json_pointer import remove_value, replace_value, resolve, split
from context_search.domain.json_text import to_json
from context_search.domain.model import Project, Table
from context_search.domain.uploads import MAX_INLINE_BYTES, MAX_UPLOAD_BYTES
from context_search.ports.store import Store, UnitOfWork
from context_search.services.access.keys import KeyOptions, ShownKey, add_key

TABLES_PER_STEP = 1_000
"""Tables of a deleted project that one transaction marks: the rest is invisible a little later."""
_OF_STRINGS = "one string is not read in parts; search and retrieve give passages of it"
_OF_OTHERS = "ask for parts of it with pointer"


@dataclass(frozen=True, slots=True)
class ManageTables:
    """Projects, and tables with a JSON document each. Strings that change are indexed again.

    What names a table raises NotFoundError. Those that change a document raise
    InvalidPointerError, ConflictError when ``if_revision`` is not the current revision,
    InvalidDocumentError when the document gets too deep, and DocumentTooLargeError when it gets
    larger than an upload may be, or its numbers, written out, over 6,000,000 characters longer
    than they need be.
    """

    store: Store
    max_bytes: int = MAX_UPLOAD_BYTES

    def create_project(self, name: str) -> tuple[Project, ShownKey]:
        """Makes a tenant. Returns it with its first key: shown this once, it may do everything."""
        with self.store.for_all("create a project") as work:
            project = work.projects.add(name)
            return project, add_key(work, KeyOwner(project.id), KeyOptions(), Internal())

    def delete_project(self, project_id: int) -> None:
        """Notes that a project is deleted; ``cleanup`` removes all that it has.

        Its keys and tokens are refused from the commit on. Raises NotFoundError.
        """
        with self.store.for_project(project_id) as work:
            if not work.projects.mark_deleted(project_id):
                raise NotFoundError("there is no such project")
            work.removals.mark_tables(limit=TABLES_PER_STEP)

    def create(
        self, principal: Principal, name: str, description: str | None, document: object
    ) -> Table:
        """Stores a document. Nothing is indexed until a tool, or project search, wants it.

        ``document`` has passed the border (``domain.documents.parse_json``) inside of a body.
        Raises InvalidDocumentError when it is too deep by itself.
        """
        check_depth(document)
        with self.store.for_project(principal.project_id) as work:
            table = work.tables.add(principal.project_id, name, description, to_json(document))
            work.send_waiting(table.project_id)  # a trigger has ordered the comparison
            return table

    def read(self, principal: Principal, table_id: int) -> Table:
        """Returns the table without its document."""
        with self.store.for_project(principal.project_id) as work:
            return _live_table(work, principal, table_id)

    def read_document(self, principal: Principal, table_id: int, pointer: str) -> tuple[int, str]:
        """Returns the revision and the JSON text of the value at ``pointer``.

        Raises InvalidPointerError, and DocumentTooLargeError for a value that does not fit into an
        answer.
        """
        path = split(pointer)
        with self.store.for_project(principal.project_id) as work:
            _live_table(work, principal, table_id)
            part = work.tables.part(table_id, path, max_bytes=MAX_INLINE_BYTES)
        if part is None:
            raise NotFoundError("the pointer leads nowhere in this table")
        if part.text is None or _carried_bytes(part.size, part.text) > MAX_INLINE_BYTES:
            raise DocumentTooLargeError(
                f"the value has {part.size} bytes, an answer {MAX_INLINE_BYTES}: "
                + (_OF_STRINGS if part.is_string else _OF_OTHERS)
            )
        return part.revision, part.text

    def replace(
        self,
        principal: Principal,
        table_id: int,
        value: object,
        *,
        pointer: str = "",
        if_revision: int | None = None,
    ) -> Table:
        """Writes ``value`` as the document, or to ``pointer`` inside of it."""
        path = split(pointer)
        if path:
            return self._change(
                principal, table_id, if_revision, lambda before: replace_value(before, path, value)
            )
        with self.store.for_project(principal.project_id) as work:
            table = _live_table(work, principal, table_id)
            return self._write(work, table, value, if_revision)

    def merge(
        self,
        principal: Principal,
        table_id: int,
        patch: object,
        *,
        pointer: str = "",
        if_revision: int | None = None,
    ) -> Table:
        """Applies a JSON Merge Patch (RFC 7396) to the document, or to what is at ``pointer``."""
        path = split(pointer)

        def merged(before: object) -> object:
            return replace_value(before, path, merge_patch(resolve(before, path), patch))

        return self._change(principal, table_id, if_revision, merged)

    def remove(
        self,
        principal: Principal,
        table_id: int,
        *,
        pointer: str,
        if_revision: int | None = None,
    ) -> Table:
        """Takes out the member or the element at ``pointer``, which is not the whole document."""
        path = split(pointer)
        if not path:
            raise InvalidPointerError("the whole document cannot be removed: delete the table")
        return self._change(
            principal, table_id, if_revision, lambda before: remove_value(before, path)
        )

    def delete(self, principal: Principal, table_id: int) -> None:
        """Makes a table, its tools and their hits unreachable; ``cleanup`` does the rest."""
        with self.store.for_project(principal.project_id) as work:
            _live_table(work, principal, table_id)
            work.tables.mark_deleted(table_id)

    def _change(
        self,
        principal: Principal,
        table_id: int,
        if_revision: int | None,
        change: Callable[[object], object],
    ) -> Table:
        with self.store.for_project(principal.project_id) as work:
            table = _live_table(work, principal, table_id)
            work.tables.lock_for_change(table_id)
            before = work.tables.read(table_id)[1]
            try:
                document = change(parse_exact(before))
            except KeyError:
                raise NotFoundError("the pointer leads nowhere in this table") from None
            check_depth(document)
            _check_numbers(before, document)
            return self._write(work, table, document, if_revision)

    def _write(
        self, work: UnitOfWork, table: Table, document: object, if_revision: int | None
    ) -> Table:
        text = to_json(document)
        # A character has at most four bytes: what is far below the limit is not encoded.
        if 4 * len(text) > self.max_bytes < len(text.encode()):
            raise DocumentTooLargeError(f"the document would have over {self.max_bytes} bytes")
        changed = work.tables.replace(table.id, text, expected_revision=if_revision)
        if changed is None:
            raise ConflictError("the table has another revision by now")
        work.send_waiting(changed.project_id)  # a trigger has ordered the comparisons
        return changed


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


def _live_table(work: UnitOfWork, principal: Principal, table_id: int) -> Table:
    """Returns a live table of the caller's project. Raises NotFoundError."""
    table = work.tables.find(table_id, project_id=principal.project_id)
    if table is None:
        raise NotFoundError("there is no such table")
    return table
