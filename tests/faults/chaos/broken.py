"""Orders of this process whose connection or reply is lost at a chosen point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from context_search.domain.errors import ContextSearchError
from context_search.services.indexing.node_report import RetryLater
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.gate import Point, after_commits, points
from tests.faults.chaos.killing import Order, Place
from tests.faults.chaos.parts import ChaosParts


@dataclass
class Outcome:
    """Where an order was disturbed, and the error that its caller got."""

    place: Place
    point: Point
    error: ContextSearchError | None


@dataclass
class Breakage:
    """``act`` happens between all calls of an order, each time at a place of its own.

    With ``only_commits`` it happens right after every COMMIT instead.
    """

    deployment: Deployment
    parts: ChaosParts
    act: Callable[[], None]
    only_commits: bool = False
    outcomes: list[Outcome] = field(default_factory=list)

    def everywhere(
        self, prepare: Callable[[], Place], order: Callable[[Place], Order]
    ) -> list[Place]:
        """Returns the places. An error that is none of ours ends the test."""
        self.parts.gate.arm(None, self.act)
        self._do(order(prepare()))
        calls = self.parts.gate.calls
        for point in after_commits(calls) if self.only_commits else points(calls):
            place = prepare()
            wanted = order(place)
            self.parts.gate.arm(point, self.act)
            self.outcomes.append(Outcome(place, point, self._do(wanted)))
        return [outcome.place for outcome in self.outcomes]

    def failed(self) -> set[str]:
        """The calls at which the caller got an error."""
        return {each.point.name for each in self.outcomes if each.error is not None}

    def succeeded(self) -> list[Place]:
        """The places where the caller was told that all went well."""
        return [each.place for each in self.outcomes if each.error is None]

    def _do(self, order: Order) -> ContextSearchError | None:
        what, *arguments = order
        try:
            self.parts.orders[what](*arguments)
        except RetryLater:
            return None  # its message is lost
        except ContextSearchError as error:
            return error
        return None
