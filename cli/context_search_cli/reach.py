"""Which judged ranges stand in what a tool searches: the others are misses of nobody's ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search_cli.client import Client
from context_search_cli.command import Session
from context_search_cli.concurrent import concurrently
from context_search_cli.failures import ProblemError, UsageError
from context_search_cli.judged import Question
from context_search_cli.output import Output, counted, number


@dataclass(frozen=True, slots=True)
class Reach:
    """Of so many judged ranges, those that a tool cannot find.

    ``elsewhere``: no string of its index is at their pointer. ``behind``: they end behind the text.
    """

    tool: int
    ranges: int
    elsewhere: int
    behind: int

    @property
    def missing(self) -> int:
        """Ranges that no answer of the tool can cover as they were judged."""
        return self.elsewhere + self.behind

    @property
    def document(self) -> dict[str, Any]:
        """As JSON says it."""
        return {
            "ranges": self.ranges,
            "ranges_not_searched": self.missing,
            "ranges_behind_text": self.behind,
        }

    def report(self, out: Output) -> None:
        """Warns of ranges that are out of reach. Raises UsageError where all of them are."""
        if not self.missing:
            return
        behind = f" ({number(self.behind)} for an end behind the text)" if self.behind else ""
        reported = (
            f"{number(self.missing)} of {number(self.ranges)} judged ranges are not in what tool"
            f" {self.tool} searches{behind}"
        )
        if self.missing == self.ranges:
            raise UsageError(f"{reported}: its figures would say nothing")
        out.warn(reported)


def reaches(
    session: Session, questions: Sequence[Question], tools: Sequence[int]
) -> dict[int, Reach]:
    """What each tool reaches, by one request a string. Raises UsageError where that is nothing."""
    found = {}
    for tool in dict.fromkeys(tools):
        session.client.get(f"/api/v1/tools/{tool}")  # or a tool that is not would have no string
        found[tool] = _reach(session, questions, tool)
        found[tool].report(session.out)
    return found


def _reach(session: Session, questions: Sequence[Question], tool: int) -> Reach:
    places = [place for question in questions for place in question.gold]
    lengths: dict[str, int | None] = {}

    def ask(pointer: str) -> None:
        lengths[pointer] = _length(session.client, tool, pointer)

    pointers = list(dict.fromkeys(place["json_pointer"] for place in places))
    with session.out.progress(f"looking where the answers are, tool {tool}") as report:
        concurrently(
            ask,
            pointers,
            reported=lambda done: report(
                f"looked at: {done} of {counted(len(pointers), 'string')}", done / len(pointers)
            ),
        )
    ends = [(place["char_end"], lengths[place["json_pointer"]]) for place in places]
    elsewhere = sum(length is None for _, length in ends)
    behind = sum(length is not None and end > length for end, length in ends)
    return Reach(tool, len(places), elsewhere, behind)


def _length(client: Client, tool: int, pointer: str) -> int | None:
    """Characters of a string that a tool searches, None where it has none at this place."""
    try:
        body = {"json_pointer": pointer, "limit": 1}
        return int(client.ask(f"/api/v1/tools/{tool}/chunks", body)["char_count"])
    except ProblemError as refusal:
        if refusal.status not in {404, 422}:  # 422: no pointer at all
            raise
        return None
