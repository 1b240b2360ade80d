"""Runs histories: ``python -m tests.faults.simulation.run --seeds 100000`` or ``--seed 17``."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter

from tests.faults.simulation.history import events, live, run, watched
from tests.faults.simulation.invariants import Violated
from tests.faults.simulation.mutation import Mutation

CHUNK = 200
PROGRESS_S = 30.0


def main() -> int:
    """Returns 1 when a seed breaks an invariant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5_000, help="how many histories")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--seed", type=int, help="tell one history, line by line")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.seed is not None:
        return report(arguments.seed)
    return run_many(arguments.first, arguments.seeds, arguments.processes)


def report(seed: int) -> int:
    """Prints one history, whether it holds or not."""
    world = watched(seed, Mutation())
    try:
        live(world)
        end = "holds"
    except Violated as violation:
        end = str(violation)
    print("\n".join(world.history), f"\nseed {seed}: {end}")
    return 0 if end == "holds" else 1


def run_many(first: int, seeds: int, processes: int) -> int:
    """Runs histories in several processes and prints how far it is; stops at a broken one."""
    chunks = [
        range(start, min(start + CHUNK, first + seeds))
        for start in range(first, first + seeds, CHUNK)
    ]
    started = reported = time.monotonic()
    done, total = 0, Counter[str]()
    with multiprocessing.Pool(processes) as pool:
        for count, seen, broken in pool.imap_unordered(run_chunk, chunks):
            done, total = done + count, total + seen
            if broken:
                print(broken)
                return 1
            if time.monotonic() - reported > PROGRESS_S:
                reported = time.monotonic()
                print(f"{done:,} of {seeds:,} histories, {reported - started:.0f} s", flush=True)
    print(summary(done, total, time.monotonic() - started))
    return 0


def run_chunk(seeds: range) -> tuple[int, Counter[str], str | None]:
    """Returns how many histories ran, what happened in them, and what broke."""
    total = Counter[str]()
    for seed in seeds:
        try:
            total += events(run(seed))
        except Violated as violation:
            return seed - seeds.start, total, str(violation)
    return len(seeds), total, None


def summary(seeds: int, total: Counter[str], seconds: float) -> str:
    """Returns what the last lines say."""
    lines = [f"{count:>14,}  {name}" for name, count in sorted(total.items())]
    steps = total["steps"]
    end = f"{seeds:,} histories hold: {steps:,} steps between outside calls, {seconds:.0f} s"
    return "\n".join([*lines, end])


if __name__ == "__main__":
    sys.exit(main())
