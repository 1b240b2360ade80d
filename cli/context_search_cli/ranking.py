"""Another ranking than a tool's, to be tried: ``--draft bm25=.5,vector=.4,recency=.1``."""

from __future__ import annotations

from typing import Annotated

import typer

from context_search_cli.failures import UsageError

_SHORT = {
    "bm25": "bm25_weight",
    "keyword": "bm25_weight",
    "vector": "vector_weight",
    "recency": "recency_weight",
}
_TEXTS = {"strategy", "fusion"}
_KNOWN = (*sorted(_TEXTS), *_SHORT, "rerank")
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
        if name not in {*_SHORT.values(), *_TEXTS, "rerank"} or not value:
            raise UsageError(f"--draft {part}: KEY=VALUE with one of {', '.join(_KNOWN)}")
        found[name] = value if name in _TEXTS else _number(part, value)
    return found


def _number(part: str, value: str) -> float | None:
    if value == "null":
        return None
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"--draft {part}: a number, or null") from None
