"""SIGKILL between all outside calls of the scheduled run."""

from __future__ import annotations

from functools import partial

from context_search.core.callers import Internal
from tests.builders import until
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.gate import Point, points
from tests.faults.chaos.killing import EDITED, Place, check, indexed
from tests.faults.chaos.worker_processes import WorkerProcesses

RARE = {"delete namespace", "removals.purge_generation", "chunks.requeue_missing+send"}


def test_cleanup_may_die_anywhere(deployment: Deployment, workers: WorkerProcesses) -> None:
    places: list[Place] = []
    seen: dict[str, None] = {}

    def damage() -> None:
        """Something for every step."""
        owner = deployment.project()
        gone, _ = indexed(deployment, owner)
        table, tool = indexed(deployment, owner)
        deployment.parts.use_cases.tables.delete(owner, gone.id)
        deployment.parts.use_cases.rebuilds.start(tool.id, Internal())
        deployment.work()
        deployment.replace(table, {"a": EDITED})  # the order is lost
        deployment.orders()
        namespace = deployment.index(tool).generation.namespace
        deployment.parts.vectors.delete(
            namespace, deployment.parts.vectors.ids_after(namespace, "", 1)
        )
        places.append((table, tool))

    def does_everything() -> bool:
        damage()
        seen.update(dict.fromkeys(workers.do("cleanup").calls))
        return seen.keys() >= RARE

    def is_killed(at: Point) -> bool:
        killed = workers.do("cleanup", at=at).killed
        if not killed:
            damage()
        return killed

    until(does_everything)
    for point in points(list(seen)):
        until(partial(is_killed, point))
    check(deployment, places)
