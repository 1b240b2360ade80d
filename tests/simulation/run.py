"""Runs histories: ``python -m tests.simulation.run --seeds 100000`` or ``--seed 17``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable

from tests.simulation.calm import heal, replay
from tests.simulation.crowding import Crowd
from tests.simulation.invariants import Violated, Watch
from tests.simulation.moves import Moves
from tests.simulation.rest import at_rest
from tests.simulation.world import Mutation, World

STEPS = 600
TOLD_LINES = 60


def run(seed: int, mutation: Mutation | None = None) -> list[str]:
    """Returns the history of a seed.

    Raises Violated, with the end of the history and how to replay it, when an invariant breaks.
    """
    world = World(seed, mutation or Mutation())
    Watch(world)
    Crowd(world)
    moves = Moves(world)
    try:
        for _ in range(STEPS):
            moves.step()
        heal(world)
        at_rest(world)
        before = set(world.memory.rows.chunks)
        replay(world)
        at_rest(world)
        if before != set(world.memory.rows.chunks):
            raise Violated("I10 a replayed message changed the rows")
    except Violated as violation:
        story = "\n".join(world.history[-TOLD_LINES:])
        how = f"the whole history: make simulate SEED={seed}"
        raise Violated(f"{story}\n{how}\nseed {seed}: {violation}") from violation
    return world.history


def first_violation(seeds: Iterable[int], mutation: Mutation | None = None) -> Violated | None:
    """Returns what the first of the seeds to break an invariant breaks; None when all hold."""
    for seed in seeds:
        try:
            run(seed, mutation)
        except Violated as violation:
            return violation
    return None


def main() -> int:
    """Returns 1 when a seed breaks an invariant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5_000)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        print("\n".join(run(arguments.seed)))
        return 0
    started = time.monotonic()
    violation = first_violation(range(arguments.first, arguments.first + arguments.seeds))
    print(violation or f"{arguments.seeds} histories hold, {time.monotonic() - started:.0f} s")
    return 1 if violation else 0


if __name__ == "__main__":
    sys.exit(main())
