"""Who uses a deployment, and how much; and what a state of the code does with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from context_search.core.config import Precision
from context_search.web.metrics import METRICS

Language = Literal["en", "zh"]
DAYS = 30.4
"""Days of a month."""


@dataclass(frozen=True, slots=True)
class Load:
    """A month of one user.

    ``strings`` long strings of ``characters`` each lie in ``namespaces`` indexes. ``window_tokens``
    0: one vector a chunk. ``model_price`` is that of a million tokens. ``postgres`` is the class of
    the database, ``routes`` how many routes of the API are called. ``cleanup_s`` is the rhythm of
    ``cleanup``. A lever is another value of one of these.
    """

    strings: float
    characters: float
    changed_a_day: float
    questions_a_day: float
    language: Language = "en"
    namespaces: float = 1
    dimensions: int = 1536
    precision: Precision = "f32"
    window_tokens: int = 250
    model_price: float = 0.02
    in_vpc: bool = False
    postgres: str = "db.t4g.small"
    routes: int = 15
    cleanup_s: float = 60.0
    search_mb: int = 1769
    days: float = DAYS

    @property
    def bytes_per_number(self) -> int:
        """Bytes that turbopuffer keeps of each number of a vector."""
        return 2 if self.precision == "f16" else 4

    @property
    def edits(self) -> float:
        """Edits of a month, each of one string."""
        return self.changed_a_day * self.days

    @property
    def questions(self) -> float:
        """Hybrid searches of a month."""
        return self.questions_a_day * self.days

    @property
    def cleanups(self) -> float:
        """Runs of ``cleanup`` in a month."""
        return self.days * 86_400 / self.cleanup_s


@dataclass(frozen=True, slots=True)
class State:
    """What the code does: whether an edit writes its whole string, and what CloudWatch counts."""

    name: str
    rewrites_strings: bool
    counts_routes: bool
    metrics: float
    metrics_a_route: float = 0.0


BEFORE = State("before", True, counts_routes=True, metrics=36, metrics_a_route=5.5)
"""As first measured, before 0.1.0."""
LAST = State("0.2.0", False, counts_routes=False, metrics=42)
"""The last release."""
NOW = State("after", False, counts_routes=False, metrics=sum(map(len, METRICS.values())))

_ENGLISH = {
    "small": Load(200, 50_000, 2, 1_000),
    "medium": Load(5_000, 100_000, 100, 20_000, namespaces=25, postgres="db.t4g.medium"),
    "large": Load(
        100_000,
        100_000,
        2_000,
        500_000,
        namespaces=500,
        postgres="db.r7g.xlarge",
        routes=30,
    ),
}
USERS: Mapping[str, Load] = {
    f"{size} {language}": load if language == "en" else replace(load, language="zh")
    for size, load in _ENGLISH.items()
    for language in ("en", "zh")
}
"""Three users, in English and in Chinese, whose chunks have windows of 250 tokens."""


def read(text: str) -> Load:
    """Returns the load of ``small en`` or ``small zh, questions_a_day=50, precision=f16``.

    Raises ValueError that says what is wrong.
    """
    first, *changes = (part.strip() for part in text.split(","))
    if first not in USERS:
        raise ValueError(f"{first!r} is none of {', '.join(USERS)}")
    load, known = USERS[first], {each.name for each in fields(Load)}
    given: dict[str, Any] = {}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in known or not value:
            raise ValueError(f"{change!r} is no name=value of {', '.join(sorted(known))}")
        given[name] = _like(getattr(load, name), value)
    if given.get("precision", load.precision) not in get_args(Precision):
        raise ValueError(f"precision is one of {', '.join(get_args(Precision))}")
    return replace(load, **given)


def _like(old: object, value: str) -> object:
    if isinstance(old, bool):
        return value == "true"
    if isinstance(old, int | float):
        return float(value) if not value.isdecimal() else int(value)
    return value
