"""The ranking of a search: candidates and their texts in, hits and their evidence out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, count, islice, repeat
from operator import eq

from context_search.core.config import SearchConfig, Weights
from context_search.core.json_pointer import document_order, last_keys, relative
from context_search.core.model import HydratedChunk
from context_search.core.named_tuples import maker_of
from context_search.ranking.fusion import (
    Scored,
    convex_combination,
    linear_combination,
    max_normalised,
    min_max,
    ranking,
    recency,
    reciprocal_rank_fusion,
    shares_of,
    total,
)
from context_search.ranking.relevance import (
    CALIBRATIONS,
    Calibration,
    across_languages,
    calibration_of,
    coverage,
    is_foreign,
    relevance,
    worth,
)
from context_search.ranking.reranking import CandidateText, SecondLook
from context_search.ranking.search import (
    Evidence,
    FurtherHit,
    Hit,
    LegName,
    LegResults,
    Question,
    Target,
)
from context_search.text.analysis import TermFinder, with_name

LOOKED_AT = 200
"""Maximum number of texts that a linear ranking reads. Its scores need no text, and fewer hits are
shown.
"""
WEAK_COVERAGE = 0.4
"""Minimum share of the question that the best keyword hit has to cover. A leg whose best hit covers
less is mostly noise (a question in another language). Its weight falls in proportion and goes to
the vector leg.
"""

_COMPARED = 3
"""Number of the best scores that ``across_languages`` compares with others."""

LEGS: tuple[LegName, LegName] = ("vector", "keyword")
Scores = Mapping[str, float]
Chunks = Mapping[str, HydratedChunk]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ``hits``, best first, and what they were ranked from.

    ``found``: the candidates after each leg was cut to its best live ones. ``gone``: candidates
    that were not live. ``target``: what was searched, with the weights of the legs that ran.
    ``ranked``: how many hits there are, of which ``hits`` may be the first. ``further``: those
    behind LOOKED_AT hits of a linear ranking, if all were wanted.
    """

    hits: list[Hit]
    found: LegResults
    gone: int
    target: Target
    ranked: int
    further: Sequence[FurtherHit] = ()


@dataclass(frozen=True, slots=True)
class FirstLook:
    """The candidates that are ranked, and their order in a linear ranking, which needs no text.

    ``order`` of any other ranking is not known yet.
    """

    found: LegResults
    live: _Live
    scored: Scored
    order: Sequence[str]

    @property
    def looked_at(self) -> Sequence[str]:
        """The candidates whose texts a linear ranking looks at."""
        return self.order[:LOOKED_AT]


def rank(
    target: Target,
    question: Question,
    found: LegResults,
    chunks: Chunks,
    *,
    most: int | None = None,
    look: FirstLook | None = None,
    texts: Mapping[str, CandidateText] | None = None,
) -> Ranking:
    """Returns the ``most`` best hits among the candidates whose ``chunks`` are live; None: all.

    Ties: what changed last first, and what changed at once in the order of its document.
    ``look`` is what ``first_look`` returned for these arguments, for who has asked it. ``texts``
    are those of ``candidate_texts``, for who ranks the same candidates again and again: they are
    most of the work.
    """
    look = look or first_look(target, question, found, chunks)
    found, live, scored, order = look.found, look.live, look.scored, look.order
    scores = scored.scores
    is_linear = target.search.fusion == "linear"
    weights = _shared_by(target, found.legs)
    names = look.looked_at if is_linear else list(live.recency)
    if texts is None:
        texts = candidate_texts(question, {name: chunks[name] for name in names})
    live = replace(live, texts={name: texts[name] for name in names})
    calibration = calibration_of(target.index, found.vector)
    if not is_linear:
        worths = {name: worth(chunks[name].chunk_text) for name in names}
        others = [n for n in live.vector if is_foreign(question.text, chunks[n].chunk_text)]
        # How languages compare was measured with what is known of a model, where anything is.
        known = CALIBRATIONS.get(target.index.config.model, calibration)
        foreign = _relevances(known, live, chunks, others)
        is_by_rank = target.search.fusion == "rrf"
        low = [name for name, factor in worths.items() if factor < 1.0]
        scored = _fused(weights, live, foreign, known.width, low, most, is_by_rank=is_by_rank)
        scores = {name: worths[name] * score for name, score in scored.scores.items()}
        scored = scored.then("worth", scores)
        order = _order(scores, live, chunks)
    best = order[: LOOKED_AT if is_linear and most is None else most]
    relevances = _relevances(calibration, live, chunks, best)
    weighed = _weighed(live, is_linear=is_linear)
    evidence = _evidence(live, scored, best, weighed)
    hits = [
        Hit(
            score=scores[name],
            relevance=relevances[name],
            json_path=relative(target.reach.json_pointer, chunks[name].json_pointer),
            chunk=chunks[name],
            evidence=evidence[name],
        )
        for name in best
    ]
    further = _further(live, scores, weighed, order[len(best) :]) if most is None else ()
    gone = len(found.ids) - len(live.recency)
    return Ranking(hits, found, gone, replace(target, used=weights), len(order), further)


def needs_every_text(search: SearchConfig, candidates: int) -> bool:
    """Says whether ``rank`` looks at the texts of all of so many candidates."""
    return search.fusion != "linear" or candidates <= LOOKED_AT


def first_look(target: Target, question: Question, found: LegResults, chunks: Chunks) -> FirstLook:
    """Returns the candidates that ``rank`` ranks; those of a linear ranking in their order."""
    found, chunks = _best_live(found, chunks, question.candidates)
    live = _live(question, found, chunks)
    if target.search.fusion != "linear":
        return FirstLook(found, live, Scored({}, {}), ())
    scored = _linear(_shared_by(target, found.legs), live)
    return FirstLook(found, live, scored, _order(scored.scores, live, chunks))


def relevance_of(calibration: Calibration, words: Scores, cosine: float | None, text: str) -> float:
    """Returns the relevance of a text whose vector has this similarity to the question's."""
    having = TermFinder(words).words_in(text)
    return worth(text) * relevance(cosine, words, having, calibration)


@dataclass(frozen=True, slots=True)
class _Live:
    """The candidates whose chunks are live, with what the ranking needs to know of each.

    Others take no part, so they cannot distort the normalisation.
    """

    vector: Scores
    keyword: Scores
    recency: Scores
    words: Mapping[str, float]
    texts: Mapping[str, CandidateText] = field(default_factory=dict)

    def vocabulary(self, name: str) -> frozenset[str]:
        """The question's words in a candidate; none where the text was not looked at."""
        text = self.texts.get(name)
        return text.vocabulary if text else frozenset()


def _best_live(
    found: LegResults, chunks: Chunks, candidates: int
) -> tuple[LegResults, dict[str, HydratedChunk]]:
    """Returns what is left when each leg gives only its best ``candidates`` that are live.

    Those that are not live stay in their legs, to be counted. Equal scores of a leg are in the
    order of their documents, then.
    """
    vector, keyword = (_cut(leg, chunks, candidates) for leg in (found.vector, found.keyword))
    left = replace(found, vector=vector, keyword=keyword)
    return left, {name: chunks[name] for name in left.ids if name in chunks}


def _cut(leg: Scores, live: Chunks, candidates: int) -> dict[str, float]:
    alive = _in_order({name: score for name, score in leg.items() if name in live}, live)
    dead = [name for name in leg if name not in live] if len(alive) < len(leg) else []
    left = [*alive[:candidates], *dead]
    return dict(zip(left, map(leg.__getitem__, left), strict=True))


def _shared_by(target: Target, legs: Sequence[LegName]) -> Weights:
    """Returns the weights; in a linear fusion 0 for each leg that did not run."""
    weights = target.weights
    if target.search.fusion != "linear" or len(legs) != 1:
        return weights
    return replace(weights, vector=0.0) if "keyword" in legs else replace(weights, bm25=0.0)


def _live(question: Question, found: LegResults, chunks: Chunks) -> _Live:
    moments = {chunk.changed_at for chunk in chunks.values()}  # one for all chunks of a string
    shares = {moment: recency(moment, question.asked_at) for moment in moments}
    return _Live(
        vector={name: score for name, score in found.vector.items() if name in chunks},
        keyword={name: score for name, score in found.keyword.items() if name in chunks},
        recency={name: shares[chunk.changed_at] for name, chunk in chunks.items()},
        words=with_name(question.words, question.text),
    )


def _order(scores: Scores, live: _Live, chunks: Chunks) -> list[str]:
    return _in_order(scores, chunks, lambda name: -live.recency[name])


def _in_order(
    scores: Scores, chunks: Chunks, before_place: Callable[[str], float] = lambda _: 0.0
) -> list[str]:
    """Returns the ids best first; equal ones by ``before_place``, table, place in the document and
    chunk.
    """
    in_document: dict[str, list[tuple[int, str]]] = {}  # chunks of a string have one pointer

    def place(name: str) -> tuple[object, ...]:
        chunk = chunks[name]
        if (order := in_document.get(chunk.json_pointer)) is None:
            order = in_document[chunk.json_pointer] = document_order(chunk.json_pointer)
        return before_place(name), chunk.table_id, order, chunk.chunk_index, name

    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    # Places cost much more than scores, and few chunks share a score.
    values, end = list(map(scores.__getitem__, ranked)), 0
    for first in compress(count(), map(eq, values, islice(values, 1, None))):
        if first >= end:
            end = first + 1
            while end < len(values) and values[end] == values[first]:
                end += 1
            ranked[first:end] = sorted(ranked[first:end], key=place)
    return ranked


def candidate_texts(question: Question, chunks: Chunks) -> dict[str, CandidateText]:
    """Returns what the second look needs to know of each text."""
    finder = TermFinder(with_name(question.words, question.text))
    pointers = {chunk.json_pointer for chunk in chunks.values()}
    keys = ["\n".join(last_keys(pointer)) for pointer in pointers]
    words = finder.words_in_each([*keys, *(chunk.chunk_text for chunk in chunks.values())])
    in_keys = dict(zip(pointers, words, strict=False))
    return {
        name: _candidate_text(chunk, finder, vocabulary, in_keys[chunk.json_pointer])
        for (name, chunk), vocabulary in zip(chunks.items(), words[len(keys) :], strict=True)
    }


def _candidate_text(
    chunk: HydratedChunk, finder: TermFinder, vocabulary: frozenset[str], in_keys: frozenset[str]
) -> CandidateText:
    return CandidateText(
        find=partial(finder.find, chunk.chunk_text),
        vocabulary=vocabulary,
        length=len(chunk.chunk_text),
        place=(chunk.table_id, chunk.json_pointer),
        index=chunk.chunk_index,
        is_whole=chunk.total_chunks == 1,
        keys=in_keys,
    )


def _relevances(
    calibration: Calibration, live: _Live, chunks: Chunks, names: Iterable[str]
) -> dict[str, float]:
    """Returns the relevance of candidates; of a text that was not looked at, its vector's."""
    return {
        name: (worth(chunks[name].chunk_text) if name in live.texts else 1.0)
        * relevance(live.vector.get(name), live.words, live.vocabulary(name), calibration)
        for name in names
    }


def _linear(weights: Weights, live: _Live) -> Scored:
    shares = linear_combination(
        [max_normalised(live.keyword), _cosines(live.vector), live.recency],
        [weights.bm25, weights.vector, weights.recency],
    )
    return Scored.of(("keyword", "vector", "recency"), shares)


def _fused(
    weights: Weights,
    live: _Live,
    foreign: Scores,
    width: float,
    low: Collection[str],
    most: int | None,
    *,
    is_by_rank: bool,
) -> Scored:
    """Returns the scores after convex or rank fusion: of all, or right for the ``most`` best.

    ``foreign`` and ``width``: see ``across_languages``. ``low`` will count less than they do here.
    """
    if not live.keyword:
        return Scored.of(["vector"], [min_max(live.vector)])
    if is_by_rank and live.vector:
        both = [weights.vector, weights.bm25]
        return Scored.of(LEGS, reciprocal_rank_fusion([live.vector, live.keyword], both))
    best_coverage = coverage(live.words, live.vocabulary(ranking(live.keyword)[0]))
    trust = min(1.0, best_coverage / WEAK_COVERAGE)
    keyword = min_max(live.keyword)
    mixed = _convex(weights, live, trust) if live.vector else Scored.of(["keyword"], [keyword])
    trusted = {name: trust * score for name, score in keyword.items()}
    # Where the best has no word of the question, all scores become 0, and any may be shown.
    most = max(most, _COMPARED) if most is not None and best_coverage else None
    look = SecondLook(mixed.parts, trusted, live.words, live.texts)
    parts = look.parts(most, besides={*foreign, *low})
    seen = replace(mixed, scores=total(parts.values()), parts=parts)
    if not foreign:
        return seen
    scores = across_languages(seen.scores, foreign, live.vector, best_coverage, width)
    return seen.then("language", scores)


def _convex(weights: Weights, live: _Live, trust: float) -> Scored:
    bm25 = weights.bm25 * trust
    vector = weights.vector + weights.bm25 - bm25
    return Scored.of(LEGS, convex_combination([live.vector, live.keyword], [vector, bm25]))


def _cosines(leg: Scores) -> dict[str, float]:
    """Returns the similarities, those below 0 as 0."""
    return {n: s if 0.0 < s < 1.0 else min(1.0, max(0.0, s)) for n, s in leg.items()}


def _weighed(live: _Live, *, is_linear: bool) -> tuple[Scores, Scores]:
    """Returns the scores of the vector and of the keyword leg in 0..1, as they were fused."""
    if is_linear:
        return _cosines(live.vector), max_normalised(live.keyword)
    return min_max(live.vector), min_max(live.keyword)


def _evidence(
    live: _Live, scored: Scored, names: Sequence[str], weighed: tuple[Scores, Scores]
) -> dict[str, Evidence]:
    semantic, bm25 = weighed
    ranks = [dict(zip(ranking(leg), count(1))) for leg in (live.vector, live.keyword)]
    return {
        name: Evidence(
            vector_rank=ranks[0].get(name),
            keyword_rank=ranks[1].get(name),
            raw_semantic=live.vector.get(name),
            raw_bm25=live.keyword.get(name),
            semantic=semantic.get(name, 0.0),
            bm25=bm25.get(name, 0.0),
            recency=live.recency[name],
            matched=[word for word in live.words if word in live.vocabulary(name)],
            fused=scored.fused.get(name, 0.0),
            fused_parts=shares_of(scored.fused_parts, name),
            parts=shares_of(scored.parts, name) if name in live.texts else {},
        )
        for name in names
    }


def _further(
    live: _Live, scores: Scores, weighed: tuple[Scores, Scores], names: Sequence[str]
) -> list[FurtherHit]:
    (semantic, bm25), none = weighed, repeat(0.0)
    legs = (map(scores.__getitem__, names), map(live.vector.get, names), map(bm25.get, names, none))
    others = (map(semantic.get, names, none), map(live.recency.__getitem__, names))
    return list(map(maker_of(FurtherHit), zip(names, *legs, *others, strict=True)))  # thousands
