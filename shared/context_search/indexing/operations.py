"""What owners and operators do to an index by hand: empty it, retry what failed."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.access.lookup import (
    index_of,
    live_table,
    live_tool,
    opened_for,
    project_index,
)
from context_search.core.callers import Caller, Principal
from context_search.core.errors import ConflictError, InvalidInputError, NotFoundError
from context_search.core.json_pointer import split
from context_search.indexing.completion import summarise
from context_search.indexing.outbox_delivery import node_messages
from context_search.indexing.rules.nodes import NodeSelection
from context_search.store import Store, UnitOfWork

NAMED_TOOLS = 20
RETRIED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was given up: ``chunks`` answered until now, for all of ``tools``."""

    index_id: int
    namespace: str
    chunks: int
    tools: list[int]


@dataclass(frozen=True, slots=True)
class Retried:
    """How many quarantined nodes were queued again, and how many are ``left`` in quarantine."""

    nodes: int
    left: int


@dataclass(frozen=True, slots=True)
class IndexOperations:
    """Work on an index that its owner or an operator asks for."""

    store: Store
    silent_s: float

    def clear(self, tool_id: int, caller: Caller, *, shared: bool) -> Cleared:
        """Evicts the index of a tool, however hot it is.

        It stays, empty, until somebody searches it. Rows and vectors follow in ``cleanup``, as
        those of every retired generation.
        ``shared`` allows it also when other live tools need the same chunks. Doing it again changes
        nothing. Raises NotFoundError, and ConflictError that names the other tools.
        """
        with self.store.for_all("clear an index") as work:
            index = index_of(work, live_tool(work, tool_id, caller))
            if not work.indexes.lock(index):
                raise NotFoundError("there is no such tool")
            index = index_of(work, live_tool(work, tool_id, caller))
            tools = [tool.id for tool in work.tools.of_index(index.id)]
            others = [each for each in tools if each != tool_id]
            if others and not shared:
                raise ConflictError(_refusal(others))
            chunks = work.indexes.chunk_count(index)
            if work.indexes.clear(index):
                summarise(work, index.id, silent_s=self.silent_s)
        return Cleared(index.id, index.generation.namespace, chunks, tools)

    def retry(self, tool_id: int, caller: Caller, json_pointer: str | None) -> Retried:
        """Lets quarantined strings of a tool be tried again: one, or 1,000 of all in its scope.

        Those of a generation that is being built, too. Doing it again changes nothing. Raises
        InvalidPointerError and NotFoundError.
        """
        split(json_pointer or "")
        with opened_for(self.store, caller) as work:
            tool = live_tool(work, tool_id, caller)
            live = [index.generation.id for index in work.indexes.live(tool.index_id)]
            return _retried(work, NodeSelection(live, tool.scope.json_pointer, json_pointer))

    def retry_of_project(
        self, principal: Principal, table_id: int | None, json_pointer: str | None
    ) -> Retried:
        """Does what ``retry`` does for the index of a project: all of it, a table, or one string.

        Raises ProjectIndexOffError, too, and InvalidInputError for a pointer without a table.
        """
        split(json_pointer or "")
        if json_pointer is not None and table_id is None:
            raise InvalidInputError("json_pointer is of a table: table_id has to say of which")
        with self.store.for_project(principal.project_id) as work:
            if table_id is not None:
                live_table(work, principal, table_id)
            index = project_index(work, principal)
            live = [each.generation.id for each in work.indexes.live(index.id)]
            return _retried(work, NodeSelection(live, "", json_pointer, table_id))


def _retried(work: UnitOfWork, among: NodeSelection) -> Retried:
    nodes = work.nodes.requeue_quarantined(limit=RETRIED_AT_ONCE, among=among)
    work.send(*node_messages(work, nodes))
    return Retried(len(nodes), work.nodes.count_quarantined(among))


def _refusal(others: list[int]) -> str:
    named = ", ".join(str(tool_id) for tool_id in others[:NAMED_TOOLS])
    more = ", …" if len(others) > NAMED_TOOLS else ""
    return f"other tools need these chunks too ({named}{more}); shared=true deletes them for all"
