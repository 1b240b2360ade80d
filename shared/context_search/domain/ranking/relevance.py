"""How relevant a hit is, as a number that does not depend on the other hits."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where the cosine similarities of a model mean "as likely as not": measured per model.

    Short questions and long passages of the same topic lie around ``middle``; ``width`` is how
    far the similarity must move to change the odds by e.
    """

    middle: float
    width: float


CALIBRATIONS = {"local/use-multilingual-v3": Calibration(middle=0.46, width=0.06)}
DEFAULT_CALIBRATION = Calibration(middle=0.45, width=0.06)
LEXICAL = Calibration(middle=0.6, width=0.08)
"""The same for the share of a question's words that a text has. docs/quality.md has the figures."""
WORDLESS = 0.5
"""What similarity alone counts where the question has no words to compare, as in ``the of``: the
vector of such a question is near to everything."""

SIGNS_ONLY = 0.2
"""What a text without a letter and a number counts, as one of emoji: no word of a question can be
in it, and its vector is near to every short question."""
_LETTER_OR_NUMBER = re.compile(r"[^\W_]")


def worth(text: str) -> float:
    """Returns what a text counts (0..1) before it is compared with any question.

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
    """Of a question, which is compared with every candidate."""
    return {token: weight * min(len(token), 4) for token, weight in words}
