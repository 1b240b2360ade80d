"""Answers a question of an agent from the index of one Search Tool."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from context_search.domain.errors import ContextSearchError
from context_search.domain.model import Principal, Reach
from context_search.ports.store import UnitOfWork
from context_search.services.catalog.hints import Hint, empty_scope
from context_search.services.indexing.status import live_tool_with_index
from context_search.services.searching.answer import Answer, Target, hint_of
from context_search.services.searching.run_search import RunSearch

MOST_SHOWN = 20
"""Who takes more, as retrieve does to choose from, takes what one question to the legs brings."""


@dataclass(frozen=True, slots=True)
class SearchWithTool:
    """One search in the scope of a tool, ranked as the tool is configured."""

    run: RunSearch
    silent_s: float

    def __call__(
        self, tool_id: int, principal: Principal | None, query: str, top_k: int | None
    ) -> Answer:
        """``principal`` None is a trusted internal caller; ``top_k`` None takes the tool's own.

        Raises what RunSearch raises; a deleted or foreign tool is NotFoundError.
        """
        answer = self.ranked(tool_id, principal, query, top_k)
        return replace(answer, hits=answer.hits[: top_k or answer.search.top_k])

    def ranked(
        self, tool_id: int, principal: Principal | None, query: str, top_k: int | None = None
    ) -> Answer:
        """The same with every hit that was ranked."""

        def open_tool(work: UnitOfWork) -> Target:
            tool, index = live_tool_with_index(work, tool_id, principal)
            status = work.node_counts.status(index, stalled_s=self.silent_s)
            return Target(index, Reach(tool.scope.json_pointer), tool.search, status)

        caller = None if principal is None else principal.project_id
        shown = None if top_k is None else min(top_k, MOST_SHOWN)
        answer = self.run(("tool", tool_id, caller), open_tool, query, shown=shown)
        return answer if answer.hits else replace(answer, hint=self._hint(answer, tool_id, caller))

    def _hint(self, answer: Answer, tool_id: int, project_id: int | None) -> Hint | None:
        hint = hint_of(answer)
        if hint != "no_match":
            return hint
        empty = None
        # The question is answered; that nobody says why there is nothing does not fail it.
        with suppress(ContextSearchError), self.run.store.transaction(project_id) as work:
            found = work.tools.find_with_index(tool_id, project_id=project_id)
            empty = found and empty_scope(work, *found, measured=False)
        return empty.hint if empty else hint
