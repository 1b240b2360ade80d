"""Searches everything that a project holds, a page at a time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from context_search.core.callers import Principal
from context_search.core.config import SearchConfig, Strategy
from context_search.core.errors import CursorInvalidError
from context_search.core.filters import to_mapping, to_text
from context_search.core.model import HydratedChunk, Reach
from context_search.ranking.rank import relevance_of
from context_search.ranking.relevance import Calibration, calibration_of
from context_search.ranking.search import (
    FurtherHit,
    Hint,
    Hit,
    QuestionLimits,
    SearchResult,
)
from context_search.searching.kept_ranking import (
    KEPT_FORM,
    RANKING_AGE_S,
    Columns,
    KeptRanking,
    Row,
)
from context_search.searching.rules.searched import SearchedProject
from context_search.searching.targets import Searches, read_target
from context_search.searching.titles import Label, labels_of
from context_search.store import Store
from context_search.text.analysis import query_weights, with_name

PAGE = 50
LOW_SCORE = 0.25
"""Minimum score of a hit that is shown, unless the caller gives another."""
KEPT_RANKINGS = 100
"""Maximum number of rankings that are kept for a project's further pages."""

_CURSOR = re.compile(r"([0-9a-f]{32})\.([0-9]{1,6})")
_LINEAR = SearchConfig(fusion="linear", bm25_weight=0.55, vector_weight=0.35, recency_weight=0.10)
# A leg that is not asked for has no share, so that a score means the same for each strategy.
_RANKED: Mapping[Strategy, SearchConfig] = {
    "hybrid": _LINEAR,
    "keyword": replace(_LINEAR, strategy="keyword", vector_weight=0.0),
    "semantic": replace(_LINEAR, strategy="semantic", bm25_weight=0.0),
}


@dataclass(frozen=True, slots=True)
class ProjectQuestion:
    """What is asked. A cursor goes on where a page has ended."""

    query: str
    strategy: Strategy = "hybrid"
    reach: Reach = field(default_factory=Reach)
    limits: QuestionLimits = field(default_factory=lambda: QuestionLimits(candidates=200))
    cursor: str | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for equal questions, whatever the page, and equal forms of ``KeptRanking``."""
        wanted = self.limits.filter
        asked = {
            **asdict(self),
            "cursor": None,
            "form": KEPT_FORM,
            "filter": wanted and to_mapping(wanted),  # as a dict, "and" and "or" look the same
        }
        return hashlib.sha256(to_text(asked).encode()).hexdigest()

    def searched(self, project_id: int) -> SearchedProject:
        """Returns what is searched for a project."""
        return SearchedProject(project_id, self.reach, _RANKED[self.strategy])


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """At most 50 hits in ``answer``, and what follows.

    ``truncated``: a leg had as many candidates as it may give, there may be more. ``hidden`` hits
    had too low a score. ``labels`` are by chunk id. ``whole`` is the answer with every hit, of
    a first page.
    """

    answer: SearchResult
    labels: Mapping[int, Label] = field(default_factory=dict)
    cursor: str | None = None
    truncated: bool = False
    hidden: int = 0
    hint: Hint | None = None
    whole: SearchResult | None = None


@dataclass(frozen=True, slots=True)
class SearchProject:
    """Ranks by 0.55 BM25 + 0.35 cosine + 0.10 recency; equal scores: what changed last.

    The ranking is kept for ten minutes when it has further pages, so they agree whatever happens
    to the index; what is gone meanwhile is left out of its page. Near-duplicates are collapsed
    before the ranking is kept, so every page counts what is shown.
    """

    search: Searches
    store: Store
    silent_s: float

    def page(self, principal: Principal, asked: ProjectQuestion) -> ProjectPage:
        """Raises ProjectIndexOffError, CursorInvalidError, and what a search raises."""
        if asked.cursor is not None:
            return self._further(principal, asked, asked.cursor)
        limits = replace(asked.limits, top_k=PAGE, is_whole=True)
        answer = self.search.search(asked.searched(principal.project_id), asked.query, limits)
        if not answer.hits:
            is_cut = answer.found.is_cut
            return ProjectPage(answer, truncated=is_cut, hint=answer.hint, whole=answer)
        return self._first(principal, asked, answer)

    def _first(
        self, principal: Principal, asked: ProjectQuestion, answer: SearchResult
    ) -> ProjectPage:
        least = LOW_SCORE if asked.limits.min_score is None else asked.limits.min_score
        good = [hit for hit in answer.hits if hit.score >= least]
        shown = _collapsed(good) if asked.limits.collapse else good
        further = [hit for hit in answer.further if hit.score >= least]  # without texts to compare
        hidden = len(answer.hits) + len(answer.further) - len(good) - len(further)
        ranking = _kept(asked, answer, shown, further, hidden=hidden)
        with self.store.for_project(principal.project_id) as work:
            cursor, hits = None, list(map(_with_whole_path, shown[:PAGE]))
            if ranking.rows.count > len(hits):  # what is further has its text on its own page
                body = ranking.to_mapping()
                name = work.rankings.keep(principal.project_id, body, at_most=KEPT_RANKINGS)
                cursor = f"{name}.{len(hits)}"
            labels = labels_of(work, answer.target.index, [hit.chunk for hit in hits])
        hint = None if hits else answer.hint_at(hidden=ranking.hidden)
        page = replace(answer, hits=hits, ranked=ranking.rows.count, further=())
        return ProjectPage(page, labels, cursor, ranking.truncated, ranking.hidden, hint, answer)

    def _further(self, principal: Principal, asked: ProjectQuestion, cursor: str) -> ProjectPage:
        parsed = _CURSOR.fullmatch(cursor)
        if parsed is None:
            raise CursorInvalidError("this is no cursor")
        name, first = parsed[1], int(parsed[2])
        with self.store.for_project(principal.project_id) as work:
            searched = asked.searched(principal.project_id)
            target = read_target(work, searched, silent_s=self.silent_s)
            index = target.index
            body = work.rankings.find(principal.project_id, name, max_age_s=RANKING_AGE_S)
            if body is None:
                raise CursorInvalidError("the cursor is older than ten minutes, or not yours")
            if body.get("question") != asked.fingerprint:  # of another release, too
                raise CursorInvalidError("the cursor belongs to another question")
            ranking = KeptRanking.from_mapping(body)
            if (ranking.question, ranking.index_id) != (asked.fingerprint, index.id):
                raise CursorInvalidError("the cursor belongs to another question")
            rows = ranking.rows.page(first, PAGE)
            then = ranking.seen_through(index)
            names = [name for row in rows for name in (row.doc_id, *row.copies)]
            reach = replace(asked.reach, filter=asked.limits.filter)
            chunks = work.live_chunks.hydrate(then, reach, names)
            labels = labels_of(work, then, list(chunks.values()))
        calibration = Calibration(ranking.middle, ranking.width)
        hits = _hits(calibration, asked.query, rows, chunks)
        answer = ranking.answer(asked.query, target)
        answer = replace(answer, hits=hits, gone=len(rows) - len(hits))
        following = f"{name}.{first + PAGE}" if ranking.rows.count > first + PAGE else None
        return ProjectPage(answer, labels, following, ranking.truncated, ranking.hidden)


def _collapsed(hits: Sequence[Hit]) -> Sequence[Hit]:
    from context_search.ranking.duplicates import collapsed  # noqa: PLC0415 - few ask for it

    return collapsed(hits)


def _kept(
    asked: ProjectQuestion,
    answer: SearchResult,
    shown: Sequence[Hit],
    further: Sequence[FurtherHit],
    *,
    hidden: int,
) -> KeptRanking:
    index = answer.target.index
    longest = max(len(answer.found.vector), len(answer.found.keyword))
    calibration = calibration_of(index, answer.found.vector)
    return KeptRanking(
        question=asked.fingerprint,
        index_id=index.id,
        generation_id=index.generation.id,
        namespace=index.generation.namespace,
        mode_requested=answer.mode_requested,
        legs=list(answer.found.legs),
        degraded=list(answer.degraded),
        truncated=answer.found.is_cut or longest >= asked.limits.candidates,
        hidden=hidden,
        middle=calibration.middle,
        width=calibration.width,
        rows=Columns.of([Row.of(hit) for hit in shown], further),
    )


def _hits(
    calibration: Calibration, query: str, rows: Sequence[Row], chunks: Mapping[str, HydratedChunk]
) -> list[Hit]:
    words = with_name(query_weights(query), query)
    found = [(row, living) for row in rows if (living := row.living(chunks))]
    return [
        row.hit(living, relevance_of(calibration, words, row.cosine, living[0].chunk_text))
        for row, living in found
    ]


def _with_whole_path(hit: Hit) -> Hit:
    """Returns the hit with its whole path: a project has no scope to which it could be relative."""
    return replace(hit, json_path=hit.chunk.json_pointer)
