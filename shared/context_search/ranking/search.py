"""A search in nouns: what is searched, what is asked, what was found and what is answered."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple

from context_search.core.config import SearchConfig, Strategy, Weights
from context_search.core.errors import FilterInvalidError
from context_search.core.filters import Filter, both, names_of
from context_search.core.model import HydratedChunk, Index, Reach
from context_search.core.progress import IndexStatus
from context_search.ranking.relevance import weights_of

LegName = Literal["vector", "keyword"]
Degradation = Literal[
    "embed_timeout",
    "embed_unavailable",
    "backend_timeout",
    "backend_unavailable",
    "backend_busy",
    "namespace_missing",
    "keywords_unavailable",
    "partial_keywords",
    "query_cut",
    "rerank_timeout",
    "rerank_unavailable",
    "rerank_limit",
    "partial_index",
    "index_evicted",
    "filter_incomplete",
]
EmptyHint = Literal["scope_missing", "no_long_strings", "nothing_indexed"]
Hint = Literal["index_evicted", "index_incomplete", "low_scores_hidden", "no_match", EmptyHint]

CANDIDATES_PER_LEG = 50
"""Number of candidates that a leg gives, unless the question says otherwise."""
MAX_PLACES = 10
"""Maximum number of duplicates of a hit whose places are told; all of them are counted."""


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """Limits of one question: number of hits, candidates, score, tokens, seconds.

    None: the tool's or project's setting. ``top_k``: hits to return; with ``is_whole``, all ranked
    hits. ``wanted``: chunks that the legs have to bring, if there are so many; None: ``top_k``.
    ``candidates``: for each leg, at most 10,000. ``min_score`` (0..1): least relevance of a hit in
    a retrieval, least score in a project search. ``max_tokens``: length of a retrieval.
    ``collapse``: near-duplicates are shown once (with ``is_whole``, by the caller), and ``wanted``
    counts different texts. ``filter``: what the fields of each hit's string have to be.
    ``seconds``: time of the whole search. It is less than API Gateway's 30 and the function's 29,
    because a key is checked before the search and passages are built after it.
    """

    top_k: int | None = None
    is_whole: bool = False
    wanted: int | None = None
    candidates: int = CANDIDATES_PER_LEG
    min_score: float | None = None
    max_tokens: int | None = None
    collapse: bool = False
    filter: Filter | None = None
    seconds: float = 20.0

    def shown(self, search: SearchConfig) -> int:
        """Returns how many hits of a target with these settings are shown."""
        return search.top_k if self.top_k is None else self.top_k


@dataclass(frozen=True, slots=True)
class Target:
    """What is searched: an index as far as ``reach`` goes, ranked as ``search`` says.

    ``not_searched``: strings of the scope that the index does not have, see ``IndexState``.
    """

    index: Index
    reach: Reach
    search: SearchConfig
    status: IndexStatus
    not_searched: int | None = None
    used: Weights | None = None

    @property
    def weights(self) -> Weights:
        """What the legs count; of those that did not run, 0, once that is known (``used``)."""
        return self.used or weights_of(self.search, self.index)

    @property
    def asked(self) -> tuple[int, Reach, Strategy]:
        """Returns what the legs are asked with. If it differs, the candidates differ."""
        return self.index.generation.id, self.reach, self.search.strategy

    def narrowed(self, wanted: Filter | None) -> Target:
        """Returns the target as far as a caller's filter lets through, too.

        Raises FilterInvalidError when that names a field that callers may not filter by.
        """
        if not names_of(wanted) <= set(self.search.filterable):
            raise FilterInvalidError("the filter names a field that is not filterable here")
        return replace(self, reach=replace(self.reach, filter=both(self.reach.filter, wanted)))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the text, its ``words`` (our tokens, with what each counts), and how many
    candidates a leg gives.

    Recency counts up to ``asked_at``. ``wanted`` is how many chunks the caller needs.
    """

    text: str
    words: Mapping[str, float]
    strategy: Strategy
    candidates: int
    asked_at: datetime
    wanted: int = 0


@dataclass(frozen=True, slots=True)
class LegResults:
    """The candidates: scores by the id of a vector row for each leg, empty where it did not run.

    ``keywords_from`` names who ranked the keywords. ``errors`` are the codes of what failed,
    ``breaker_refusals`` counts the parts among them that were not asked because they kept failing,
    ``vector_was_kept`` says that the question was embedded before, ``is_cut`` that a leg of
    turbopuffer may have more candidates. ``words_left_out`` counts words of a very long question
    that the keyword leg was not asked for.
    """

    vector: Mapping[str, float] = field(default_factory=dict)
    keyword: Mapping[str, float] = field(default_factory=dict)
    legs: Sequence[LegName] = ()
    keywords_from: Literal["turbopuffer", "postgres"] | None = None
    degraded: Sequence[Degradation] = ()
    errors: Sequence[str] = ()
    breaker_refusals: int = 0
    vector_was_kept: bool = False
    is_cut: bool = False
    words_left_out: int = 0

    @property
    def ids(self) -> list[str]:
        """All candidates, each once."""
        return list({**self.vector, **self.keyword})

    def mode(self, requested: Strategy) -> Strategy:
        """Returns how the search was done; ``requested`` if no leg ran."""
        if len(self.legs) == 2:
            return "hybrid"
        return "semantic" if "vector" in self.legs else "keyword" if self.legs else requested


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a hit is where it is.

    Ranks count from 1 within their leg, and ``raw_…`` are the leg's own scores (cosine
    similarity, BM25); None where the leg did not find it. ``semantic``, ``bm25`` and ``recency``
    are 0..1, as the fusion weighed them. ``matched`` are the words of the question in the text.
    ``fused`` is the score of the legs alone (with recency, where it counts), and the sum of
    ``fused_parts``. ``parts`` is what each
    part has added to the score of the hit in the end, which is their sum; those that added nothing
    are left out. A hit whose text was not looked at has none. ``reranker`` is the score of a
    reranking model, None where it gave none.
    """

    vector_rank: int | None
    keyword_rank: int | None
    raw_semantic: float | None
    raw_bm25: float | None
    semantic: float
    bm25: float
    recency: float
    matched: Sequence[str]
    fused: float = 0.0
    fused_parts: Mapping[str, float] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)
    reranker: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage. ``score`` orders its answer; ``relevance`` (0..1) means the same everywhere.

    ``duplicates`` are chunks with nearly the same text that are not shown for themselves, the best
    of ``duplicates_total``.
    """

    score: float
    relevance: float
    json_path: str
    chunk: HydratedChunk
    evidence: Evidence | None = None
    duplicates: Sequence[HydratedChunk] = ()
    duplicates_total: int = 0


class FurtherHit(NamedTuple):
    """A hit behind those whose texts a linear ranking looks at: what orders it, and no text.

    ``doc_id`` is that of its chunk, ``cosine`` None where the vector leg did not find it; the
    others as in ``Evidence``.
    """

    doc_id: str
    score: float
    cosine: float | None
    bm25: float
    semantic: float
    recency: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits, best first, and how they were found.

    ``target`` is what was searched, as it was when the hits were read, with the weights of the
    legs that ran. ``gone`` counts candidates that were dropped because their chunk is not live any
    more, ``ranked`` all that were ranked before ``hits`` was cut. ``further`` are the hits behind
    those of a long linear ranking, if all were wanted. ``seconds`` says how long each
    stage took, ``target_was_kept`` that the target was known from before, ``hint`` why there is no
    hit.
    """

    query: str
    target: Target
    mode_requested: Strategy
    found: LegResults
    hits: Sequence[Hit] = field(default_factory=list)
    degraded: Sequence[Degradation] = ()
    gone: int = 0
    ranked: int = 0
    further: Sequence[FurtherHit] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    target_was_kept: bool = False
    hint: Hint | None = None

    @property
    def mode_used(self) -> Strategy:
        """Returns how the search was done in the end."""
        return self.found.mode(self.mode_requested)

    def hint_at(self, *, hidden: int = 0) -> Hint:
        """Returns why nothing is shown; ``hidden`` hits were not good enough."""
        if self.target.status == "evicted":
            return "index_evicted"
        if hidden:
            return "low_scores_hidden"
        is_whole = self.target.status in ("ready", "rebuilding")
        is_searched = is_whole and "partial_keywords" not in self.degraded
        return "no_match" if is_searched else "index_incomplete"


# ---- More candidates where those that were found are not live any more, or are few chunks.
# What was deleted stays in turbopuffer until the next ``cleanup``. A deleted table, or an array
# that lost most of its elements, could take all places of a leg, and live hits behind them none.
# So could the windows of a few large chunks, where a query may not have rows for all of them.

FACTOR = 8
MAX_CANDIDATES = 10_000
"""Maximum number of candidates of one turbopuffer query."""


def widened(
    question: Question, asked: int, found: LegResults, live: Mapping[str, HydratedChunk]
) -> int:
    """Returns how many candidates each leg should give: ``asked``, or more.

    More only if a leg can give more, and either too few chunks were found, or fewer than half of a
    leg's candidates are live. Candidates beyond those that ``question`` wants do not count.
    """
    is_short = len(live) < question.wanted or any(
        2 * len(leg.keys() & live.keys()) < min(len(leg), question.candidates)
        for leg in (found.vector, found.keyword)
    )
    if not (is_short and found.is_cut):
        return asked
    return max(asked, min(FACTOR * asked, MAX_CANDIDATES))


def widened_for_copies(
    question: Question, found: LegResults, live: Mapping[str, HydratedChunk]
) -> int:
    """Returns how many candidates each leg should give where copies of a text are shown once.

    More than ``question`` says if too few of the texts are different. Not for ever more: to rank
    thousands of copies would take longer than anybody waits.
    """
    texts = {(chunk.content_hash, chunk.chunk_index) for chunk in live.values()}
    is_short = len(texts) < question.wanted and found.is_cut
    most = min(FACTOR * question.candidates, MAX_CANDIDATES)
    return max(question.candidates, most) if is_short else question.candidates


# ---- What logs may say about a question.


def query_hash(key: str, query: str) -> str:
    """Returns 16 hex digits that are equal for equal questions. The key is needed to compute them.

    A plain hash could be guessed from a dictionary of questions.
    """
    return hmac.new(key.encode(), query.encode(), hashlib.sha256).hexdigest()[:16]
