"""Creates a Search Tool: finds the big strings in its scope and orders their indexing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from context_search.domain.access import Internal
from context_search.domain.config import IndexConfig, SearchConfig
from context_search.domain.errors import (
    ContextSearchError,
    DatabaseUnavailableError,
    NotFoundError,
)
from context_search.domain.json_pointer import split
from context_search.domain.model import Scope
from context_search.domain.orders import CompareIndex
from context_search.ports.store import Store
from context_search.services.access.lookup import live_tool
from context_search.services.indexing.enumeration import Document, Limits, compare, read_ahead
from context_search.services.indexing.status import ToolStatus, tool_status, write_summaries
from context_search.services.indexing.use_index import note_use

INLINE_DOCUMENT_BYTES = 5_000_000
FEW_STRINGS = 500


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
class CreateSearchTool:
    """Answers once the strings are found; chunking and embedding go on through the queue.

    The tool is there when its row is; to find the strings is an order in the outbox, carried out
    in the request. The queue does it for documents over 5 MB or with over 500 strings in scope,
    and when the request fails at it. Tools with equal configurations share an index, so the same
    create again makes a second tool, reads no document and indexes nothing again.
    """

    store: Store
    limits: Limits
    silent_s: float

    def __call__(self, wanted: NewSearchTool) -> ToolStatus:
        """Raises InvalidPointerError, and NotFoundError for a missing or foreign table."""
        split(wanted.scope.json_pointer)
        status, is_done = self._add(wanted)
        if not is_done:
            status = self._compared(status)
        with suppress(DatabaseUnavailableError):  # the tool is there; cleanup writes them too
            write_summaries(
                self.store, status.index.id, silent_s=self.silent_s, tool_id=status.tool.id
            )
        return status

    def _add(self, wanted: NewSearchTool) -> tuple[ToolStatus, bool]:
        """Returns the tool, and whether its index needs no comparison; else that is ordered."""
        with self.store.for_project(wanted.project_id) as work:
            work.tables.lock(wanted.scope.table_id, with_project=True)
            table = work.tables.find(wanted.scope.table_id, project_id=wanted.project_id)
            if table is None:
                raise NotFoundError("there is no such table")
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
            is_done = work.comparisons.follows(index.id, table.id)
            if not is_done:  # it does not leave: the request carries it out
                work.outbox.add([CompareIndex(index.id, table.id).to_json()])
            tool = live_tool(work, tool_id, Internal())
            return tool_status(work, tool, silent_s=self.silent_s), is_done

    def _compared(self, status: ToolStatus) -> ToolStatus:
        """Has the order carried out, here or by the queue; the status says how far it is."""
        index = status.index
        with suppress(ContextSearchError):  # the tool is there, and its order waits
            if self._is_small(status):
                ahead = read_ahead(self.store, index.id)
                if ahead is None or _has_few_strings(ahead, index.config):
                    return self._compare(status, ahead)
        project_id = status.tool.project_id
        with suppress(ContextSearchError), self.store.for_project(project_id) as work:
            work.send_waiting(project_id)
        return status

    def _is_small(self, status: ToolStatus) -> bool:
        with self.store.for_project(status.tool.project_id) as work:
            return work.tables.size(status.tool.scope.table_id) <= INLINE_DOCUMENT_BYTES

    def _compare(self, status: ToolStatus, ahead: Document | None) -> ToolStatus:
        table_id = status.tool.scope.table_id
        with self.store.for_project(status.tool.project_id) as work:
            work.send(*compare(work, status.index, table_id, self.limits, ahead))
            return tool_status(work, status.tool, silent_s=self.silent_s)


def _has_few_strings(document: Document, config: IndexConfig) -> bool:
    found = document.strings(document.scopes, config)
    return next(islice(found, FEW_STRINGS, None), None) is None
