"""What things cost: every price of the model, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TURBOPUFFER = "turbopuffer.com/pricing, September 2026, plan Launch"
AWS = "AWS list price, us-east-1, on demand, no free tier; November 2026, look it up"
ASSUMED = "assumed: the page names 50 % as the most, and no size"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a unit, and who says so."""

    dollars: float
    unit: str
    source: str


PRICES: Mapping[str, Price] = {
    "turbopuffer minimum": Price(16.0, "month", TURBOPUFFER),
    "turbopuffer storage": Price(0.33, "GB-month, half of it for what has no index", TURBOPUFFER),
    "turbopuffer written": Price(2.0, "GB, 10 kB a request at least", TURBOPUFFER),
    "turbopuffer queried": Price(1.0, "PB, 1.28 GB a query at least", TURBOPUFFER),
    "turbopuffer returned": Price(0.05, "GB", TURBOPUFFER),
    "Lambda": Price(0.0000133334, "GB-second, arm64", AWS),
    "Lambda requests": Price(0.20, "million", AWS),
    "HTTP API": Price(1.0, "million requests", AWS),
    "SQS": Price(0.40, "million requests", AWS),
    "secret": Price(0.40, "month", AWS),
    "metric": Price(0.30, "custom metric and month", AWS),
    "logs": Price(0.53, "GB, taken in and kept for a month", AWS),
    "NAT gateway": Price(33.0, "month, with little traffic", AWS),
    "Postgres storage": Price(0.115, "GB-month, gp3", AWS),
    "db.t4g.small": Price(23.4, "month", AWS),
    "db.t4g.medium": Price(47.5, "month", AWS),
    "db.r7g.xlarge": Price(349.0, "month", AWS),
}
BATCH_DISCOUNT = Price(0.25, "share of a write of 100 kB or more", ASSUMED)


def price(name: str) -> float:
    """Returns the dollars of a unit."""
    return PRICES[name].dollars
