"""A model of any strength: the local one, and a signal between a question and what answers it.

Every vector is that of the local model, and beside it, in dimensions of its own, the sum of the
topics of the text. A topic is a random direction: of a judged question, or of a place of the
corpus. A passage has the topics of the questions that it answers and of the places where it
stands; a question has its own, as strong as a seeded draw from a Gamma distribution says, and
stronger where its words are in the answer. A sentence of the corpus is a question about its place.
So a similarity is the local model's, and the signal for an answer, and the noise of topics that
are not quite orthogonal; and the vectors go through the real pipeline as those of any model.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from context_search.core.documents import string_nodes
from context_search.integrations.ports import Embedder
from context_search.ranking.measures import TextRange
from context_search.ranking.relevance import coverage
from context_search.text.analysis import query_weights, tokens
from evaluation.judged import JudgedSet, Question

Vector = NDArray[np.float32]
Topic = tuple[str, ...]

STRENGTHS: Mapping[str, float] = {
    "synthetic-75": 0.045,
    "synthetic-85": 0.095,
    "synthetic-90": 0.135,
}
"""Mean signal by name; the number is about the nDCG@10 of the vectors alone."""
SEED = 7
SHAPE = 2.0
"""Of the Gamma distribution."""
STRONGEST = 0.5
"""Signals are cut there, so that all vectors have the length 1 and nothing but an angle counts."""
TOPIC_DIMENSIONS = 126
TOPICS = 8
"""A passage with more has each of them a little weaker."""
PLACE = 400
"""Characters of a place."""
EDGE = 40
"""Characters that find a text whose middle was taken out."""
NEAR = 3_000
OCCURRENCES = 5


@dataclass(frozen=True, slots=True)
class Located:
    """Where a text stands in the corpus of a set."""

    set_name: str
    span: TextRange

    @property
    def places(self) -> Iterator[Topic]:
        """The places that it has a fair part of."""
        least = min(PLACE, self.span.end - self.span.start) / 4
        for place in range(self.span.start // PLACE, self.span.end // PLACE + 1):
            start = place * PLACE
            if min(start + PLACE, self.span.end) - max(start, self.span.start) >= least:
                yield self.set_name, self.span.pointer, str(place)


class Corpus:
    """All texts of the sets, to find where one stands."""

    def __init__(self, sets: Sequence[JudgedSet]) -> None:
        self._names: list[tuple[str, str]] = []
        self._starts: list[int] = []
        texts: list[str] = []
        at = 0
        for judged in sets:
            for node in string_nodes(judged.document, scope="", threshold=1):
                self._names.append((judged.name, node.json_pointer))
                self._starts.append(at)
                texts.append(node.text)
                at += len(node.text) + 1
        self._text = "\0".join(texts)

    def find(self, text: str) -> list[Located]:
        """Returns the first places of a text, or of one with a piece taken out of it."""
        return self._whole(text) or self._edges(text.strip())

    def text_around(self, span: Located) -> str:
        """Returns a thousand characters about the middle of a text."""
        index = self._names.index((span.set_name, span.span.pointer))
        middle = (span.span.start + span.span.end) // 2
        first = self._starts[index]
        return self._text[first + max(0, middle - 500) : first + middle + 500].split("\0", 1)[0]

    def _whole(self, text: str) -> list[Located]:
        found: list[Located] = []
        at = self._text.find(text) if text else -1
        while at >= 0 and len(found) < OCCURRENCES:
            found.append(self._located(at, at + len(text)))
            at = self._text.find(text, at + len(text))
        return found

    def _edges(self, text: str) -> list[Located]:
        """A text with a piece taken out, by its first or its last characters."""
        if len(text) <= EDGE:
            return []
        start, end = self._text.find(text[:EDGE]), self._text.find(text[-EDGE:]) + EDGE
        if start < 0 and end < EDGE:
            return []
        if start < 0 or not start < end < start + NEAR:
            start, end = (start, start + len(text)) if start >= 0 else (end - len(text), end)
        return [self._located(start, end)]

    def _located(self, start: int, end: int) -> Located:
        index = bisect_right(self._starts, start) - 1
        name, pointer = self._names[index]
        first = self._starts[index]
        return Located(name, TextRange(pointer, start - first, end - first))


class Synthetic:
    """The port ``Embedder``: ``base``, and as much knowledge of the ``sets`` as ``name`` says."""

    def __init__(self, base: Embedder, sets: Sequence[JudgedSet], name: str) -> None:
        self._base = base
        self._mean = STRENGTHS[name]
        self.model = name
        self.dimensions = base.dimensions + TOPIC_DIMENSIONS + 2
        self.passage_key, self.query_key = base.passage_key, base.query_key
        self._corpus = Corpus(sets)
        self._questions = {
            question.text: (Located(judged.name, question.gold[0]), question)
            for judged in sets
            for question in judged.questions
        }
        self._judged: dict[tuple[str, str], list[tuple[TextRange, Question]]] = {}
        for judged in sets:
            for question in judged.questions:
                for span in question.gold:
                    of_string = self._judged.setdefault((judged.name, span.pointer), [])
                    of_string.append((span, question))

    def warm_up(self) -> None:
        self._base.warm_up()

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        vectors = self._base.embed_passages(texts, timeout_s=timeout_s)
        return [
            self._joined(vector, _SHARE * self._topics(text), _SHARE * np.sqrt(TOPICS), filler=0)
            for vector, text in zip(vectors, texts, strict=True)
        ]

    def embed_query(self, text: str, *, timeout_s: float) -> list[float]:
        vector = self._base.embed_query(text, timeout_s=timeout_s)
        topic, strength = self._asked(text)
        signal = strength / _SHARE * topic
        return self._joined(vector, signal, STRONGEST / _SHARE, filler=1)

    def embed_queries(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        return [self.embed_query(text, timeout_s=timeout_s) for text in texts]

    def _joined(
        self, vector: Sequence[float], extra: Vector, longest: float, filler: int
    ) -> list[float]:
        """All vectors of a kind have one length, by a dimension that the other kind leaves 0."""
        length = float(np.linalg.norm(extra))
        if length > longest:
            extra, length = extra * (longest / length), longest
        rest = np.zeros(2, np.float32)
        rest[filler] = np.sqrt(longest**2 - length**2)
        base = np.asarray(vector, np.float32)
        whole = np.concatenate([base / np.linalg.norm(base), extra, rest])
        joined: list[float] = (whole / np.linalg.norm(whole)).tolist()
        return joined

    def _topics(self, text: str) -> Vector:
        found = {topic for located in self._corpus.find(text) for topic in self._topics_at(located)}
        total = np.zeros(TOPIC_DIMENSIONS, np.float32)
        for topic in sorted(found):
            total += _direction(topic)
        return total

    def _topics_at(self, located: Located) -> Iterator[Topic]:
        yield from located.places
        span = located.span
        for gold, question in self._judged.get((located.set_name, span.pointer), ()):
            shared = min(gold.end, span.end) - max(gold.start, span.start)
            if 2 * shared >= min(gold.end - gold.start, span.end - span.start):
                yield "question", located.set_name, question.text

    def _asked(self, text: str) -> tuple[Vector, float]:
        """Returns the topic of a question and how strong it is; none for one about nothing here."""
        if text in self._questions:
            answer, _ = self._questions[text]
            topic: Topic = ("question", answer.set_name, text)
        elif found := self._corpus.find(text):
            answer = found[0]
            middle = (answer.span.start + answer.span.end) // 2
            topic = (answer.set_name, answer.span.pointer, str(middle // PLACE))
        else:
            return np.zeros(TOPIC_DIMENSIONS, np.float32), 0.0
        around = self._corpus.text_around(answer).replace(text, " ")
        return _direction(topic), self._strength(text, around)

    def _strength(self, text: str, answer: str) -> float:
        draw = _random(("strength", text)).gamma(SHAPE, 1 / SHAPE)
        words = query_weights(text)
        shared = coverage(words, set(tokens(answer))) if words else 0.0
        return float(min(STRONGEST, self._mean * draw * (0.5 + shared)))


_SHARE = float((STRONGEST**2 / TOPICS) ** 0.25)
"""How long a topic is in a passage: the one that leaves the base most of the angle."""


def _random(name: Topic) -> np.random.Generator:
    digest = hashlib.sha256(json.dumps([SEED, *name]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))


@cache
def _direction(topic: Topic) -> Vector:
    direction = _random(topic).standard_normal(TOPIC_DIMENSIONS).astype(np.float32)
    unit: Vector = direction / np.linalg.norm(direction)
    return unit
