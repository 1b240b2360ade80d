"""SIGKILL between all outside calls of the scheduled run."""

from __future__ import annotations

from functools import partial

from context_search.domain.access import Internal
from tests.builders import until
from tests.faults.chaos.gate import Point, points
from tests.faults.chaos.killing import EDITED, Place, check, indexed
from tests.faults.chaos.mortal import Mortals
from tests.faults.chaos.site import Site

RARE = {"delete namespace", "deletions.forget_generation", "sweeps.requeue_missing+send"}


def test_cleanup_may_die_anywhere(site: Site, workers: Mortals) -> None:
    places: list[Place] = []
    seen: dict[str, None] = {}

    def damage() -> None:
        """Something for every step."""
        owner = site.project()
        gone, _ = indexed(site, owner)
        table, tool = indexed(site, owner)
        site.parts.tables.delete(owner, gone.id)
        site.parts.operations.rebuilds.start(tool.id, Internal())
        site.work()
        site.replace(table, {"a": EDITED})  # the order is lost
        site.orders()
        namespace = site.index(tool).namespace
        site.parts.vectors.delete(namespace, site.parts.vectors.ids_after(namespace, "", 1))
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
    check(site, places)
