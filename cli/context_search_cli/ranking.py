"""Another ranking than a tool's, to be tried: ``--draft bm25=.5,vector=.4,recency=.1``."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import typer

from context_search_cli.failures import UsageError

Strategy = Literal["hybrid", "semantic", "keyword"]
Fusion = Literal["convex", "rrf", "linear"]
_SHORT = {
    "bm25": "bm25_weight",
    "keyword": "bm25_weight",
    "vector": "vector_weight",
    "recency": "recency_weight",
}
_WORDS = {"fusion": get_args(Fusion), "strategy": get_args(Strategy)}
_KNOWN = (*_WORDS, *_SHORT, "rerank")
Draft = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE,…", help="Another ranking than the tool's; your key may manage."
    ),
]


def draft_of(given: list[str] | None) -> dict[str, object]:
    """The ``config`` of an explanation; empty without a draft. Raises UsageError.

    Keys are those of the API, or their short names; ``null`` is a value: weights as if they were
    to be found, ``rerank=null`` asks no reranking model.
    """
    found: dict[str, object] = {}
    for part in (each.strip() for text in given or [] for each in text.split(",")):
        short, _, value = part.partition("=")
        name = _SHORT.get(short, short)
        if name not in {*_SHORT.values(), *_WORDS, "rerank"} or not value:
            raise UsageError(f"--draft {part}: KEY=VALUE with one of {', '.join(_KNOWN)}")
        found[name] = _value(name, value, part)
    return found


def _value(name: str, value: str, part: str) -> object:
    if name in _WORDS:
        if value not in _WORDS[name]:
            raise UsageError(f"--draft {part}: one of {', '.join(_WORDS[name])}")
        return value
    if value == "null":
        return None
    if name == "rerank":
        raise UsageError(f"--draft {part}: null, which asks no reranking model")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise UsageError(f"--draft {part}: a number from 0 to 1, or null")
    return weight
