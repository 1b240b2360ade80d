"""How long the stages of a search took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from context_search.ports.time import Clock


@dataclass
class Stopwatch:
    """Sums seconds by stage; a stage that raises counts too."""

    clock: Clock
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        """Times one stage."""
        began = self.clock.monotonic()
        try:
            yield
        finally:
            spent = self.clock.monotonic() - began
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
