"""Projects and their JSON documents: create, read, change, delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.domain.access import KeyOwner
from context_search.domain.documents import check_depth, parse_exact, to_json
from context_search.domain.errors import (
    ConflictError,
    DocumentTooLargeError,
    NotFoundError,
)
from context_search.domain.json_pointer import replace_value, resolve, split
from context_search.domain.merge_patch import merge_patch
from context_search.domain.model import Principal, Project, Table
from context_search.domain.uploads import MAX_INLINE_BYTES
from context_search.ports.store import Store, UnitOfWork
from context_search.services.keys import KeyWish, ShownKey, add_key
from context_search.services.outgoing import Deliver, enumerate_message


@dataclass(frozen=True, slots=True)
class CreateProject:
    """Makes a tenant with its first key, which is shown this once."""

    store: Store

    def __call__(self, name: str) -> tuple[Project, ShownKey]:
        """Returns the project and its key, which may do everything."""
        with self.store.transaction() as work:
            project = work.projects.add(name)
            return project, add_key(work, KeyOwner(project.id), KeyWish())


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Stores a JSON document. Nothing is indexed until a tool, or project search, wants it."""

    store: Store
    deliver: Deliver

    def __call__(
        self, principal: Principal, name: str, description: str | None, document: object
    ) -> Table:
        """``document`` has passed the border (``domain.documents.parse_json``) inside of a body.

        Raises InvalidDocumentError when it is too deep by itself.
        """
        check_depth(document)
        with self.store.transaction(principal.project_id) as work:
            table = work.tables.add(principal.project_id, name, description, to_json(document))
        self.deliver([table.project_id])
        return table


@dataclass(frozen=True, slots=True)
class ReadTable:
    """Reads a table, or the part of its document below a pointer."""

    store: Store

    def __call__(self, principal: Principal, table_id: int) -> Table:
        """Raises NotFoundError."""
        with self.store.transaction(principal.project_id) as work:
            return _live_table(work, principal, table_id)

    def document(self, principal: Principal, table_id: int, pointer: str) -> tuple[int, str]:
        """Returns the revision and the JSON text of the value at ``pointer``.

        Raises NotFoundError, InvalidPointerError, and DocumentTooLargeError for a value that does
        not fit into an answer.
        """
        path = split(pointer)
        with self.store.transaction(principal.project_id) as work:
            _live_table(work, principal, table_id)
            part = work.tables.part(table_id, path, max_bytes=MAX_INLINE_BYTES)
        if part is None:
            raise NotFoundError("the pointer leads nowhere in this table")
        if part.text is None or _carried_bytes(part.size, part.text) > MAX_INLINE_BYTES:
            raise DocumentTooLargeError(
                f"the value has {part.size} bytes, an answer {MAX_INLINE_BYTES}:"
                " ask for parts of it with pointer"
            )
        return part.revision, part.text


def _carried_bytes(size: int, text: str) -> int:
    """Returns what a JSON text takes in Lambda's answer, in which it is a JSON string."""
    return size + text.count('"') + text.count("\\")


@dataclass(frozen=True, slots=True)
class ReplaceDocument:
    """Writes a new document; the strings that changed are indexed again by themselves."""

    store: Store
    deliver: Deliver

    def __call__(
        self,
        principal: Principal,
        table_id: int,
        value: object,
        *,
        pointer: str = "",
        if_revision: int | None = None,
        as_patch: bool = False,
    ) -> Table:
        """Writes ``value`` as the document, or to ``pointer`` inside of it.

        With ``as_patch`` it is a JSON Merge Patch (RFC 7396) of what is there.

        Raises NotFoundError, InvalidPointerError, InvalidDocumentError when it gets too deep, and
        ConflictError when ``if_revision`` is not the current revision.
        """
        path = split(pointer)
        with self.store.transaction(principal.project_id) as work:
            table = _live_table(work, principal, table_id)
            document = value
            if path or as_patch:
                work.tables.lock_for_change(table_id)
                before = parse_exact(work.tables.read(table_id)[1])
                document = _changed(before, path, value, as_patch=as_patch)
                check_depth(document)
            changed = work.tables.replace(
                table.id, to_json(document), expected_revision=if_revision
            )
        if changed is None:
            raise ConflictError("the table has another revision by now")
        self.deliver([table.project_id])
        return changed


def _changed(before: object, path: Sequence[str], value: object, *, as_patch: bool) -> object:
    try:
        if as_patch:
            value = merge_patch(resolve(before, path), value)
        return replace_value(before, path, value)
    except KeyError:
        raise NotFoundError("the pointer leads nowhere in this table") from None


@dataclass(frozen=True, slots=True)
class DeleteTable:
    """Makes a table, its tools and their hits unreachable at once; ``cleanup`` does the rest."""

    store: Store

    def __call__(self, principal: Principal, table_id: int) -> None:
        """Raises NotFoundError."""
        with self.store.transaction(principal.project_id) as work:
            _live_table(work, principal, table_id)
            work.tables.mark_deleted(table_id)


@dataclass(frozen=True, slots=True)
class DeleteTool:
    """Makes a Search Tool unreachable at once; chunks that no other tool needs follow."""

    store: Store
    deliver: Deliver

    def __call__(self, principal: Principal, tool_id: int) -> None:
        """Raises NotFoundError."""
        with self.store.transaction(principal.project_id) as work:
            tool = work.tools.find(tool_id, project_id=principal.project_id)
            if tool is None:
                raise NotFoundError("there is no such tool")
            # What creates tools and compares indexes takes the same rows, in another order.
            work.tables.lock(tool.scope.table_id)
            work.tools.mark_deleted(tool_id)
            work.indexes.uncover(tool_id)
            owners = work.outbox.add([enumerate_message(tool.index_id, tool.scope.table_id)])
        self.deliver(owners)


def _live_table(work: UnitOfWork, principal: Principal, table_id: int) -> Table:
    table = work.tables.find(table_id, project_id=principal.project_id)
    if table is None:
        raise NotFoundError("there is no such table")
    return table
