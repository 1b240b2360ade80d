"""Orders that end in the middle, each at a place of its own, and the check that all was mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from context_search.core.callers import Principal
from context_search.core.model import SearchTool, Table
from tests.builders import english
from tests.faults.chaos.compare import assert_no_namespace_is_lost, assert_whole
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.gate import points
from tests.faults.chaos.worker_processes import WorkerProcesses

LONG = english(90, seed=1)
EDITED = LONG + " and something else"
DOCUMENT = {"a": LONG, "b/c": {"d": [english(40, seed=2), "short"]}}

Place = tuple[Table, SearchTool]
Order = tuple[str, *tuple[object, ...]]


def indexed(deployment: Deployment, owner: Principal) -> Place:
    """A table whose tool is ready."""
    table = deployment.table(owner, DOCUMENT)
    tool = deployment.tool(table)
    deployment.work()
    return table, tool


def check(deployment: Deployment, places: list[Place]) -> None:
    """Everything settles, and then every index is its document."""
    deployment.settle()
    for table, _ in places:
        assert_whole(deployment, table)
    assert_no_namespace_is_lost(deployment)
    deployment.clear()


@dataclass
class Kills:
    """One process for each point of an order.

    Messages that healthy hands have not taken yet are lost with the killed, which is worse than
    SQS: only leases, the outbox and cleanup can bring the work back.
    """

    deployment: Deployment
    workers: WorkerProcesses
    places: list[Place] = field(default_factory=list)

    def everywhere(
        self, prepare: Callable[[], Place], order: Callable[[Place], Order]
    ) -> list[str]:
        """Has an order done, and then killed at every point of it; returns its outside calls."""
        alive = self.workers.do(*self._order(prepare, order))
        for point in points(alive.calls):
            end = self.workers.do(*self._order(prepare, order), at=point)
            assert end.killed, point
        return alive.calls

    def _order(self, prepare: Callable[[], Place], order: Callable[[Place], Order]) -> Order:
        self.deployment.free_permits()
        self.places.append(prepare())
        wanted = order(self.places[-1])
        self.deployment.orders()
        return wanted

    def check(self) -> None:
        """Healthy hands mend it all."""
        check(self.deployment, self.places)
