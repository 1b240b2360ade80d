"""Ten questions whose answers cross the border of a chunk, or stand outside the best passage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.e2e.reading.documents import (
    CRATE,
    CRATE_END,
    DRUMS,
    ITEMS,
    LAST_COST,
    LATE_PERIOD,
    PIZZA,
    QUIET,
    REPAIR,
    SANDWICH,
    essays,
    lease,
    log,
)


@dataclass(frozen=True, slots=True)
class Question:
    """``answer`` is what has to be in the texts that were read, each of them whole.

    ``look_up`` are exact words that stand in the question or in the best passage, as a reader
    finds them there.
    """

    text: str
    collection: str
    answer: tuple[str, ...]
    look_up: str | None = None


COLLECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "search_essays": essays,
    "search_log": log,
    "search_lease": lease,
}
"""Name of a Search Tool → its document."""


def questions() -> list[Question]:
    """The questions; what essays say themselves is quoted from them."""
    return [*_of_essays(), *_of_log(), *_of_lease()]


def _of_essays() -> list[Question]:
    worked = str(essays()["essays"]["worked"])
    return [
        Question(
            "What did he answer when Cheatham asked whether he was far enough along to graduate?",
            "search_essays",
            (_between(worked, "I didn't have a word of my dissertation", "in a few days."),),
        ),
        Question(
            "What does the essay on wealth recommend some time after Balzac's words on every great"
            " fortune and a crime?",
            "search_essays",
            (SANDWICH,),
        ),
        Question(
            "Which are all the secret ingredients needed to build the perfect pizza?",
            "search_essays",
            tuple(PIZZA.values()),
            "secret ingredients needed to build the perfect pizza",
        ),
        Question(
            "How was the letter from the Accademia delayed, and what did he write about in the"
            " examination that followed?",
            "search_essays",
            (_between(worked, "a letter from\nthe Accademia", "writing about Cezanne"),),
        ),
    ]


def _of_log() -> list[Question]:
    return [
        Question(
            "What was in the whole store that was counted for the commissioners on the fourth of"
            " May, from first to last?",
            "search_log",
            (";\n".join(ITEMS),),
        ),
        Question(
            "How was the damage mended after the gull broke the north window of the lantern?",
            "search_log",
            (REPAIR,),
        ),
        Question(
            f"Who got what the crate {CRATE} held when it was opened at last?",
            "search_log",
            (CRATE_END,),
            CRATE,
        ),
    ]


def _of_lease() -> list[Question]:
    return [
        Question(
            "Which notice period has a tenant who paid the deposit late, but in full?",
            "search_lease",
            (LATE_PERIOD,),
            "§ 14(3)(b)",
        ),
        Question(
            "What does the landlord alone bear and never pass on to the tenants, to the last"
            " letter of the list?",
            "search_lease",
            ("The landlord alone bears", LAST_COST),
        ),
        Question(
            "Which are the quiet hours in which drums, tubas and the bagpipe stay silent?",
            "search_lease",
            (QUIET, DRUMS),
        ),
    ]


def _between(text: str, first: str, last: str) -> str:
    """A passage by its first and last words."""
    start = text.index(first)
    return text[start : text.index(last, start) + len(last)]
