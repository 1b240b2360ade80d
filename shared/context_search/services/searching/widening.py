"""More candidates where those that were found are not live any more, or are few chunks.

What was deleted stays in turbopuffer until the next ``cleanup``. A deleted table, or an array that
lost most of its elements, could take all places of a leg, and live hits behind them none.
A large chunk has many windows, each of them a document: eight chunks could take all places, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from context_search.domain.model import HydratedChunk
from context_search.domain.ranking.fusion import ranking
from context_search.services.searching.answer import Found, Question

FACTOR = 8
MAX_CANDIDATES = 10_000
"""turbopuffer's limit of a query."""

Chunks = Mapping[str, HydratedChunk]


def enough(question: Question, asked: int, found: Found, live: Chunks) -> int:
    """Returns how many candidates a leg should give: ``asked``, as it was asked for, or more.

    More when there are more, and either fewer chunks came than are shown, or of a leg less than
    half is live that ``question`` wants.
    """
    is_short = len(live) < question.shown or any(
        2 * len(leg.keys() & live.keys()) < min(len(leg), question.candidates)
        for leg in (found.vector, found.keyword)
    )
    if not (is_short and found.is_cut):
        return asked
    return max(asked, min(FACTOR * asked, MAX_CANDIDATES))


def best_live(
    found: Found, live: Chunks, candidates: int
) -> tuple[Found, dict[str, HydratedChunk]]:
    """Returns what is left when each leg gives only its best ``candidates`` that are live.

    Those that are not live stay in their legs, to be counted.
    """
    vector, keyword = (_cut(leg, live, candidates) for leg in (found.vector, found.keyword))
    left = replace(found, vector=vector, keyword=keyword)
    return left, {name: live[name] for name in left.ids if name in live}


def _cut(leg: Mapping[str, float], live: Chunks, candidates: int) -> dict[str, float]:
    alive = [name for name in ranking(leg) if name in live]
    too_many = set(alive[candidates:])
    return {name: score for name, score in leg.items() if name not in too_many}
