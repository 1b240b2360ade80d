"""How relevant a hit is, as a number that does not depend on the other hits or on a language."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, median

import regex

from context_search.core.config import SearchConfig, Weights, WeightsFrom
from context_search.core.model import Index
from context_search.ranking.fusion import ranking


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where the cosine similarities of an index mean "as likely as not".

    That is at ``middle``; ``width`` is how far a similarity must move to change the odds by e.
    """

    middle: float
    width: float


# ---- What is known of models, and what is found out about an index.

CALIBRATIONS = {"local/use-multilingual-v3": Calibration(middle=0.46, width=0.06)}
"""Of the small static models that were measured with judged questions."""
DEFAULT_CALIBRATION = Calibration(middle=0.45, width=0.06)
LEXICAL = Calibration(middle=0.6, width=0.08)
"""Calibration of the share of a question's words that a text has. docs/quality.md has the
figures.
"""
FALLBACK = Calibration(middle=0.2, width=0.035)
"""Calibration of how far a similarity leads those of the ranks 11 to 20, as a share of what it
could lead: docs/quality.md."""
LEAST_WIDTH = 0.0035
"""A smaller one would make a step of it."""
_BEHIND = slice(10, 20)
WEAK_VECTOR_WEIGHT, VECTOR_WEIGHT = 0.2, 0.5
"""Weight of the vectors where none was found: of a model that is known to be weak, of another."""


def is_weak(model: str) -> bool:
    """Says whether a model is known to be a weak one: words find more than its vectors."""
    return model in CALIBRATIONS


def model_weight(model: str) -> float:
    """Returns the weight of the vectors where nothing was found out about an index."""
    return WEAK_VECTOR_WEIGHT if is_weak(model) else VECTOR_WEIGHT


def weights_of(search: SearchConfig, index: Index) -> Weights:
    """Returns what the legs count: as the tool says, as was found, or as is known of the model."""
    if search.vector_weight is not None and search.bm25_weight is not None:
        return Weights(search.vector_weight, search.bm25_weight, search.recency_weight, "tool")
    calibration = index.generation.calibration
    found = None if calibration is None else calibration.vector_weight
    vector = model_weight(index.config.model) if found is None else found
    source: WeightsFrom = "model" if found is None else "calibration"
    return Weights(vector, round(1.0 - vector, 6), search.recency_weight, source)


def calibration_of(index: Index, vector: Mapping[str, float]) -> Calibration:
    """Returns what the similarities of a question to its candidates, ``vector``, mean.

    That is what was found out about the index, or is known of its model. For any other model it
    follows from the candidates themselves: those of the ranks 11 to 20 answer few questions.
    """
    found, known = index.generation.calibration, CALIBRATIONS.get(index.config.model)
    if found is not None:
        return Calibration(found.middle, found.width)
    behind = sorted(vector.values(), reverse=True)[_BEHIND]
    if known is not None or not behind:
        return known or DEFAULT_CALIBRATION
    base = fmean(behind)
    width = max(FALLBACK.width * (1.0 - base), LEAST_WIDTH)
    return Calibration(base + FALLBACK.middle * (1.0 - base), width)


WORDLESS = 0.5
"""Weight of similarity alone when the question has no words to compare, such as ``the of``. The
vector of such a question is near to everything.
"""

SIGNS_ONLY = 0.2
"""Worth of a text without letters and numbers, such as emoji. No word of a question can be in it,
and its vector is near to every short question.
"""
_LETTER_OR_NUMBER = re.compile(r"[^\W_]")


def worth(text: str) -> float:
    """Returns the factor (0..1) of a text's relevance that does not depend on the question.

    >>> worth("🦜 parrot"), worth("🦜🦜")
    (1.0, 0.2)
    """
    return 1.0 if _LETTER_OR_NUMBER.search(text) else SIGNS_ONLY


def relevance(
    cosine: float | None,
    words: Mapping[str, float],
    chunk_tokens: Collection[str],
    calibration: Calibration,
) -> float:
    """Returns 0..1 from the similarity of the vectors and the share of the query's words found.

    ``words`` are the query's tokens with what each counts.

    Either kind of evidence is enough; both together count more than each alone. A question of stop
    words only has at most 0.5.
    """
    semantic = 0.0 if cosine is None else _odds(cosine, calibration)
    if not words:
        return WORDLESS * semantic
    share = coverage(words, chunk_tokens)
    lexical = _odds(share, LEXICAL) if share else 0.0
    return 1.0 - (1.0 - semantic) * (1.0 - lexical)


def _odds(value: float, calibration: Calibration) -> float:
    return 1.0 / (1.0 + math.exp(-(value - calibration.middle) / calibration.width))


def coverage(words: Mapping[str, float], chunk_tokens: Collection[str]) -> float:
    """Returns the share of the query's tokens that the chunk has; longer tokens weigh more."""
    weights = _weights(tuple(words.items()))
    having = weights.keys() & chunk_tokens
    return sum(map(weights.__getitem__, having)) / sum(weights.values()) if having else 0.0


@lru_cache(maxsize=16)
def _weights(words: tuple[tuple[str, float], ...]) -> dict[str, float]:
    """Returns the weights of a question's words. Kept, because every candidate needs them."""
    return {token: weight * min(len(token), 4) for token, weight in words}


# ---- A question in one language, and passages in another: what words cannot compare.

SAMPLE = 400
"""Number of code points from which the script of a text is determined."""
LETTERS_PER_WORD = 5
FULL_COVERAGE = 0.8
NEAREST = 3
LEAST_RELEVANCE = 0.0067
"""Minimum relevance of an answer: five widths under the middle of a model's calibration."""
STANDS_OUT = 5 / 6
"""Minimum lead in similarity of a passage over the median passage in its language, in widths of the
calibration: .05 for the model that it was measured with. All passages are near to a question that
none of them answers.
"""
_CJK_RUN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]++")
_OTHER_LETTER = regex.compile(r"[\p{L}--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]]", regex.V1)


def is_foreign(question: str, text: str) -> bool:
    """Says whether one is written in Han, kana or Hangul and the other is not.

    >>> is_foreign("how do I reset it?", "长按电源键十秒即可 reset"), is_foreign("重置", "重新设置")
    (True, False)
    """
    return _is_cjk(question[:SAMPLE]) != _is_cjk(text[:SAMPLE])


@lru_cache(maxsize=4_096)
def _is_cjk(sample: str) -> bool:
    """Kept for 4,096 samples (4 MB): the same passages are candidates again and again."""
    if sample.isascii():
        return False
    cjk = sum(map(len, _CJK_RUN.findall(sample)))
    # One such character says about as much as a word of the others.
    if cjk * LETTERS_PER_WORD > len(sample) - cjk:
        return True  # whatever the others are
    return cjk > len(_OTHER_LETTER.findall(sample)) / LETTERS_PER_WORD


def across_languages(
    scores: Mapping[str, float],
    foreign: Mapping[str, float],
    vector: Mapping[str, float],
    best_coverage: float,
    width: float,
) -> dict[str, float]:
    """Returns scores (0..1) in which passages of both languages compare.

    A passage in another language cannot have the question's words, so its score is its
    ``relevance`` (the values of ``foreign``). The others were compared by words, the best one
    being 1 however little it matches: they count in full from 80 % of the question's words in the
    best of them, ``best_coverage``. Passages that repeat the question's words still come before
    one that answers it, so the best in another language is third at least where it is among the
    three nearest by ``vector`` (similarities), has a relevance of its own and stands out among its
    kind, by the ``width`` of what similarities mean: docs/quality.md has what that gains and costs.
    Where the second and what follows are equal, it only gets their score.

    >>> across_languages({"en": 0.9, "zh": 0.2}, {"zh": 0.5}, {"zh": 0.4, "en": 0.3}, 0.4, 0.06)
    {'en': 0.45, 'zh': 0.5}
    """
    trust = min(1.0, best_coverage / FULL_COVERAGE)
    compared = {name: foreign.get(name, score * trust) for name, score in scores.items()}
    nearest = next((name for name in ranking(vector)[:NEAREST] if name in foreign), None)
    own = sorted((score for name, score in compared.items() if name not in foreign), reverse=True)
    if nearest is not None and len(own) > 1 and _is_near(nearest, foreign, vector, width):
        third = sum(own[1:3]) / len(own[1:3])  # halfway between the second and what follows
        compared[nearest] = max(compared[nearest], third)
    return compared


def _is_near(
    name: str, foreign: Mapping[str, float], vector: Mapping[str, float], width: float
) -> bool:
    """Says whether the best passage in another language is near enough to be promoted at all."""
    others = [vector[other] for other in foreign if other != name]
    stands_out = not others or vector[name] - median(others) >= STANDS_OUT * width
    return stands_out and foreign[name] >= LEAST_RELEVANCE
