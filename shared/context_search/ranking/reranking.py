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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappush, heappushpop
from itertools import chain

from context_search.ranking.bm25 import idf
from context_search.ranking.fusion import total
from context_search.text.analysis import Occurrence, is_name

PROXIMITY_WEIGHT = 0.5
NEIGHBOUR_WEIGHT = 0.2
LENGTH_WEIGHT = 0.2
TITLE_WEIGHT = 0.8
SECOND_LOOK = ("proximity", "neighbour", "length", "title")
"""What the second look adds to a score."""
_WHOLE = 1.0 + PROXIMITY_WEIGHT + NEIGHBOUR_WEIGHT + LENGTH_WEIGHT
_ROUNDING = 1e-9
"""Scores that differ by less may come in another order when they are computed otherwise."""
PROXIMITY_TOKENS = 40
"""Size of the stretch in which words count as close: two or three sentences, in tokens."""
FULL_LENGTH = 300
"""Number of code points from which a text is long enough to answer and is no title."""


@dataclass(frozen=True)
class CandidateText:
    """A candidate: which words of the question it has, and where; its length in code points.

    ``find`` returns the ``occurrences``, in the order of its tokens. It costs more than all else
    here, and most texts are not asked for them. ``place`` names its string, ``index`` its number
    among the chunks there; ``is_whole`` when it is the only one. ``keys`` are the words of the
    question in the last keys of its pointer.
    """

    find: Callable[[], Sequence[Occurrence]]
    vocabulary: frozenset[str]
    length: int
    place: tuple[int, str]
    index: int
    is_whole: bool
    keys: frozenset[str] = frozenset()

    @cached_property
    def occurrences(self) -> Sequence[Occurrence]:
        """Where it has words of the question, and which."""
        return self.find()

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


class SecondLook:
    """What is added to the scores of candidates.

    It is linear in them, but for the positions of words in texts, which cost more than all else.
    """

    def __init__(
        self,
        fused: Mapping[str, Mapping[str, float]],
        keyword: Mapping[str, float],
        words: Collection[str],
        texts: Mapping[str, CandidateText],
    ) -> None:
        """``fused`` has the shares in the scores before (0..1), by leg.

        ``keyword`` has normalised scores of the keyword leg (0..1), ``words`` the distinct tokens
        of the question, ``texts`` every id of both with occurrences of these.
        """
        self._weights = close_weights(words, [text.vocabulary for text in texts.values()])
        self._fused = {
            leg: {name: share / _WHOLE for name, share in shares.items()}
            for leg, shares in fused.items()
        }
        self._seen = total(self._fused.values())
        self._texts = {name: texts[name] for name in self._seen}
        self._looks: dict[str, dict[str, float]] = {part: {} for part in SECOND_LOOK}
        self._named = _named(words, texts)
        titles = _titles(keyword, texts)
        beside = {(p.place, p.index): keyword.get(name, 0.0) for name, p in texts.items()}
        for name, text in self._texts.items():
            place, index = text.place, text.index
            best = max(beside.get((place, index - 1), 0.0), beside.get((place, index + 1), 0.0))
            fullness = min(1.0, text.length / FULL_LENGTH)
            self._looks["neighbour"][name] = NEIGHBOUR_WEIGHT * best / _WHOLE
            self._looks["length"][name] = LENGTH_WEIGHT * fullness / _WHOLE
            # Most objects have no title, and to ask whose a string is takes longer than to see it.
            title = titles.get(text.owner, 0.0) if len(titles) > 1 and not text.is_title else 0.0
            self._named[name] = max(title, self._named[name])

    def parts(
        self, most: int | None = None, besides: Collection[str] = ()
    ) -> dict[str, dict[str, float]]:
        """Returns the shares in the scores (0..1) after the second look, by part and id.

        Those before count less now, and to them come ``proximity``, ``neighbour``, ``length`` and
        ``title``. With ``most`` only the so many best, and those ``besides``, which do not count
        among them, have these shares; the scores of all others are lower than they would be.
        """
        if most is None:
            for name, text in self._texts.items():
                self._score(name, proximity(text.occurrences, self._weights))
            return self._fused | self._looks
        highest = {name: self._score(name, self._closest(name)) for name in self._texts}
        best: list[float] = []
        for name in sorted(highest, key=highest.__getitem__, reverse=True):
            score, is_counted = highest[name], name not in besides
            if is_counted and len(best) == most and score < best[0] - _ROUNDING:
                self._score(name, 0.0)
                continue
            text = self._texts[name]
            if len(text.vocabulary) > 1:  # of one word the highest is what it is
                score = self._score(name, proximity(text.occurrences, self._weights))
            if is_counted:
                heappush(best, score) if len(best) < most else heappushpop(best, score)
        return self._fused | self._looks

    def _closest(self, name: str) -> float:
        """Returns the proximity of a text if all that it has of the question is in one stretch."""
        return min(1.0, sum(map(self._weights.__getitem__, self._texts[name].vocabulary)))

    def _score(self, name: str, closest: float) -> float:
        """Returns the score of a text with this proximity, and notes the shares of it."""
        looks, near = self._looks, PROXIMITY_WEIGHT * closest / _WHOLE
        score = self._seen[name] + sum((near, looks["neighbour"][name], looks["length"][name]))
        looks["proximity"][name] = near
        looks["title"][name] = lift = (1.0 - score) * TITLE_WEIGHT * self._named[name]
        return score + lift


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


def close_weights(words: Collection[str], texts: Collection[frozenset[str]]) -> dict[str, float]:
    """Returns what each word weighs where it stands close to others: ``word_weights``.

    Of a question that is a name only the whole counts: its parts make other names.
    """
    names = [word for word in words if is_name(word)]
    if not names:
        return word_weights(words, texts)
    return dict.fromkeys(words, 0.0) | word_weights(names, texts)


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
