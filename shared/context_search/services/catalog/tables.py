"""Projects and their JSON documents: create, read, change, delete."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.domain.access import Internal, KeyOwner, Principal
from context_search.domain.documents import check_depth
from context_search.domain.errors import DocumentTooLargeError, NotFoundError
from context_search.domain.json_pointer import split
from context_search.domain.json_text import to_json
from context_search.domain.model import Project, Table
from context_search.domain.orders import CompareIndex
from context_search.domain.uploads import MAX_INLINE_BYTES
from context_search.ports.store import Store, UnitOfWork
from context_search.services.access.keys import KeyOptions, ShownKey, add_key

_OF_STRINGS = "one string is not read in parts; search and retrieve give passages of it"
_OF_OTHERS = "ask for parts of it with pointer"


@dataclass(frozen=True, slots=True)
class CreateProject:
    """Makes a tenant with its first key, which is shown this once."""

    store: Store

    def __call__(self, name: str) -> tuple[Project, ShownKey]:
        """Returns the project and its key, which may do everything."""
        with self.store.for_all("create a project") as work:
            project = work.projects.add(name)
            return project, add_key(work, KeyOwner(project.id), KeyOptions(), Internal())


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Stores a JSON document. Nothing is indexed until a tool, or project search, wants it."""

    store: Store

    def __call__(
        self, principal: Principal, name: str, description: str | None, document: object
    ) -> Table:
        """``document`` has passed the border (``domain.documents.parse_json``) inside of a body.

        Raises InvalidDocumentError when it is too deep by itself.
        """
        check_depth(document)
        with self.store.for_project(principal.project_id) as work:
            table = work.tables.add(principal.project_id, name, description, to_json(document))
            work.send_waiting(table.project_id)  # a trigger has ordered the comparison
            return table


@dataclass(frozen=True, slots=True)
class ReadTable:
    """Reads a table, or the part of its document below a pointer."""

    store: Store

    def __call__(self, principal: Principal, table_id: int) -> Table:
        """Raises NotFoundError."""
        with self.store.for_project(principal.project_id) as work:
            return live_table(work, principal, table_id)

    def document(self, principal: Principal, table_id: int, pointer: str) -> tuple[int, str]:
        """Returns the revision and the JSON text of the value at ``pointer``.

        Raises NotFoundError, InvalidPointerError, and DocumentTooLargeError for a value that does
        not fit into an answer.
        """
        path = split(pointer)
        with self.store.for_project(principal.project_id) as work:
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


@dataclass(frozen=True, slots=True)
class DeleteTable:
    """Makes a table, its tools and their hits unreachable at once; ``cleanup`` does the rest."""

    store: Store

    def __call__(self, principal: Principal, table_id: int) -> None:
        """Raises NotFoundError."""
        with self.store.for_project(principal.project_id) as work:
            live_table(work, principal, table_id)
            work.tables.mark_deleted(table_id)


@dataclass(frozen=True, slots=True)
class DeleteTool:
    """Makes a Search Tool unreachable at once; chunks that no other tool needs follow."""

    store: Store

    def __call__(self, principal: Principal, tool_id: int) -> None:
        """Raises NotFoundError."""
        with self.store.for_project(principal.project_id) as work:
            tool = work.tools.find(tool_id, project_id=principal.project_id)
            if tool is None:
                raise NotFoundError("there is no such tool")
            # What creates tools and compares indexes takes the same rows, in another order.
            work.tables.lock(tool.scope.table_id)
            work.tools.mark_deleted(tool_id)
            work.comparisons.uncover(tool_id)
            work.send(CompareIndex(tool.index_id, tool.scope.table_id))


def live_table(work: UnitOfWork, principal: Principal, table_id: int) -> Table:
    """Returns a live table of the caller's project. Raises NotFoundError."""
    table = work.tables.find(table_id, project_id=principal.project_id)
    if table is None:
        raise NotFoundError("there is no such table")
    return table
