"""Second look at the candidates of a search, with their texts at hand.

The legs see every chunk on its own, as a bag of words. Four things that they cannot see move a
candidate up: words of the question close together, rare ones above all (proximity; Tao, Zhai: An
Exploration of Proximity Measures in Information Retrieval, SIGIR 2007); a neighbour in the same
string that matches well; a text long enough to answer, as BM25 prefers a title that only repeats
the question; and a short string beside the text in its object, a title or a path, that matches
well. The keys of its pointer count like such a title: much JSON is keyed by name. docs/quality.md
has what each gains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from context_search.domain.ranking.bm25 import idf
from context_search.domain.ranking.fusion import total
from context_search.domain.text.analysis import Occurrence

PROXIMITY_WEIGHT = 0.5
NEIGHBOUR_WEIGHT = 0.2
LENGTH_WEIGHT = 0.2
TITLE_WEIGHT = 0.8
SECOND_LOOK = ("proximity", "neighbour", "length", "title")
"""What the second look adds to a score."""
_WHOLE = 1.0 + PROXIMITY_WEIGHT + NEIGHBOUR_WEIGHT + LENGTH_WEIGHT
PROXIMITY_TOKENS = 40
"""Size of the stretch in which words count as close: two or three sentences, in tokens."""
FULL_LENGTH = 300
"""Number of code points from which a text is long enough to answer and is no title."""


@dataclass(frozen=True, slots=True)
class CandidateText:
    """A candidate: where it has words of the question, and which; its length in code points.

    ``occurrences`` are in the order of its tokens. ``place`` names its string, ``index`` its number
    among the chunks there; ``is_whole`` when it is the only one. ``keys`` are the words of the
    question in the last keys of its pointer.
    """

    occurrences: Sequence[Occurrence]
    vocabulary: frozenset[str]
    length: int
    place: tuple[int, str]
    index: int
    is_whole: bool
    keys: frozenset[str] = frozenset()

    @property
    def is_title(self) -> bool:
        """Says whether the text is too short to answer and can only name something."""
        return self.is_whole and self.length < FULL_LENGTH

    @property
    def owner(self) -> tuple[int, str] | None:
        """Returns the object that the string is a member of; None in an array."""
        table_id, pointer = self.place
        parent, _, key = pointer.rpartition("/")
        return None if key.isdecimal() else (table_id, parent)


def rerank(
    fused: Mapping[str, Mapping[str, float]],
    keyword: Mapping[str, float],
    words: Collection[str],
    texts: Mapping[str, CandidateText],
) -> dict[str, dict[str, float]]:
    """Returns the shares in the scores (0..1) after the second look, by part and id.

    ``fused`` has the shares in those before (0..1), by leg. They count less now, and to them come
    ``proximity``, ``neighbour``, ``length`` and ``title``. ``keyword`` has normalised scores of the
    keyword leg (0..1), ``words`` the distinct tokens of the question, ``texts`` every id of both
    with occurrences of these.
    """
    weights = word_weights(words, [text.vocabulary for text in texts.values()])
    named = _named(words, texts)
    beside = {(p.place, p.index): keyword.get(name, 0.0) for name, p in texts.items()}
    titles = _titles(keyword, texts)
    parts = {
        leg: {name: share / _WHOLE for name, share in shares.items()}
        for leg, shares in fused.items()
    }
    looks: dict[str, dict[str, float]] = {part: {} for part in SECOND_LOOK}
    for name, seen in total(parts.values()).items():
        text, index = texts[name], texts[name].index
        best_beside = max(
            beside.get((text.place, index - 1), 0.0), beside.get((text.place, index + 1), 0.0)
        )
        fullness = min(1.0, text.length / FULL_LENGTH)
        added = (
            PROXIMITY_WEIGHT * proximity(text.occurrences, weights) / _WHOLE,
            NEIGHBOUR_WEIGHT * best_beside / _WHOLE,
            LENGTH_WEIGHT * fullness / _WHOLE,
        )
        looks["proximity"][name], looks["neighbour"][name], looks["length"][name] = added
        score = seen + sum(added)
        # Most objects have no title, and to ask whose a string is takes longer than to see that.
        title = titles.get(text.owner, 0.0) if len(titles) > 1 and not text.is_title else 0.0
        looks["title"][name] = (1.0 - score) * TITLE_WEIGHT * max(title, named[name])
    return parts | looks


def _titles(
    keyword: Mapping[str, float], texts: Mapping[str, CandidateText]
) -> dict[tuple[int, str] | None, float]:
    """Returns for each object the best score of a title in it; strings of an array name nothing."""
    best: dict[tuple[int, str] | None, float] = {None: 0.0}
    for name, score in keyword.items():
        text = texts[name]
        if text.is_title and (owner := text.owner):
            best[owner] = max(best.get(owner, 0.0), score)
    return best


def _named(words: Collection[str], texts: Mapping[str, CandidateText]) -> dict[str, float]:
    """Returns the share of the question (0..1) that the keys of each text's pointer have."""
    if not any(p.keys for p in texts.values()):
        return dict.fromkeys(texts, 0.0)
    weights = word_weights(words, [p.vocabulary | p.keys for p in texts.values()])
    return {name: sum(weights[word] for word in p.keys) for name, p in texts.items()}


def word_weights(words: Collection[str], texts: Collection[frozenset[str]]) -> dict[str, float]:
    """Returns what each word weighs that any of the texts has, together 1: BM25's idf in them.

    The index would say better how rare a word is, but does not tell; among candidates a rare one
    is rare, too.
    """
    counts = Counter(chain.from_iterable(texts))
    found = {word: idf(counts[word], len(texts)) for word in words if counts[word]}
    total = sum(found.values()) or 1.0
    return {word: weight / total for word, weight in found.items()}


def proximity(occurrences: Sequence[Occurrence], weights: Mapping[str, float]) -> float:
    """Returns the weight of the words in the best stretch of ``PROXIMITY_TOKENS``, in 0..1."""
    if not occurrences:
        return 0.0
    best = inside = 0.0
    first, first_at = 0, occurrences[0][0]
    if occurrences[-1][0] - first_at <= PROXIMITY_TOKENS:  # all of them are in one stretch
        for token in dict.fromkeys([token for _, token in occurrences]):
            inside += weights[token]
        return min(1.0, inside)
    counts = dict.fromkeys(weights, 0)
    for at, token in occurrences:
        count = counts[token]
        counts[token] = count + 1
        if not count:
            inside += weights[token]
        while at - first_at > PROXIMITY_TOKENS:
            gone = occurrences[first][1]
            counts[gone] -= 1
            if not counts[gone]:
                inside -= weights[gone]
            first += 1
            first_at = occurrences[first][0]
        if not count and inside > best:
            best = inside
    return min(1.0, best)
