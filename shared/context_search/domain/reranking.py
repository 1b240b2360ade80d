"""Second look at the candidates of a search, with their texts at hand.

The legs see every chunk on its own, as a bag of words. Three things that they cannot see move a
candidate up: words of the question close together, rare ones above all (proximity; Tao, Zhai: An
Exploration of Proximity Measures in Information Retrieval, SIGIR 2007); a neighbour in the same
string that matches well; and a text long enough to answer, as BM25 prefers a title that only
repeats the question. docs/quality.md has what each gains.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from context_search.domain.analysis import Sighting
from context_search.domain.bm25 import idf

PROXIMITY_WEIGHT = 0.5
NEIGHBOUR_WEIGHT = 0.2
LENGTH_WEIGHT = 0.2
PROXIMITY_TOKENS = 40
"""How far apart words may be, in tokens: two or three sentences."""
FULL_LENGTH = 300
"""From how many code points a text counts as long enough."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A candidate: where it has words of the question, and which; its length in code points.

    ``sightings`` are in the order of its tokens. ``place`` names its string, ``index`` its number
    among the chunks there.
    """

    sightings: Sequence[Sighting]
    vocabulary: frozenset[str]
    length: int
    place: tuple[int, str]
    index: int


def rerank(
    fused: Mapping[str, float],
    keyword: Mapping[str, float],
    words: Sequence[str],
    passages: Mapping[str, Passage],
) -> dict[str, float]:
    """Returns the scores of ``fused`` (0..1) after the second look, in 0..1 again.

    ``keyword`` has normalised scores of the keyword leg (0..1), ``words`` the distinct tokens of
    the question, ``passages`` every id of ``fused`` with sightings of these.
    """
    weights = word_weights(words, [passage.vocabulary for passage in passages.values()])
    beside = {(p.place, p.index): keyword.get(name, 0.0) for name, p in passages.items()}
    total = 1.0 + PROXIMITY_WEIGHT + NEIGHBOUR_WEIGHT + LENGTH_WEIGHT
    scores: dict[str, float] = {}
    for name, score in fused.items():
        passage = passages[name]
        neighbours = ((passage.place, passage.index + step) for step in (-1, 1))
        scores[name] = (
            score
            + PROXIMITY_WEIGHT * proximity(passage.sightings, weights)
            + NEIGHBOUR_WEIGHT * max(beside.get(place, 0.0) for place in neighbours)
            + LENGTH_WEIGHT * min(1.0, passage.length / FULL_LENGTH)
        ) / total
    return scores


def word_weights(words: Sequence[str], texts: Collection[Collection[str]]) -> dict[str, float]:
    """Returns what each word weighs that any of the texts has, together 1: BM25's idf in them.

    The index would say better how rare a word is, but does not tell; among candidates a rare one
    is rare, too.
    """
    counts = {word: sum(word in text for text in texts) for word in words}
    found = {word: idf(count, len(texts)) for word, count in counts.items() if count}
    total = sum(found.values()) or 1.0
    return {word: weight / total for word, weight in found.items()}


def proximity(sightings: Sequence[Sighting], weights: Mapping[str, float]) -> float:
    """Returns the weight of the words in the best stretch of ``PROXIMITY_TOKENS``, in 0..1."""
    best = inside = 0.0
    counts = dict.fromkeys(weights, 0)
    first = 0
    for at, token in sightings:
        is_new = not counts[token]
        if is_new:
            inside += weights[token]
        counts[token] += 1
        while at - sightings[first][0] > PROXIMITY_TOKENS:
            gone = sightings[first][1]
            counts[gone] -= 1
            if not counts[gone]:
                inside -= weights[gone]
            first += 1
        if is_new:
            best = max(best, inside)
    return min(1.0, best)
