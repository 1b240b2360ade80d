"""After the faults: everything ends, cleanup runs on, and what was sent is sent again."""

from __future__ import annotations

from functools import partial

from tests.faults.simulation import others
from tests.faults.simulation.conditions import GRACE_S, IDLE_S, SILENT_S
from tests.faults.simulation.world import World

ROUNDS = (3, 20)
ROUNDS_S = (SILENT_S + 1, GRACE_S + 1)


def heal(world: World) -> None:
    """Everything that is under way arrives and ends; then cleanup runs until all is quiet."""
    world.fault_chances.chance = world.scheduler.stall_chance = 0.0
    world.finish_tasks()
    world.network.deliver_all()
    world.after_step()
    if world.random.random() < 1 / 3:
        others.lose_documents(world)
    if world.random.random() < 1 / 4:
        world.queue.expire()
    if world.random.random() < 1 / 4:
        others.move_table_to_trash(world)
    _settle(world)
    if world.is_crowded:
        _come_back(world)
        _settle(world)


def _come_back(world: World) -> None:
    """Somebody searches with every tool, so whatever is evicted is ordered again."""
    for tool_id in sorted(world.model_store.rows.tools):
        run = partial(world.search, tool_id, world.principal, "quick fox", 5)
        world.spawn("user", f"search {tool_id}", run)
    world.finish_tasks()


def _settle(world: World) -> None:
    """What others did unseen is found when the rest is over; then no rest may be in the way."""
    if world.idle_s > IDLE_S:
        world.clock.advance(world.idle_s)
        _sweep_anew(world)
    at_least, at_most = ROUNDS
    for number in range(at_most):
        world.clock.advance(ROUNDS_S[number % 2])
        world.clean_up()
        world.finish_tasks()
        while (envelope := world.queue.next()) is not None:
            world.receive(envelope)
            world.finish_tasks()
        if number >= at_least and _is_quiet(world):
            return


def _sweep_anew(world: World) -> None:
    """What was lost behind the place of a sweep is found by the next, which is a rest away."""
    with world.model_store.for_all("test") as work:
        for generation_id in list(world.model_store.rows.generations):
            work.sweeps.put_first(generation_id)


def _is_quiet(world: World) -> bool:
    """Whether nothing is left that a further round would change."""
    rows = world.model_store.rows
    waits = rows.tombstones or rows.outbox or world.queue.waiting
    live = {each.id for each in rows.generations.values() if each.state in ("active", "building")}
    is_worked_on = any(
        node.state in ("queued", "claimed") and node.generation_id in live
        for node in rows.nodes.values()
    )
    is_deleting = any(
        each.state == "retired" or each.index_id is None for each in rows.generations.values()
    )
    is_planning = any(row.plan.state in ("previewing", "executing") for row in rows.plans.values())
    return not (waits or is_worked_on or is_deleting or is_planning)


def replay(world: World) -> None:
    """Does once more what any message ever asked for, whose message is done by then."""
    for body in {str(body): body for body in world.queue.asked_for}.values():
        world.repeat(body)
        world.finish_tasks()
