"""What is found out about an index without any judged question: how much its vectors are worth.

The weight is that of the inverse cloze task: a sentence is taken out of a chunk and asked, and what
is left of the chunk has to be found among others. The null distribution says how similar the best
passage is to a question that the index does not answer. Equal content has equal results: nothing
here depends on ids or on time. docs/quality.md has what both gain.

Source: Lee, Chang, Toutanova: Latent Retrieval for Weakly Supervised Open Domain Question Answering
(ACL 2019) for the task.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import mul
from statistics import fmean, median

from context_search.ranking.bm25 import idf, term_weight
from context_search.ranking.fusion import min_max, ranking
from context_search.ranking.relevance import LEAST_WIDTH, Calibration, is_weak, model_weight
from context_search.text.analysis import query_weights, tokens

Vector = Sequence[float]

# ---- A sentence from the middle of a chunk, and what is left of the chunk.

MARGIN = 10
"""Least distance of a sentence from what a chunk shares with its neighbours, in code points."""
SHORTEST_ASKED = 6
"""Least number of distinct words of a sentence; two Han characters and their pair count three."""
LONGEST_ASKED = 250
"""Most code points of a sentence."""
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]*\s+|[。！？；…]+[”’」』）]*\s*|\n+")


@dataclass(frozen=True, slots=True)
class Cloze:
    """A sentence, and the window of its chunk that it was taken out of.

    ``passage`` is the window number ``window`` without the sentence, to be embedded anew.
    """

    question: str
    window: int
    passage: str


def cloze(windows: Sequence[str], overlap: int) -> Cloze | None:
    """Returns the sentence that is nearest to the middle of a chunk; None without a usable one.

    ``windows`` are the pieces that the chunk is embedded in. The sentence lies within one of them
    that is more than the sentence, and so far from both ends that no neighbour has it, whose
    chunks share ``overlap`` code points at most.
    """
    length, start = sum(map(len, windows)), 0
    least, found = overlap + MARGIN, list[tuple[float, int, int, int]]()
    for number, window in enumerate(windows):
        for first, last in _sentences(window):
            if start + first > least and start + last < length - least:
                off = abs(start + (first + last) / 2 - length / 2)
                found.append((off, number, first, last))
        start += len(window)
    for _, number, first, last in sorted(found):
        window = windows[number]
        question, passage = window[first:last], window[:first] + window[last:]
        if len(query_weights(question)) >= SHORTEST_ASKED and passage.strip():
            return Cloze(question.strip(), number, passage)
    return None


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yields where whole sentences of a text begin and end; what it begins and ends with is cut."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    for first, last in pairwise(ends):
        if last - first <= LONGEST_ASKED:
            yield first, last


# ---- Where the rest of the chunk stands among others, for each weight of the vectors.

CANDIDATES = 50
"""Number of candidates of a leg, as a search has them."""
STEPS = 20
PULL, PULL_OF_WEAK = 0.3, 1.0
"""How much a squared distance from the weight that is known of the model has to gain. Means of 60
questions are within .02 of those of all: without it, chance chose half of the weight. Of weak
models the best weights of many sets are known, and lie near each other.
"""
LEAST_QUESTIONS = 30
"""Fewer sentences say too little about a weight."""
MOST_WEIGHT, LEAST_WEIGHT, LEAST_WEIGHT_OF_WEAK = 0.65, 0.3, 0.1
"""Bounds of a weight. Sentences repeat the words of their text, more than questions of people do:
so no weight of a model that may be strong falls below the second one.
"""


@dataclass(frozen=True, slots=True)
class SampledChunk:
    """A chunk of the index with the vectors of its windows. ``place`` and ``index``: which of the
    chunks of which string it is."""

    text: str
    place: tuple[int, str]
    index: int
    vectors: Sequence[Vector]

    def is_near(self, other: SampledChunk) -> bool:
        """Says whether it is the other chunk, or overlaps with it."""
        return self.place == other.place and abs(self.index - other.index) <= 1


@dataclass(frozen=True, slots=True)
class EmbeddedCloze:
    """A cloze of a chunk with the vectors of its question and of its passage."""

    chunk: SampledChunk
    cloze: Cloze
    question: Vector
    passage: Vector


class Sample:
    """Chunks among which the rest of one is looked for, by both legs."""

    def __init__(self, chunks: Sequence[SampledChunk]) -> None:
        self._chunks = chunks
        self._counts = [Counter(tokens(chunk.text)) for chunk in chunks]
        self._lengths = [counts.total() for counts in self._counts]
        self._mean = fmean(self._lengths) if chunks else 1.0
        self._having = Counter(word for counts in self._counts for word in counts)
        self._units = [[_unit(vector) for vector in chunk.vectors] for chunk in chunks]

    def gains(self, asked: EmbeddedCloze) -> list[float]:
        """Returns 1/log2(1 + rank) of the rest of the chunk, for the weights 0, .05, … 1."""
        others = [
            number for number, chunk in enumerate(self._chunks) if not chunk.is_near(asked.chunk)
        ]
        vector = self._by_vector(asked, others)
        keyword = self._by_keyword(asked, others)
        legs = min_max(_best(vector)), min_max(_best(keyword))
        return [_gain(legs, step / STEPS) for step in range(STEPS + 1)]

    def _by_vector(self, asked: EmbeddedCloze, others: Iterable[int]) -> dict[str, float]:
        question = _unit(asked.question)
        own = [_unit(vector) for vector in asked.chunk.vectors]
        own[asked.cloze.window] = _unit(asked.passage)
        scores = {str(number): _nearest(question, self._units[number]) for number in others}
        return {**scores, _REST: _nearest(question, own)}

    def _by_keyword(self, asked: EmbeddedCloze, others: Iterable[int]) -> dict[str, float]:
        rest = Counter(tokens(asked.chunk.text)) - Counter(tokens(asked.cloze.question))
        scores: dict[str, float] = {}
        for word, weight in query_weights(asked.cloze.question).items():
            worth = weight * idf(self._having[word], len(self._chunks))
            for number in others:
                if count := self._counts[number][word]:
                    length = self._lengths[number]
                    gained = worth * term_weight(count, length, self._mean)
                    scores[str(number)] = scores.get(str(number), 0.0) + gained
            if count := rest[word]:
                gained = worth * term_weight(count, rest.total(), self._mean)
                scores[_REST] = scores.get(_REST, 0.0) + gained
        return scores


_REST = "rest"


def _gain(legs: tuple[Mapping[str, float], Mapping[str, float]], weight: float) -> float:
    vector, keyword = legs
    if _REST not in vector and _REST not in keyword:
        return 0.0
    scores = {
        name: weight * vector.get(name, 0.0) + (1 - weight) * keyword.get(name, 0.0)
        for name in {**vector, **keyword}
    }
    own = scores[_REST]
    above = sum(score > own for score in scores.values())
    equal = sum(score == own for score in scores.values()) - 1
    return 1.0 / math.log2(2 + above + equal / 2)


def _best(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: scores[name] for name in ranking(scores)[:CANDIDATES]}


def best_weight(gains: Sequence[Sequence[float]], model: str) -> float | None:
    """Returns the weight of the vectors: the one that gains most over that known of the model.

    ``gains`` are those of each question. None when they are fewer than 30.
    """
    if len(gains) < LEAST_QUESTIONS:
        return None
    known, pull = model_weight(model), PULL_OF_WEAK if is_weak(model) else PULL
    weighed = {
        step / STEPS: fmean(values) - pull * (step / STEPS - known) ** 2
        for step, values in enumerate(zip(*gains, strict=True))
    }
    least = LEAST_WEIGHT_OF_WEAK if is_weak(model) else LEAST_WEIGHT
    return min(MOST_WEIGHT, max(least, max(weighed, key=weighed.__getitem__)))


def _unit(vector: Vector) -> list[float]:
    length = math.hypot(*vector) or 1.0
    return [value / length for value in vector]


def _nearest(question: Vector, windows: Iterable[Vector]) -> float:
    return max((sum(map(mul, question, window)) for window in windows), default=-1.0)


# ---- How similar the best passage is to a question that the index does not answer.

DEVIATIONS, DEVIATIONS_OF_WEAK, WIDTH = 2.5, 3.0, 0.7
_MAD_TO_DEVIATION = 1.4826


def null_calibration(cosines: Sequence[float], model: str) -> Calibration:
    """Returns the calibration from the best cosines of questions without an answer.

    They are the ``cosines``, one at least. Median and median absolute deviation stand for mean and
    standard deviation, so that a few questions that are answered after all change little.
    However far they spread, a passage that is the question itself has a relevance over 0.7.
    """
    middle = median(cosines)
    deviation = _MAD_TO_DEVIATION * median(abs(cosine - middle) for cosine in cosines)
    away = DEVIATIONS_OF_WEAK if is_weak(model) else DEVIATIONS
    width = max(WIDTH * deviation, LEAST_WIDTH)
    return Calibration(min(middle + away * deviation, 1.0 - width), width)
