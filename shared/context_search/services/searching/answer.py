"""What a search found, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from context_search.domain.config import SearchConfig, Strategy
from context_search.domain.model import HydratedChunk, Index, Reach
from context_search.domain.progress import IndexStatus
from context_search.services.catalog.hints import Hint

LegName = Literal["vector", "keyword"]
Degradation = Literal[
    "embed_timeout",
    "embed_unavailable",
    "backend_unavailable",
    "backend_busy",
    "namespace_missing",
    "keywords_unavailable",
    "partial_index",
    "index_evicted",
]


@dataclass(frozen=True, slots=True)
class Target:
    """What is searched: an index as far as ``reach`` goes, ranked as ``search`` says."""

    index: Index
    reach: Reach
    search: SearchConfig
    status: IndexStatus


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the text, its ``words`` (our tokens, with what each counts), and how many
    candidates a leg gives.

    Recency counts up to ``asked_at``. ``shown`` is how many passages the caller shows.
    """

    text: str
    words: Mapping[str, float]
    strategy: Strategy
    candidates: int
    asked_at: datetime
    shown: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates: scores by document id for each leg, empty where it did not run.

    ``keywords_from`` names who ranked the keywords. ``errors`` are the codes of what failed,
    ``seconds`` how long each stage took, ``vector_was_kept`` says that the question was embedded
    before, ``is_cut`` that a leg of turbopuffer may have more candidates.
    """

    vector: Mapping[str, float] = field(default_factory=dict)
    keyword: Mapping[str, float] = field(default_factory=dict)
    legs: Sequence[LegName] = ()
    keywords_from: Literal["turbopuffer", "postgres"] | None = None
    degraded: Sequence[Degradation] = ()
    errors: Sequence[str] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    vector_was_kept: bool = False
    is_cut: bool = False

    @property
    def ids(self) -> list[str]:
        """All candidates, each once."""
        return list({**self.vector, **self.keyword})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a hit is where it is.

    Ranks count from 1 within their leg, and ``raw_…`` are the leg's own scores (cosine
    similarity, BM25); None where the leg did not find it. ``semantic``, ``bm25`` and ``recency``
    are 0..1, as the fusion weighed them. ``matched`` are the words of the question in the text.
    """

    vector_rank: int | None
    keyword_rank: int | None
    raw_semantic: float | None
    raw_bm25: float | None
    semantic: float
    bm25: float
    recency: float
    matched: Sequence[str]


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage. ``score`` orders its answer; ``relevance`` (0..1) means the same everywhere."""

    score: float
    relevance: float
    json_path: str
    chunk: HydratedChunk
    evidence: Evidence | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits, best first, and how they were found.

    ``gone`` counts candidates that were dropped because their chunk is not live any more,
    ``ranked`` all that were ranked before ``hits`` was cut. ``target_was_kept`` says that what is
    searched was known from before, ``hint`` why there is no hit.
    """

    query: str
    hits: Sequence[Hit]
    mode_requested: Strategy
    mode_used: Strategy
    found: Found
    degraded: Sequence[Degradation]
    index_status: IndexStatus
    gone: int = 0
    ranked: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    search: SearchConfig = field(default_factory=SearchConfig)
    target_was_kept: bool = False
    hint: Hint | None = None


def hint_of(answer: Answer, *, hidden: int = 0) -> Hint:
    """Returns why an answer shows nothing; ``hidden`` hits were not good enough."""
    if answer.index_status == "evicted":
        return "index_evicted"
    if hidden:
        return "low_scores_hidden"
    return "no_match" if answer.index_status in ("ready", "rebuilding") else "index_incomplete"
