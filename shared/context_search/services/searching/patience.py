"""How long a search waits."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.ports.time import Clock, Deadline


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a search waits for each part, in seconds, and how long it takes as a whole.

    ``search_s`` is less than API Gateway's 30 and the function's 29, because a key is checked
    before and passages are put together after it. Of it ``rows_s`` is for reading the hits.
    """

    embed_s: float = 5.0
    permits_s: float = 2.0
    vectors_s: float = 6.0
    keywords_s: float = 3.0
    rows_s: float = 2.0
    search_s: float = 20.0

    def from_now(self, clock: Clock) -> Deadline:
        """Returns the deadline of a search that begins now."""
        return Deadline(clock, clock.monotonic() + self.search_s)

    def for_outside(self, deadline: Deadline, usual_s: float) -> float:
        """Returns how long a part other than Postgres may take: that one has its time in any case.

        0 when there is no time for it.
        """
        left_s = deadline.left_s() - self.keywords_s - self.rows_s
        return max(0.0, min(usual_s, left_s))

    def for_keywords(self, deadline: Deadline, *, are_all: bool) -> float:
        """Returns how long Postgres may look for keywords.

        Where they are all there is to answer with, a database that was not asked for long may read
        its index from disk: they have the time that is left, but for one more try of the usual
        length, as the index may be switched meanwhile.
        """
        left_s = deadline.left_s() - self.rows_s
        usual_s = min(self.keywords_s, left_s)
        alone_s = left_s - self.keywords_s - self.rows_s if are_all else 0.0
        return max(0.0, usual_s, alone_s)


USUAL = Patience()
