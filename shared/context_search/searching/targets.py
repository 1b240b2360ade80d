"""What a search looks through: one tool's scope or a whole project, and the index behind it."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from cachetools import TTLCache

from context_search.core.errors import NotFoundError, ProjectIndexOffError
from context_search.integrations.ports import Clock, Deadline
from context_search.ranking.search import QuestionLimits, SearchResult, Target
from context_search.searching.rules.searched import Searched, SearchedTool
from context_search.store import Store, UnitOfWork

KEPT_TARGETS = 500
KEPT_S = 30.0


class Searches(Protocol):
    """Who answers a question: a ``Searcher``, or one that leaves a trace of it."""

    def search(self, searched: Searched, query: str, limits: QuestionLimits) -> SearchResult:
        """Returns the best hits."""
        ...


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
    target = work.live_chunks.read_target(searched, work.node_counts, silent_s=silent_s)
    return there(searched, target)


def there(searched: Searched, target: Target | None) -> Target:
    """Returns the target. Raises NotFoundError or ProjectIndexOffError where there is none."""
    if target is not None:
        return target
    if isinstance(searched, SearchedTool):
        raise NotFoundError("there is no such tool")
    raise ProjectIndexOffError("the search index of the project has to be made first")


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
