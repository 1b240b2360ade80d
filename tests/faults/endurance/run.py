"""``python -m tests.faults.endurance.run --minutes 10``: 0 when nothing deviates, else 1.

Random edits, kills and restarts against a stack of its own, as ``make serve`` starts it. Then
rest, the integrity report, and a look at every string. The same seed makes the same choices;
when a kill comes, and what it hits, is the machine's.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time

import httpx2

from context_search.core.errors import ContextSearchError
from tests.e2e.running import state_folder
from tests.e2e.served import ServedStack
from tests.faults.endurance.edits import Edits
from tests.faults.endurance.idle import Proof, prove
from tests.faults.endurance.neighbour import Neighbour

BETWEEN_KILLS_S = (15.0, 60.0)
# An answer of a stack that is dying is no deviation.
DYING_S = 5.0
BROKEN = (httpx2.HTTPError, ContextSearchError, OSError)


class Run:
    """One run: until its time is over, edits; now and then a kill in the midst of them."""

    def __init__(self, seed: int, served: ServedStack) -> None:
        self.draw = random.Random(seed)
        self.served = served
        self.edits = Edits(random.Random(f"edits {seed}"), served)
        self.kills = self.stops = 0

    def go_on(self, until_s: float) -> None:
        """Works until the monotonic clock says ``until_s``."""
        while time.monotonic() < until_s:
            calm_s = self.draw.uniform(*BETWEEN_KILLS_S)
            self._edit(min(until_s, time.monotonic() + calm_s))
            if time.monotonic() < until_s:
                self._interrupt()

    def _edit(self, until_s: float) -> None:
        while time.monotonic() < until_s:
            self.edits.step()

    def _interrupt(self) -> None:
        if self.draw.random() < 0.2:  # in order, for once
            self.stops += 1
            self.served.end(signal.SIGTERM)
        else:
            self.kills += 1
            timer = threading.Timer(self.draw.uniform(0.0, 1.5), self.served.kill)
            timer.start()
            self._edit_until_broken()
            timer.join()
            self.served.end(signal.SIGKILL)
        self.served.start()

    def _edit_until_broken(self) -> None:
        try:
            while True:
                self.edits.step()
        except BROKEN:
            return

    def deviations(self) -> list[str]:
        """What was wrong while the stack was well."""
        return [
            text
            for at, text in self.edits.wrong
            if not any(kill - 1 <= at <= kill + DYING_S for kill in self.served.killed_at)
        ]


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}, {arguments.minutes:g} minutes", flush=True)
    with state_folder() as state, ServedStack(state) as served:
        run = Run(arguments.seed, served)
        with Neighbour(served) as neighbour:
            run.go_on(time.monotonic() + arguments.minutes * 60)
        print(f"a neighbour wrote {neighbour.writes} times")
        began = time.monotonic()
        proof = prove(served, run.edits, random.Random(f"proof {arguments.seed}"))
        return _report(run, proof, time.monotonic() - began)


def _report(run: Run, proof: Proof, rested_s: float) -> int:
    edits = sum(number for name, number in run.edits.counts.items() if name != "search")
    print(f"{edits} edits, {run.edits.counts.get('search', 0)} searches meanwhile,", end=" ")
    print(f"{run.kills} kills, {run.stops} stops in order; at rest and proven in {rested_s:.0f} s")
    if waits := sorted(run.edits.waits_s):
        print(f"a new tool was ready after {waits[len(waits) // 2]:.1f} s (median),", end=" ")
        print(f"{waits[-1]:.1f} s at most, of {len(waits)}")
    print(f"at rest: {proof.tables} tables, {proof.tools} tools, {proof.strings} strings found,")
    print(f"  {proof.documents} documents, {proof.hits} hits equal to the live text")
    checked, orphans, missing = (
        sum(report[name] for report in proof.integrity)
        for name in ("checked", "orphans", "missing")
    )
    print(f"integrity: {checked} checked, {orphans} orphans, {missing} missing")
    wrong = run.deviations() + proof.wrong
    for text in wrong:
        print(f"DEVIATION {text}")
    print(f"{len(wrong)} deviations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
