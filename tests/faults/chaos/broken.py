"""Orders of this process whose connection or reply is lost at a chosen point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from context_search.core.errors import CommitUnknownError, ContextSearchError
from context_search.indexing.node_report import RetryLater
from testing.in_memory.queue import ListQueue
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.gate import Point, after_commits, points
from tests.faults.chaos.killing import Order, Place
from tests.faults.chaos.parts import ChaosParts

VICTIM = "chaos-victim"


@contextmanager
def victim_of(deployment: Deployment) -> Iterator[ChaosParts]:
    """Parts whose connections can be told from all others."""
    parts = ChaosParts(
        deployment.database_url, deployment.turbopuffer_url, ListQueue(), application_name=VICTIM
    )
    yield parts
    parts.database.close()


def losses(deployment: Deployment, victim: ChaosParts) -> dict[str, Breakage]:
    """What may be lost: a connection, or the reply to a COMMIT."""

    def terminate() -> None:
        with deployment.parts.database.transaction() as tx:
            tx.run(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE application_name = :name AND datname = current_database()
                """,
                name=VICTIM,
            )

    def lose_reply() -> None:
        raise CommitUnknownError("the reply to COMMIT got lost")

    return {
        "terminated": Breakage(deployment, victim, terminate),
        "reply lost": Breakage(deployment, victim, lose_reply, only_commits=True),
    }


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
