"""A ranking that waits for its further pages: places and scores, no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from context_search.domain.config import Strategy
from context_search.domain.model import HydratedChunk, Index
from context_search.domain.search import Answer, Degradation, Evidence, Found, Hit, LegName, Target

RANKING_AGE_S = 600.0
"""Seconds that a cursor is good for."""
KEPT_FORM = 3
"""Form of what is kept; a cursor of another form is refused."""


@dataclass(frozen=True, slots=True)
class Row:
    """One hit: the document of its chunk, and its scores. ``cosine`` is None without a vector."""

    doc_id: str
    score: float
    cosine: float | None
    bm25: float
    semantic: float
    recency: float

    @classmethod
    def of(cls, hit: Hit) -> Row:
        """Returns what is kept of a hit."""
        why = hit.evidence
        name, score = hit.chunk.turbopuffer_doc_id, hit.score
        if why is None:
            return cls(name, score, None, 0.0, 0.0, 0.0)
        return cls(name, score, why.raw_semantic, why.bm25, why.semantic, why.recency)

    def values(self) -> list[str | float | None]:
        """Returns the arguments of the constructor."""
        parts = [self.cosine, self.bm25, self.semantic, self.recency]
        return [self.doc_id, self.score, *parts]

    def hit(self, chunk: HydratedChunk, relevance: float) -> Hit:
        """Returns the hit with its chunk as it is now; ranks within the legs are not kept."""
        evidence = Evidence(
            None, None, None, None, self.semantic, self.bm25, self.recency, matched=()
        )
        return Hit(self.score, relevance, chunk.json_pointer, chunk, evidence)


@dataclass(frozen=True, slots=True)
class KeptRanking:
    """The hits of one question in one generation of an index, best first.

    ``question`` tells it from others; ``hidden`` hits had too low a score. ``rows`` are the values
    of a ``Row`` each, as JSON can hold them.
    """

    question: str
    index_id: int
    generation_id: int
    namespace: str
    mode_requested: Strategy
    legs: Sequence[LegName]
    degraded: Sequence[Degradation]
    truncated: bool
    hidden: int
    rows: Sequence[Sequence[Any]]

    def to_mapping(self) -> dict[str, object]:
        """Returns what ``from_mapping`` reads."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> KeptRanking:
        """Returns the ranking that ``to_mapping`` wrote."""
        return cls(**values)

    def page(self, first: int, size: int) -> list[Row]:
        """Returns some of the hits; there may be thousands, and a page needs few."""
        return [Row(*values) for values in self.rows[first : first + size]]

    def seen_through(self, index: Index) -> Index:
        """Returns the index through the generation of this ranking, whichever answers by now."""
        return replace(index, generation_id=self.generation_id, namespace=self.namespace)

    def answer(self, query: str, target: Target) -> Answer:
        """Returns the answer of this ranking, without hits."""
        return Answer(
            query=query,
            target=target,
            mode_requested=self.mode_requested,
            found=Found(legs=tuple(self.legs)),
            degraded=list(self.degraded),
            ranked=len(self.rows),
        )
