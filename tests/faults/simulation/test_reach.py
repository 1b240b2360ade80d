"""What the simulation claims to cover does happen in it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.faults.simulation.history import live, watched
from tests.faults.simulation.mutation import Mutation
from tests.faults.simulation.sightings import Sightings

pytestmark = pytest.mark.slow
LAST = 360
SEEDS = [*range(LAST), 476, 5205]
"""The last two meet what is rare: a calibration that is killed when it embeds questions, and a
document of a plan whose matches are others by then.
"""
SITUATIONS = {
    "cleanup: rested",
    "chunk: several windows",
    "chunk: stayed over an edit",
    "generation: building to active",
    "generation: active to previous",
    "generation: previous to active",
    "generation: previous to retired",
    "edit: only of fields",
    "hit: live",
    "hit: through a filter",
    "hit: stale",
    "index: came back",
    "index: evicted",
    "calibrate: calibrated",
    "calibrate: questions_embedded",
    "kill: calibrate",
    "kill: cleanup",
    "kill: enumerate",
    "document of a plan: CHANGED",
    "document of a plan: GONE",
    "document of a plan: MATCHES_DIFFER",
    "document of a plan: MOVED",
    "document of a plan: done",
    "kill: node",
    "kill: out of time",
    "kill: plan",
    "kill: user",
    "other program: delete table",
    "other program: delete tool",
    "other program: mark deleted tool",
    "other program: restore tool",
    "other program: put away table",
    "other program: restore table",
    "other program: drop namespace",
    "other program: lose documents",
    "other program: edit",
    "message: for strings of several",
    "message: delayed in the outbox",
    "message: delayed in the queue",
    "message: sent again",
    "message: waited behind those of a neighbour",
    "plan: cancelled",
    "plan: done",
    "plan: done undo",
    "plan: expired",
    "plan: failed",
    "plan: left to a worker",
    "plan: partial",
    "plan: partial undo",
    "plan: previewing in the request",
    "plan: ready in the request",
    "plan: redone",
    "plan: replayed",
    "plan: undone for a look",
    "quarantined: EMBEDDING_DIMENSION_MISMATCH",
    "set: takes chunks over",
    "skipped: NODE_TOO_LARGE",
    "skipped: PROJECT_FULL",
    "table: deleted with its strings indexed",
    "together: indexed",
    "together: retried",
    "tool: one deleted, another not",
    "tools: two indexes of one table",
    "tools: two scopes on one index",
    "version: erased",
    "version: labelled",
    "version: overwritten by another program",
    "version: recorded",
    "version: restored",
}
FAULTS = {
    "queue: expired",
    "acknowledge: lost",
    *(f"transaction: {kind}" for kind in ("refused", "lost reply")),
    *(f"upsert: {kind}" for kind in ("refused", "lost reply", "late")),
    *(f"delete: {kind}" for kind in ("refused", "lost reply", "late")),
    *(f"send: {kind}" for kind in ("refused", "lost reply", "partial", "lost")),
    *(f"embed: {kind}" for kind in ("unavailable", "mismatch")),
    "embed questions: unavailable",
    *(f"{read}: refused" for read in ("query", "list", "read vectors")),
}


def test_every_situation_and_fault_occurs_and_processes_are_killed_nearly_everywhere() -> None:
    """These histories hold, too: ``live`` raises where one does not."""
    total, paused, killed = Counter[str](), set[str](), set[str]()
    for seed in SEEDS:
        world = watched(seed, Mutation())
        sightings = Sightings(world)
        live(world)
        total.update(world.seen)
        paused |= sightings.paused
        killed |= sightings.killed
    assert SITUATIONS - set(total) == set()
    assert FAULTS - set(total) == set()
    assert len(killed) > 0.8 * len(paused), sorted(paused - killed)
