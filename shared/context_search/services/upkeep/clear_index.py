"""Empties the index of a tool because an operator wants it; the next search builds it again."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.domain.access import Caller
from context_search.domain.errors import ConflictError, NotFoundError
from context_search.ports.store import Store
from context_search.services.access.lookup import index_of, live_tool
from context_search.services.indexing.status import summarise

NAMED_TOOLS = 20


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was given up: ``chunks`` answered until now, for all of ``tools``."""

    index_id: int
    namespace: str
    chunks: int
    tools: list[int]


@dataclass(frozen=True, slots=True)
class ClearIndex:
    """Evicts the index of a tool, however hot it is: it stays, empty, until somebody searches it.

    Rows and vectors follow in ``cleanup``, as those of every retired generation.
    """

    store: Store
    silent_s: float

    def __call__(self, tool_id: int, caller: Caller, *, shared: bool) -> Cleared:
        """``shared`` allows it also when other live tools need the same chunks.

        Doing it again changes nothing. Raises NotFoundError, and ConflictError that names the
        other tools.
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
            chunks = work.rebuilds.size(index).chunks
            if work.evictions.clear(index):
                summarise(work, index.id, silent_s=self.silent_s)
        return Cleared(index.id, index.namespace, chunks, tools)


def _refusal(others: list[int]) -> str:
    named = ", ".join(str(tool_id) for tool_id in others[:NAMED_TOOLS])
    more = ", …" if len(others) > NAMED_TOOLS else ""
    return f"other tools need these chunks too ({named}{more}); shared=true deletes them for all"
