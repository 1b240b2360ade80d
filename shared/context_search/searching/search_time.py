"""The time of one search: when it ends, what each part may take of it, and what it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from context_search.integrations.ports import Clock, Deadline
from context_search.searching.rules.timeouts import Timeouts


@dataclass(slots=True)
class SearchTime:
    """Shares out the time until ``deadline``, and sums by stage how long it took in ``seconds``."""

    clock: Clock
    deadline: Deadline
    timeouts: Timeouts
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times one stage; one that raises counts too."""
        began = self.clock.monotonic()
        try:
            yield
        finally:
            spent = self.clock.monotonic() - began
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def for_outside(self, usual_s: float) -> float:
        """Returns how long a part other than Postgres may take; Postgres keeps its own share.

        0: no time left.
        """
        left_s = self.deadline.left_s() - self.timeouts.keywords_s - self.timeouts.rows_s
        return max(0.0, min(usual_s, left_s))

    def for_rerank(self) -> float:
        """Returns how long a reranking model may take; nothing is read after it. 0: no time."""
        return min(self.timeouts.rerank_s, self.deadline.left_s())

    def for_keywords(self, *, are_all: bool) -> float:
        """Returns how long Postgres may search for keywords.

        If keywords are the only leg: all remaining time, less one ordinary attempt, in case the
        index is switched. A database that was idle for long may have to read its index from disk.
        """
        left_s = self.deadline.left_s() - self.timeouts.rows_s
        usual_s = min(self.timeouts.keywords_s, left_s)
        more_s = left_s - self.timeouts.keywords_s - self.timeouts.rows_s if are_all else 0.0
        return max(0.0, usual_s, more_s)
