"""A ranking that waits for its further pages: places and scores, no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from context_search.domain.config import Strategy
from context_search.domain.model import HydratedChunk, Index
from context_search.services.searching.answer import Answer, Degradation, Evidence, Found, Hit

RANKING_AGE_S = 600.0
"""For so long a cursor is good."""


@dataclass(frozen=True, slots=True)
class Row:
    """One hit: the document of its chunk, and its scores."""

    doc_id: str
    score: float
    relevance: float
    bm25: float
    semantic: float
    recency: float

    @classmethod
    def of(cls, hit: Hit) -> Row:
        """Returns what is kept of a hit."""
        why = hit.evidence
        parts = (why.bm25, why.semantic, why.recency) if why else (0.0, 0.0, 0.0)
        return cls(hit.chunk.turbopuffer_doc_id, hit.score, hit.relevance, *parts)

    def hit(self, chunk: HydratedChunk) -> Hit:
        """Returns the hit with its chunk as it is now; ranks within the legs are not kept."""
        evidence = Evidence(
            None, None, None, None, self.semantic, self.bm25, self.recency, matched=()
        )
        return Hit(self.score, self.relevance, chunk.json_pointer, chunk, evidence)


@dataclass(frozen=True, slots=True)
class KeptRanking:
    """The hits of one question in one generation of an index, best first.

    ``question`` tells it from others; ``hidden`` hits had too low a score.
    """

    question: str
    index_id: int
    generation_id: int
    namespace: str
    mode_requested: Strategy
    mode_used: Strategy
    legs: Sequence[Any]
    degraded: Sequence[Degradation]
    truncated: bool
    hidden: int
    rows: Sequence[Row]

    def to_mapping(self) -> dict[str, object]:
        """Returns what ``from_mapping`` reads."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> KeptRanking:
        """Returns the ranking that ``to_mapping`` wrote."""
        return cls(**{**values, "rows": [Row(**row) for row in values["rows"]]})

    def seen_through(self, index: Index) -> Index:
        """Returns the index through the generation of this ranking, whichever answers by now."""
        return replace(index, generation_id=self.generation_id, namespace=self.namespace)

    def answer(self, query: str) -> Answer:
        """Returns the answer of this ranking, without hits."""
        return Answer(
            query=query,
            hits=[],
            mode_requested=self.mode_requested,
            mode_used=self.mode_used,
            found=Found(legs=tuple(self.legs)),
            degraded=list(self.degraded),
            index_status="ready",
            ranked=len(self.rows),
        )
