"""``context-search usage``: what the project holds and spends, and how much it may."""

from __future__ import annotations

from typing import Any

import typer

from context_search_cli.command import Session, command
from context_search_cli.output import Output, number

app = typer.Typer()
NEAR = 0.9
"""Share of a limit from which ``doctor`` speaks of it."""


@command(app, "usage")
def usage(session: Session) -> None:
    """Show what the project holds, what it spent on models by day, and its limits."""
    health = session.client.get(f"{session.project}/health")
    session.out.result(health, lambda: _show(session.out, health.body))


def near_limits(health: dict[str, Any]) -> list[str]:
    """Returns the limits of which the project has nearly all, or all of today's."""
    today = _today(health)
    pairs = [
        *((name, used, health["limits"][name]) for name, used in health["usage"].items()),
        *((name, today.get(name, 0), most) for name, most in health["daily_limits"].items()),
    ]
    return [
        f"{_words(name)}: {number(used)} of {number(most)}"
        for name, used, most in pairs
        if most and used >= NEAR * most
    ]


def _today(health: dict[str, Any]) -> dict[str, Any]:
    days = [day for day in health["spent"] if day["day"] == health["at"][:10]]
    return days[0] if days else {}


def _show(out: Output, health: dict[str, Any]) -> None:
    for name, used in health["usage"].items():
        out.line(f"{_words(name)}: {number(used)} of {number(health['limits'][name])}")
    for name, most in health["daily_limits"].items():
        allowed = "no limit" if most is None else f"at most {number(most)}"
        out.line(f"{_words(name)} a day: {allowed}")
    for day in health["spent"]:
        tokens, reranks = number(day["embedding_tokens"]), number(day["reranks"])
        out.line(f"{day['day']}: {tokens} embedding tokens, {reranks} reranks")


def _words(name: str) -> str:
    return name.replace("_", " ")
