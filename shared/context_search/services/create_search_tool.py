"""Creates a Search Tool: finds the big strings in its scope and orders their indexing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from context_search.domain.config import IndexConfig, SearchConfig
from context_search.domain.errors import DatabaseUnavailableError, NotFoundError
from context_search.domain.json_pointer import split
from context_search.domain.model import Index, Scope
from context_search.ports.queue import Message
from context_search.ports.store import Store, UnitOfWork
from context_search.services.enumeration import Limits, enumerate_index, has_few_strings
from context_search.services.evict import note_use
from context_search.services.outgoing import FEW_NODES, Deliver, enumerate_message, node_orders
from context_search.services.status import ToolStatus, live_tool, tool_status, write_summaries

INLINE_DOCUMENT_BYTES = 5_000_000


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

    Documents over 5 MB, or with over 500 strings in scope, are enumerated by the queue too.
    Tools with equal configurations share an index, so the same create again makes a second tool
    and indexes nothing again.
    """

    store: Store
    deliver: Deliver
    limits: Limits
    silent_s: float

    def __call__(self, wanted: NewSearchTool) -> ToolStatus:
        """Raises InvalidPointerError, and NotFoundError for a missing or foreign table."""
        split(wanted.scope.json_pointer)
        with self.store.transaction(wanted.project_id) as work:
            document_bytes = work.tables.lock(wanted.scope.table_id)
            table = work.tables.find(wanted.scope.table_id, project_id=wanted.project_id)
            if table is None or document_bytes is None:
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
            work.indexes.cover(index.id, tool_id=tool_id, scope=wanted.scope.json_pointer)
            messages = self._orders(work, index, table.id, document_bytes)
            outbox_ids = work.outbox.add(messages)
            tool = live_tool(work, tool_id, None)
            status = tool_status(work, tool, silent_s=self.silent_s)
        self.deliver(outbox_ids, messages)
        with suppress(DatabaseUnavailableError):  # the tool is there; cleanup writes them too
            write_summaries(self.store, index.id, silent_s=self.silent_s)
        return status

    def _orders(
        self, work: UnitOfWork, index: Index, table_id: int, document_bytes: int
    ) -> list[Message]:
        is_small = document_bytes <= INLINE_DOCUMENT_BYTES
        if not (is_small and has_few_strings(work, index, table_id, FEW_NODES)):
            return [enumerate_message(index.id)]
        return node_orders(enumerate_index(work, index, table_id, self.limits), index.config)
