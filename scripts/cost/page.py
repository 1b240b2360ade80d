"""The tables of docs/cost.md: bills, levers, prices and quantities as the model has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scripts.cost.bill import bill, first_bill
from scripts.cost.load import BEFORE, LAST, NOW, USERS, Load, State
from scripts.cost.prices import BATCH_DISCOUNT, PRICES
from scripts.cost.quantities import QUANTITIES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cost.md"
_MARKED = re.compile(
    r"(?<=<!-- )(bills en|bills zh|last|levers|prices|quantities)( -->\n)(.*?)(?=<!-- end -->)",
    re.S,
)
SIZES = ("small", "medium", "large")
LEVERS: Mapping[str, Mapping[str, object]] = {
    "`EmbeddingDimensions` 512 instead of 1,536": {"dimensions": 512},
    "`VectorPrecision` `f16`": {"precision": "f16"},
    "both": {"dimensions": 512, "precision": "f16"},
    "`EmbeddingWindowTokens` 0 instead of 250": {"window_tokens": 0},
    "`search` with 1,024 MB": {"search_mb": 1024},
    "`CleanupSchedule` of five minutes": {"cleanup_s": 300.0},
    "a VPC with a NAT gateway": {"in_vpc": True},
    "a model at $0.13 a million tokens": {"model_price": 0.13},
    "all strings in one namespace": {"namespaces": 1},
}


def written(page: str) -> str:
    """Returns the text of the page with its tables as the model has them now."""
    tables = {
        "bills en": lambda: bills(_speaking("en")),
        "bills zh": lambda: bills(_speaking("zh")),
        "last": _last,
        "levers": levers,
        "prices": _prices,
        "quantities": _quantities,
    }
    return _MARKED.sub(lambda found: f"{found[1]}{found[2]}{tables[found[1]]()}", page)


def bills(users: Mapping[str, Load]) -> str:
    """Returns what users pay, a column each, as first measured and now."""
    columns = [(f"{name}, {state.name}", bill(load, state)) for name, load, state in _each(users)]
    rows = [
        [
            f"**{line}**" if line == "total" else line,
            *(_dollars(lines[line]) for _, lines in columns),
        ]
        for line in columns[0][1]
        if any(lines[line] for _, lines in columns)
    ]
    first = ["first load, once", *(_dollars(first_bill(load)) for _, load, _ in _each(users))]
    return _table(["$ a month", *(name for name, _ in columns)], [*rows, first])


def levers() -> str:
    """Returns what each lever changes of the bill as it is now, for every user."""
    names = [f"{size} {language}" for language in ("en", "zh") for size in SIZES]
    rows = [
        [lever, *(_difference(USERS[name], changes, NOW) for name in names)]
        for lever, changes in LEVERS.items()
    ]
    metrics = replace(NOW, counts_routes=True)
    changed = [bill(USERS[name], metrics)["total"] - _total(USERS[name]) for name in names]
    rows.append(["`DetailedRouteMetrics`", *map(_signed, changed)])
    return _table(["$ a month", *names], rows)


def _speaking(language: str) -> Mapping[str, Load]:
    return {name: load for name, load in USERS.items() if load.language == language}


def _each(users: Mapping[str, Load]) -> Iterator[tuple[str, Load, State]]:
    for name, load in users.items():
        for state in (BEFORE, NOW):
            yield name, load, state


def _difference(load: Load, changes: Mapping[str, object], state: State) -> str:
    other = replace(load, **changes)  # type: ignore[arg-type]
    return _signed(bill(other, state)["total"] - bill(load, state)["total"])


def _total(load: Load) -> float:
    return bill(load, NOW)["total"]


def _last() -> str:
    costs = [f"{name} {_dollars(bill(load, LAST)['total'])}" for name, load in USERS.items()]
    return f"{LAST.name} cost in $ a month: {', '.join(costs)}.\n"


def _prices() -> str:
    priced = {**PRICES, "writes in batches": BATCH_DISCOUNT}
    rows = [[name, f"{each.dollars:g}", each.unit, each.source] for name, each in priced.items()]
    return _table(["price", "$", "for", "says"], rows)


def _quantities() -> str:
    rows = [
        [name, f"{each.en:g}", f"{each.zh:g}", each.unit, each.measured]
        for name, each in QUANTITIES.items()
    ]
    return _table(["quantity", "en", "zh", "", "measured"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in [head, *rows]]
    return lines[0] + "|---" * len(head) + "|\n" + "".join(lines[1:])


def _dollars(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 10 else f"{amount:.1f}"


def _signed(amount: float) -> str:
    return (
        "–" if abs(amount) < 0.05 else f"{amount:+,.0f}" if abs(amount) >= 10 else f"{amount:+.1f}"
    )
