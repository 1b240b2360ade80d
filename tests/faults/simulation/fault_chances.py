"""What goes wrong, and what arrives late."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from testing.in_memory.clock import ManualClock
from tests.faults.simulation.conditions import NETWORK_S


@dataclass
class FaultChances:
    """How bad it is: the chance of a fault per call; 0 before and after the faults.

    ``seen`` counts what went wrong, by call and kind.
    """

    random: random.Random
    chance: float = 0.0
    seen: Counter[str] = field(default_factory=Counter)

    def fault(self, call: str, *kinds: str, weight: float = 1.0) -> str | None:
        """Returns what goes wrong with this call, or None. ``weight`` multiplies the chance."""
        if self.random.random() >= self.chance * weight:
            return None
        kind = self.random.choice(kinds)
        self.seen[f"{call}: {kind}"] += 1
        return kind


@dataclass
class Network:
    """Effects that were sent and have not arrived: they arrive late, at most after a minute."""

    clock: ManualClock
    late: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def delay(self, effect: Callable[[], None]) -> None:
        """Lets an effect arrive later."""
        self.late.append((self.clock.monotonic() + NETWORK_S, effect))

    def deliver(self, position: int) -> None:
        """Lets one effect arrive now."""
        self.late.pop(position)[1]()

    def deliver_all(self) -> None:
        """Lets everything arrive."""
        while self.late:
            self.deliver(0)

    def deliver_overdue(self) -> None:
        """Lets everything arrive that cannot be later."""
        now = self.clock.monotonic()
        for effect in [effect for due, effect in self.late if due <= now]:
            effect()
        self.late = [(due, effect) for due, effect in self.late if due > now]
