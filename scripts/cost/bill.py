"""The bill of a month, line by line."""

from __future__ import annotations

from collections.abc import Mapping

from local.options import ROOT
from local.template import read_template
from scripts.cost.load import Load, State
from scripts.cost.prices import BATCH_DISCOUNT, price
from scripts.cost.quantities import quantity
from scripts.cost.usage import Usage, first_load, kept_bytes, month

GB, MILLION, PB = 1e9, 1e6, 1e15
_MEMORY_MB = {each.name: each.memory_mb for each in read_template(ROOT / "template.yaml").functions}
INDEX_MB, CLEANUP_MB = _MEMORY_MB["IndexNodeFunction"], _MEMORY_MB["CleanupFunction"]
METRICS_OF_A_ROUTE = 6
ORDER_REQUESTS = 3
"""Requests to SQS for a message: sent, received, deleted."""
IDLE_REQUESTS = 5 * 3 * 60 * 24
"""Requests of a day with which Lambda looks into the queue: five pollers, every 20 s."""
_DISCOUNTS = ((32.0, 1.0), (128.0, 0.2), (float("inf"), 0.04))
"""Shares of the price of a query for the GB of its namespace up to each bound."""


def bill(load: Load, state: State) -> Mapping[str, float]:
    """Returns the lines of a month in dollars, ``total`` the last."""
    used = month(load, state)
    lines = {
        "turbopuffer": max(price("turbopuffer minimum"), sum(turbopuffer(load, state).values())),
        "Lambda": _functions(load, used),
        "embedding": used.tokens / MILLION * load.model_price,
        "CloudWatch": _metrics(load, state) + _logs(load, used),
        "Postgres": price(load.postgres) + _postgres_bytes(load) / GB * price("Postgres storage"),
        "HTTP API, SQS, secrets": _requests(load, used),
        "NAT gateway": price("NAT gateway") if load.in_vpc else 0.0,
    }
    return {**lines, "total": sum(lines.values())}


def turbopuffer(load: Load, state: State) -> Mapping[str, float]:
    """Returns what turbopuffer charges in a month, before its minimum."""
    used = month(load, state)
    return {
        "storage": kept_bytes(load, priced=True) / GB * price("turbopuffer storage"),
        "writes": _writes(used),
        "queries": used.queried_bytes * _of_full_price(load) / PB * price("turbopuffer queried"),
        "returned": used.returned_bytes / GB * price("turbopuffer returned"),
    }


def first_bill(load: Load) -> float:
    """Returns what indexing everything once costs: writing, embedding, and the functions."""
    used = first_load(load)
    embedding = used.tokens / MILLION * load.model_price
    return _writes(used) + embedding + _seconds(used.index_seconds, INDEX_MB)


def _writes(used: Usage) -> float:
    """Small requests at the full price, batches at that with the discount."""
    large = used.written_bytes - used.small_written_bytes
    billed = used.small_written_bytes + large * (1 - BATCH_DISCOUNT.dollars)
    return billed / GB * price("turbopuffer written")


def _of_full_price(load: Load) -> float:
    """The share of the price that queries of a namespace of this size cost."""
    size = max(1.28, kept_bytes(load) / load.namespaces / GB)
    paid, below = 0.0, 0.0
    for bound, share in _DISCOUNTS:
        paid += share * max(0.0, min(size, bound) - below)
        below = bound
    return paid / size


def _functions(load: Load, used: Usage) -> float:
    search = load.questions * quantity("search seconds", load.language)
    cleanup = load.cleanups * quantity("cleanup seconds", load.language)
    cleanup += used.pages * quantity("page seconds", load.language)
    calls = load.questions + load.cleanups + used.index_runs
    return (
        _seconds(search, load.search_mb)
        + _seconds(used.index_seconds, INDEX_MB)
        + _seconds(cleanup, CLEANUP_MB)
        + calls / MILLION * price("Lambda requests")
    )


def _seconds(seconds: float, memory_mb: float) -> float:
    return seconds * memory_mb / 1024 * price("Lambda")


def _metrics(load: Load, state: State) -> float:
    routes = METRICS_OF_A_ROUTE * load.routes if state.counts_routes else 0
    own = state.metrics + state.metrics_a_route * load.routes
    return (own + routes) * price("metric")


def _logs(load: Load, used: Usage) -> float:
    written = {
        "search log": load.questions,
        "index log": used.index_runs,
        "cleanup log": load.cleanups,
    }
    lines = sum(count * quantity(name, load.language) for name, count in written.items())
    return lines / GB * price("logs")


def _postgres_bytes(load: Load) -> float:
    return load.strings * load.characters * quantity("postgres", load.language)


def _requests(load: Load, used: Usage) -> float:
    queue = ORDER_REQUESTS * used.index_runs + IDLE_REQUESTS * load.days
    edits = used.index_runs / 2
    api = (load.questions + edits) / MILLION * price("HTTP API")
    return api + queue / MILLION * price("SQS") + 3 * price("secret")
