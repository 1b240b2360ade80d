"""Retrieval from everything that a project holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from context_search.domain.config import SearchConfig
from context_search.domain.model import Principal, Reach
from context_search.ports.store import Store, UnitOfWork
from context_search.ports.tokens import TokenCounter
from context_search.services.indexing.status import project_index
from context_search.services.searching.answer import Answer, Target, hint_of
from context_search.services.searching.retrieval_settings import check_owner
from context_search.services.searching.retrieve import (
    CANDIDATES,
    Retrieval,
    Search,
    Wishes,
    retrieve,
)
from context_search.services.searching.run_search import RunSearch


@dataclass(frozen=True, slots=True)
class SearchForProject:
    """One search in the index of a project, with the fusion that measures best."""

    run: RunSearch
    silent_s: float

    def __call__(
        self, project_id: int, principal: Principal | None, query: str, top_k: int | None
    ) -> Answer:
        """``principal`` None is a trusted internal caller; ``top_k`` None gives every hit.

        Raises ProjectIndexOffError, and what RunSearch raises.
        """

        def open_index(work: UnitOfWork) -> Target:
            index = project_index(work, principal or Principal(project_id))
            status = work.node_counts.status(index, stalled_s=self.silent_s)
            return Target(index, Reach(""), SearchConfig(), status)

        answer = self.run(("project-passages", project_id), open_index, query)
        hint = None if answer.hits else hint_of(answer)
        return replace(answer, hits=answer.hits[:top_k], hint=hint)


@dataclass(frozen=True, slots=True)
class RetrieveFromProject:
    """Retrieval from every string of every table of a project, with the project's settings."""

    store: Store
    search: Search
    counter: TokenCounter

    def __call__(
        self, project_id: int, principal: Principal, query: str, wishes: Wishes
    ) -> Retrieval:
        """Raises NotFoundError for a foreign project, and what the search raises."""
        check_owner(principal, project_id)
        with self.store.transaction(project_id) as work:
            stored = work.retrieval_settings.read(project_id)
        answer = self.search(project_id, principal, query, CANDIDATES)
        wished = wishes.applied_to(stored.settings)
        return retrieve(self.store, project_id, self.counter, answer, wished)
