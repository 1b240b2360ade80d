"""Search Tools: created over a scope, taken over from another program, deleted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from context_search.access.lookup import index_of, live_tool
from context_search.budgets.bounds import check_bound
from context_search.budgets.spending import NO_LIMITS, check_ceiling
from context_search.catalog.rules.tools import Unowned, UnservedTool
from context_search.core.callers import Principal, ProjectKey
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.errors import (
    ConflictError,
    ContextSearchError,
    DatabaseUnavailableError,
    FilterInvalidError,
    InvalidInputError,
    NotFoundError,
)
from context_search.core.json_pointer import split
from context_search.core.limits import DailyLimits, ProjectBounds
from context_search.core.messages import CompareIndex
from context_search.core.model import Index, Scope, Table, ToolSettings
from context_search.core.pages import PAGE, page_of
from context_search.indexing.comparing import Document, Limits, compare, preload
from context_search.indexing.completion import write_summaries
from context_search.indexing.status import ToolStatus, tool_status
from context_search.indexing.use_index import note_use
from context_search.store import Store, UnitOfWork

INLINE_DOCUMENT_BYTES = 5_000_000
FEW_STRINGS = 500
MAX_INDEX_FIELDS = 64
"""Maximum number of fields that the tools of one index may name together."""


@dataclass(frozen=True, slots=True)
class NewSearchTool:
    """What the caller wants: a name, a scope, and how to index and search it."""

    project_id: int
    name: str
    description: str | None
    scope: Scope
    index: IndexConfig
    search: SearchConfig


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A tool that has an index from now on, and what it searches."""

    tool_id: int
    scope: Scope


@dataclass(frozen=True, slots=True)
class NotTakenOver:
    """A tool that stays as it was: the code of an error, and what is wrong in words."""

    tool_id: int
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """What became of a page of tools, and the id to go on after when there are more.

    ``of_no_project`` are tools that no call for any project takes over, at most 100 by name.
    """

    taken_over: list[TakenOver]
    not_taken_over: list[NotTakenOver]
    next_after: int | None
    of_no_project: Unowned


@dataclass(frozen=True, slots=True)
class ManageTools:
    """Search Tools of a project. Tools with equal configurations share an index."""

    store: Store
    limits: Limits
    silent_s: float
    bounds: ProjectBounds = field(default_factory=ProjectBounds)
    daily: DailyLimits = NO_LIMITS

    def create(self, wanted: NewSearchTool) -> ToolStatus:
        """Answers once the strings are found; chunking and embedding go on through the queue.

        The tool is there when its row is; to find the strings is a message in the outbox, carried
        out in the request. The queue does it for documents over 5 MB or with over 500 strings in
        scope, and when the request fails at it. The same create again makes a second tool, reads
        no document and indexes nothing again.
        Raises InvalidPointerError, ProjectFullError, SpendingCeilingError where something would
        have to be indexed, and NotFoundError for a missing or foreign table.
        """
        split(wanted.scope.json_pointer)
        status, is_done = self._add(wanted)
        if not is_done:
            status = self._compared(status)
        with suppress(DatabaseUnavailableError):  # the tool is there; cleanup writes them too
            write_summaries(
                self.store, status.index.id, silent_s=self.silent_s, tool_id=status.tool.id
            )
        return status

    def delete(self, principal: Principal, tool_id: int, *, if_version: int | None = None) -> None:
        """Makes a tool unreachable at once; chunks that no other tool needs follow.

        Raises NotFoundError, and ConflictError when the settings have another version than
        ``if_version``.
        """
        with self.store.for_project(principal.project_id) as work:
            tool = live_tool(work, tool_id, principal)
            # What creates tools and compares indexes takes the same rows, in another order.
            work.tables.lock(tool.scope.table_id)
            if if_version not in (None, live_tool(work, tool_id, principal).settings.version):
                raise ConflictError("the tool has other settings by now")
            work.tools.mark_deleted(tool_id)
            work.comparisons.uncover(tool_id)
            work.send(CompareIndex(tool.index_id, tool.scope.table_id))

    def change(
        self,
        principal: Principal,
        tool_id: int,
        change: Callable[[ToolSettings, IndexConfig], ToolSettings],
        *,
        if_version: int | None,
    ) -> ToolStatus:
        """Writes what ``change`` makes of a tool's settings; the next search ranks by them.

        ``change`` gets what the tool's index is built with, too. Fields that the index does not
        keep yet are read from the document by a message. Raises NotFoundError, ConflictError when
        the settings have another version than ``if_version``, and FilterInvalidError.
        """
        with self.store.for_project(principal.project_id) as work:
            tool = live_tool(work, tool_id, principal)
            work.tables.lock(tool.scope.table_id)  # as who creates and deletes tools does
            tool = live_tool(work, tool_id, principal)
            if if_version not in (None, tool.settings.version):
                raise ConflictError("the tool has other settings by now")
            index = index_of(work, tool)
            changed = change(tool.settings, index.config)
            if changed != tool.settings:
                work.tools.change(tool.id, changed)
            if changed.search.fields != tool.search.fields:
                _name_fields(work, index)
                work.send(CompareIndex(index.id, tool.scope.table_id))
            return tool_status(work, live_tool(work, tool_id, principal), silent_s=self.silent_s)

    def take_over(
        self, project_id: int, index_config: Callable[[str | None], IndexConfig], *, after: int
    ) -> Adoption:
        """Gives each tool of type ``search`` that has no index one, and orders its indexing.

        For a page of tools that another program keeps in the shared table ``tool``. Of the row
        only ``project_id`` is written, where it is NULL. Repeating it changes nothing.
        ``index_config`` reads what ``tool.search_config`` holds.
        Raises NotFoundError without the project.
        """
        with self.store.for_project(project_id) as work:
            if not work.projects.exists(project_id):
                raise NotFoundError("there is no such project")
            found = work.tools.unserved(project_id, after=after, limit=PAGE + 1)
            unowned = work.tools.of_no_project(limit=PAGE)
        page = page_of(found, lambda tool: tool.id)
        done = Adoption([], [], page.next_after, unowned)
        for tool in page.rows:
            try:
                scope = self._take_over_one(project_id, tool, index_config(tool.search_config))
            except (InvalidInputError, NotFoundError) as error:
                done.not_taken_over.append(NotTakenOver(tool.id, error.code, error.message))
            else:
                done.taken_over.append(TakenOver(tool.id, scope))
        return done

    def _add(self, wanted: NewSearchTool) -> tuple[ToolStatus, bool]:
        """Returns the tool, and whether its index needs no comparison; else that is ordered."""
        with self.store.for_project(wanted.project_id) as work:
            table = _locked_table(work, wanted.scope.table_id, wanted.project_id)
            check_bound(work, wanted.project_id, "tools", self.bounds, more=1)
            index = work.indexes.find_or_add(
                project_id=wanted.project_id, table_id=table.id, config=wanted.index
            )
            tool_id = work.tools.add(
                project_id=wanted.project_id,
                name=wanted.name,
                description=wanted.description,
                scope=wanted.scope,
                search=wanted.search,
            )
            note_use(work, index)
            work.comparisons.cover(index.id, tool_id=tool_id, scope=wanted.scope.json_pointer)
            _name_fields(work, index)
            is_done = work.comparisons.is_compared(index)
            if not is_done:  # it does not leave: the request carries it out
                check_ceiling(work, wanted.project_id, self.daily)
                work.outbox.add([CompareIndex(index.id, table.id).to_json()])
            elif not work.comparisons.follows(index.id, table.id):
                work.send(CompareIndex(index.id, table.id))
            tool = live_tool(work, tool_id, ProjectKey(wanted.project_id))
            return tool_status(work, tool, silent_s=self.silent_s), is_done

    def _compared(self, status: ToolStatus) -> ToolStatus:
        """Has the message handled, here or by the queue; the status says how far it is."""
        index = status.index
        with suppress(ContextSearchError):  # the tool is there, and its message waits
            if self._is_small(status):
                document = preload(self.store, index.id)
                if document is None or document.few_strings(index.config, FEW_STRINGS):
                    return self._compare(status, document)
        project_id = status.tool.project_id
        with suppress(ContextSearchError), self.store.for_project(project_id) as work:
            work.send_waiting(project_id)
        return status

    def _is_small(self, status: ToolStatus) -> bool:
        with self.store.for_project(status.tool.project_id) as work:
            return work.tables.size(status.tool.scope.table_id) <= INLINE_DOCUMENT_BYTES

    def _compare(self, status: ToolStatus, document: Document | None) -> ToolStatus:
        table_id = status.tool.scope.table_id
        with self.store.for_project(status.tool.project_id) as work:
            work.send(*compare(work, status.index, table_id, self.limits, document))
            return tool_status(work, status.tool, silent_s=self.silent_s)

    def _take_over_one(self, project_id: int, tool: UnservedTool, config: IndexConfig) -> Scope:
        if tool.table_id is None:
            raise NotFoundError("the tool names no table")
        scope = Scope(tool.table_id, tool.json_path or "")
        split(scope.json_pointer)
        with self.store.for_project(project_id) as work:
            _locked_table(work, scope.table_id, project_id)
            if not work.tools.take_over(tool.id, project_id=project_id):
                raise NotFoundError("the tool was deleted, or taken over, meanwhile")
            index = work.indexes.find_or_add(
                project_id=project_id, table_id=scope.table_id, config=config
            )
            note_use(work, index)
            work.comparisons.cover(index.id, tool_id=tool.id, scope=scope.json_pointer)
            _name_fields(work, index)
            work.send(CompareIndex(index.id, scope.table_id))
        return scope


def _locked_table(work: UnitOfWork, table_id: int, project_id: int) -> Table:
    """Locks a table of the project. Another project's is not even waited for.

    Raises NotFoundError.
    """
    if work.tables.find(table_id, project_id=project_id) is not None:
        work.tables.lock(table_id, with_project=True)
        table = work.tables.find(table_id, project_id=project_id)
        if table is not None:
            return table
    raise NotFoundError("there is no such table")


def _name_fields(work: UnitOfWork, index: Index) -> None:
    """Has an index keep the fields that its tools name; those of deleted tools go with the next."""
    names = work.tools.fields_of_index(index.id)
    if len(names) > MAX_INDEX_FIELDS:
        raise FilterInvalidError(
            f"the tools of this index name over {MAX_INDEX_FIELDS} filterable fields together"
        )
    if tuple(names) != index.fields:
        work.indexes.name_fields(index.id, names)
