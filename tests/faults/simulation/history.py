"""One history: from a seed to what happened, or to the invariant that broke."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.faults.simulation import filtering
from tests.faults.simulation.after_faults import heal, replay
from tests.faults.simulation.crowding import Crowd
from tests.faults.simulation.editing import VersionWatch
from tests.faults.simulation.fairness import Fairness
from tests.faults.simulation.filtering import FilterWatch
from tests.faults.simulation.idle import at_rest
from tests.faults.simulation.invariants import Violated, Watch
from tests.faults.simulation.moves import Moves
from tests.faults.simulation.mutation import Mutation
from tests.faults.simulation.planned import PlanWatch, documents
from tests.faults.simulation.world import World

STEPS = 350
STEPS_OF_SMALL = 300
TOLD_LINES = 60


def run(seed: int, mutation: Mutation | None = None) -> World:
    """Returns the world at the end of a history, at rest.

    Raises Violated, with the end of the history and how to replay it, when an invariant breaks
    or a service fails with an error that is none of its own.
    """
    world = watched(seed, mutation or Mutation())
    try:
        live(world)
    except Exception as error:
        story = "\n".join(world.history[-TOLD_LINES:])
        how = f"replay it: make simulate SEED={seed}"
        what = error if isinstance(error, Violated) else f"unexpected {error!r}"
        raise Violated(f"{story}\n{how}\nseed {seed}: {what}") from error
    return world


def watched(seed: int, mutation: Mutation) -> World:
    """Returns a world at its beginning, with the invariants watched over."""
    world = World(seed, mutation)
    Watch(world)
    Crowd(world)
    Fairness(world)
    VersionWatch(world)
    PlanWatch(world)
    FilterWatch(world)
    return world


def live(world: World) -> None:
    """Lets a world live with its faults, heals it, and repeats every message that it sent."""
    moves = Moves(world)
    for _ in range(STEPS_OF_SMALL if world.is_small else STEPS):
        moves.step()
    heal(world)
    at_rest(world)
    filtering.at_rest(world.model_store.rows)
    rows = world.model_store.rows
    before, written = set(rows.chunks), documents(rows)
    replay(world)
    at_rest(world)
    if written != documents(rows):
        raise Violated("R6 a replayed message changed a document")
    if before != set(rows.chunks):
        raise Violated("I10 a replayed message changed the rows")


def events(world: World) -> Counter[str]:
    """Returns how much happened in a history."""
    return world.seen + Counter(
        {"steps": world.scheduler.steps, "messages": len(world.queue.asked_for)}
    )


def first_violation(seeds: Iterable[int], mutation: Mutation | None = None) -> Violated | None:
    """Returns what the first of the seeds to break an invariant breaks; None when all hold."""
    for seed in seeds:
        try:
            run(seed, mutation)
        except Violated as violation:
            return violation
    return None
