"""What a search looks through: one tool's scope or a whole project, and the index behind it."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Protocol

from cachetools import TTLCache

from context_search.core.callers import Caller, Internal, Principal
from context_search.core.config import RankingChange, SearchConfig
from context_search.core.errors import NotFoundError, ProjectIndexOffError
from context_search.core.model import Reach
from context_search.integrations.ports import Clock, Deadline
from context_search.ranking.search import QuestionLimits, SearchResult, Target
from context_search.store import Store, UnitOfWork

KEPT_TARGETS = 500
KEPT_S = 30.0


@dataclass(frozen=True, slots=True)
class SearchedTool:
    """The scope of a tool, ranked as the tool is configured, or as it would be with ``draft``.

    ``project_id`` is the caller's project; None is a trusted internal caller.
    """

    tool_id: int
    project_id: int | None
    draft: RankingChange | None = None

    @classmethod
    def by(cls, caller: Caller, tool_id: int, draft: RankingChange | None = None) -> SearchedTool:
        """Returns the tool as a caller sees it."""
        return cls(tool_id, None if isinstance(caller, Internal) else caller.project_id, draft)

    @property
    def id(self) -> int:
        """Returns the id that stands in logs."""
        return self.tool_id


@dataclass(frozen=True, slots=True)
class SearchedProject:
    """Every string of every table of a project, as far as ``reach`` goes.

    The default ``search`` has the fusion that measures best.
    """

    project_id: int
    reach: Reach = field(default_factory=Reach)
    search: SearchConfig = field(default_factory=SearchConfig)

    @classmethod
    def by(cls, caller: Principal, project_id: int) -> SearchedProject:
        """Returns the project as its owner sees it. Raises NotFoundError for anybody else."""
        check_owner(caller, project_id)
        return cls(project_id)

    @property
    def id(self) -> int:
        """Returns the id that stands in logs."""
        return self.project_id


Searched = SearchedTool | SearchedProject


class Searches(Protocol):
    """Who answers a question: a ``Searcher``, or one that leaves a trace of it."""

    def search(self, searched: Searched, query: str, limits: QuestionLimits) -> SearchResult:
        """Returns the best hits."""
        ...


def check_owner(caller: Principal, project_id: int) -> None:
    """Raises NotFoundError when a project is not the caller's; missing ones look the same."""
    if caller.project_id != project_id:
        raise NotFoundError("there is no such project")


def opened_for(
    store: Store, searched: Searched, deadline: Deadline | None = None
) -> AbstractContextManager[UnitOfWork]:
    """Opens a transaction that sees what the caller of a search may see."""
    if searched.project_id is None:
        return store.for_all("search for an internal caller", deadline)
    return store.for_project(searched.project_id, deadline)


def read_target(work: UnitOfWork, searched: Searched, *, silent_s: float) -> Target:
    """Returns the index that answers now. A foreign tool looks like a missing one.

    Raises NotFoundError and ProjectIndexOffError, and InvalidInputError for a draft of no weights.
    """
    if isinstance(searched, SearchedTool):
        found = work.tools.find_with_index(searched.tool_id, project_id=searched.project_id)
        if found is None:
            raise NotFoundError("there is no such tool")
        tool, index = found
        search = tool.search if searched.draft is None else searched.draft.applied_to(tool.search)
        reach = Reach(
            tool.scope.json_pointer, filter=search.where, only_current=search.where is not None
        )
    else:
        of_project = work.indexes.of_project(searched.project_id)
        if of_project is None:
            raise ProjectIndexOffError("the search index of the project has to be made first")
        index, reach = of_project, searched.reach
        search = replace(searched.search, filterable=index.fields)
    state = work.node_counts.state(index, reach.json_pointer, silent_s=silent_s)
    return Target(index, reach, search, state.status, state.not_searched)


@dataclass
class Targets:
    """What was searched lately: spares reading it once more. Every answer is checked against it."""

    clock: Clock
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _kept: TTLCache[Searched, Target] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._kept = TTLCache(KEPT_TARGETS, KEPT_S, timer=self.clock.monotonic)

    def get(self, searched: Searched) -> Target | None:
        """Returns the target that was kept."""
        with self._lock:
            return self._kept.get(searched)

    def keep(self, searched: Searched, target: Target) -> None:
        """Keeps a target as it is now."""
        with self._lock:
            self._kept.pop(searched, None)  # otherwise it would stay as old as it is
            self._kept[searched] = target

    def drop(self, searched: Searched) -> None:
        """Forgets a target."""
        with self._lock:
            self._kept.pop(searched, None)
