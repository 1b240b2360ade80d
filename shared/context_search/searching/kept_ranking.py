"""The ranking of a project search, kept for its further pages.

It has thousands of hits, of which a page shows 50: so they are in columns that cost little to write
and less to read, not a list of values each.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from context_search.core.config import Strategy
from context_search.core.model import Generation, HydratedChunk, Index
from context_search.ranking.search import (
    Degradation,
    Evidence,
    FurtherHit,
    Hit,
    LegName,
    LegResults,
    SearchResult,
    Target,
)

RANKING_AGE_S = 600.0
"""Seconds for which a cursor is valid."""
KEPT_FORM = 5
"""Version of the form of kept rankings. A cursor of another form is refused."""


@dataclass(frozen=True, slots=True)
class Row:
    """One hit: the document of its chunk, and its scores. ``cosine`` is None without a vector.

    ``copies`` are the documents of those of its duplicates whose places are told, ``copies_total``
    counts all.
    """

    doc_id: str
    score: float
    cosine: float | None
    bm25: float
    semantic: float
    recency: float
    copies: Sequence[str] = ()
    copies_total: int = 0

    @classmethod
    def of(cls, hit: Hit) -> Row:
        """Returns what is kept of a hit."""
        why, copies = hit.evidence, [copy.turbopuffer_doc_id for copy in hit.duplicates]
        name, score = hit.chunk.turbopuffer_doc_id, hit.score
        if why is None:
            return cls(name, score, None, 0.0, 0.0, 0.0, copies, hit.duplicates_total)
        legs = (why.raw_semantic, why.bm25, why.semantic, why.recency)
        return cls(name, score, *legs, copies=copies, copies_total=hit.duplicates_total)

    @property
    def further(self) -> FurtherHit:
        """Returns the hit without its copies."""
        legs = (self.cosine, self.bm25, self.semantic, self.recency)
        return FurtherHit(self.doc_id, self.score, *legs)

    def living(self, chunks: Mapping[str, HydratedChunk]) -> list[HydratedChunk]:
        """Returns those of the hit and its duplicates that are there, in this order."""
        return [chunks[name] for name in (self.doc_id, *self.copies) if name in chunks]

    def hit(self, living: Sequence[HydratedChunk], relevance: float) -> Hit:
        """Returns the hit with its chunk as it is now; ranks within the legs are not kept.

        The first that is ``living`` stands for those that are gone.
        """
        evidence = Evidence(
            None, None, None, None, self.semantic, self.bm25, self.recency, matched=()
        )
        chunk, *copies = living
        gone = 1 + len(self.copies) - len(living)
        total = self.copies_total - gone
        return Hit(self.score, relevance, chunk.json_pointer, chunk, evidence, copies, total)


_NUMBERS = 5  # of a row


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows as JSON can hold them.

    ``doc_ids`` have a space between them. ``numbers`` is base64 of doubles, little-endian: all
    scores, then cosines (NaN for None), BM25, semantic and recency. ``copies`` are the documents
    of those rows that have any and their number, by the place of the row.
    """

    count: int = 0
    doc_ids: str = ""
    numbers: str = ""
    copies: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, shown: Sequence[Row], further: Sequence[FurtherHit]) -> Columns:
        """Returns the columns of rows, and of hits behind them."""
        rows = [*(row.further for row in shown), *further]
        if not rows:
            return cls()
        doc_ids, scores, cosines, *others = zip(*rows, strict=True)
        reported = [math.nan if cosine is None else cosine for cosine in cosines]
        numbers = struct.pack(f"<{_NUMBERS * len(rows)}d", *chain(scores, reported, *others))
        copies = {
            str(at): [list(row.copies), row.copies_total]
            for at, row in enumerate(shown)
            if row.copies
        }
        return cls(len(rows), " ".join(doc_ids), base64.b64encode(numbers).decode(), copies)

    def page(self, first: int, size: int) -> list[Row]:
        """Returns at most ``size`` of the rows."""
        doc_ids = self.doc_ids.split(" ")[first : first + size] if self.count > first else []
        raw, number = base64.b64decode(self.numbers), struct.Struct(f"<{len(doc_ids)}d")
        starts = (number_at * self.count + first for number_at in range(_NUMBERS))
        columns = [number.unpack_from(raw, 8 * start) for start in starts] if doc_ids else []
        return [
            Row(doc_id, score, None if math.isnan(cosine) else cosine, *others, *self._copies(at))
            for at, (doc_id, score, cosine, *others) in enumerate(
                zip(doc_ids, *columns, strict=True), start=first
            )
        ]

    def _copies(self, at: int) -> Sequence[Any]:
        return self.copies.get(str(at), ())


@dataclass(frozen=True, slots=True)
class KeptRanking:
    """The hits of one question in one generation of an index, best first.

    ``question`` tells it from others; ``hidden`` hits had too low a score. ``middle`` and ``width``
    say what the cosines mean.
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
    middle: float
    width: float
    rows: Columns

    def to_mapping(self) -> dict[str, object]:
        """Returns what ``from_mapping`` reads."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> KeptRanking:
        """Returns the ranking that ``to_mapping`` wrote."""
        return cls(**{**values, "rows": Columns(**values["rows"])})

    def seen_through(self, index: Index) -> Index:
        """Returns the index through the generation of this ranking, active or not."""
        return replace(index, generation=Generation(self.generation_id, self.namespace))

    def answer(self, query: str, target: Target) -> SearchResult:
        """Returns the answer of this ranking, without hits."""
        return SearchResult(
            query=query,
            target=target,
            mode_requested=self.mode_requested,
            found=LegResults(legs=tuple(self.legs)),
            degraded=list(self.degraded),
            ranked=self.rows.count,
        )
