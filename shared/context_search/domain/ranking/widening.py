"""More candidates where those that were found are not live any more, or are few chunks.

What was deleted stays in turbopuffer until the next ``cleanup``. A deleted table, or an array that
lost most of its elements, could take all places of a leg, and live hits behind them none.
A large chunk has many windows, each of them a document: eight chunks could take all places, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from context_search.domain.model import HydratedChunk
from context_search.domain.search import Found, Question

FACTOR = 8
MAX_CANDIDATES = 10_000
"""turbopuffer's limit of a query."""


def widened(question: Question, asked: int, found: Found, live: Mapping[str, HydratedChunk]) -> int:
    """Returns how many candidates a leg should give: ``asked``, as it was asked for, or more.

    More when there are more, and either fewer chunks came than are wanted, or of a leg less than
    half is live that ``question`` wants.
    """
    is_short = len(live) < question.wanted or any(
        2 * len(leg.keys() & live.keys()) < min(len(leg), question.candidates)
        for leg in (found.vector, found.keyword)
    )
    if not (is_short and found.is_cut):
        return asked
    return max(asked, min(FACTOR * asked, MAX_CANDIDATES))
