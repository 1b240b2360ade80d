"""How relevant a hit is, as a number that does not depend on the other hits."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Calibration:
    """Where the cosine similarities of a model mean "as likely as not": measured per model.

    Short questions and long passages of the same topic lie around ``middle``; ``width`` is how
    far the similarity must move to change the odds by e.
    """

    middle: float
    width: float


CALIBRATIONS = {"local/use-multilingual-v3": Calibration(middle=0.42, width=0.06)}
DEFAULT_CALIBRATION = Calibration(middle=0.45, width=0.06)
LEXICAL_CEILING = 0.95


def relevance(
    cosine: float | None,
    query_tokens: Collection[str],
    chunk_tokens: Collection[str],
    calibration: Calibration,
) -> float:
    """Returns 0..1 from the similarity of the vectors and the share of the query's words found.

    Either kind of evidence is enough; both together count more than each alone.
    """
    semantic = 0.0
    if cosine is not None:
        semantic = 1.0 / (1.0 + math.exp(-(cosine - calibration.middle) / calibration.width))
    lexical = LEXICAL_CEILING * coverage(query_tokens, chunk_tokens) ** 2
    return 1.0 - (1.0 - semantic) * (1.0 - lexical)


def coverage(query_tokens: Collection[str], chunk_tokens: Collection[str]) -> float:
    """Returns the share of the query's tokens that the chunk has; longer tokens weigh more."""
    weights = {token: float(min(len(token), 4)) for token in query_tokens}
    total = sum(weights.values())
    if not total:
        return 0.0
    found = set(chunk_tokens)
    return sum(weight for token, weight in weights.items() if token in found) / total
