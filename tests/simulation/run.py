"""Runs histories: ``python -m tests.simulation.run --seeds 100000`` or ``--seed 17``."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.invariants import Violated, Watch, at_rest
from tests.simulation.world import Mutation, World

STEPS = 400


def run(seed: int, mutation: Mutation | None = None) -> list[str]:
    """Returns the history of a seed. Raises Violated with it when an invariant breaks."""
    world = World(seed, mutation or Mutation())
    Watch(world)
    try:
        for _ in range(STEPS):
            world.step()
        world.heal()
        at_rest(world)
        before = world.memory.rows.copy()
        world.replay()
        at_rest(world)
        changed = len(before.chunks) != len(world.memory.rows.chunks)
        if changed:
            raise Violated("I10 a replayed message changed the rows")
    except Violated as violation:
        story = "\n".join(world.history[-60:])
        raise Violated(f"{story}\nseed {seed}: {violation}") from violation
    return world.history


def main() -> int:
    """Returns 1 when a seed breaks an invariant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5_000)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    seeds = range(arguments.seeds) if arguments.seed is None else [arguments.seed]
    started = time.monotonic()
    for seed in seeds:
        try:
            history = run(seed)
        except Violated as violation:
            print(violation)
            return 1
        if arguments.seed is not None:
            print("\n".join(history))
    print(f"{len(seeds)} histories hold, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
