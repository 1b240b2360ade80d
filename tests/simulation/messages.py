"""The queue as it is at worst: at least once, in any order, and some messages are put aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from context_search.adapters.in_memory.clock import ManualClock
from context_search.domain.errors import QueueUnavailableError
from context_search.ports.queue import Message
from tests.simulation.conditions import MAX_RECEIVES, VISIBILITY_S
from tests.simulation.scheduler import Scheduler
from tests.simulation.weather import Weather


@dataclass(eq=False)
class Envelope:
    """A message in the queue."""

    body: Message
    visible_at: float
    receives: int = 0
    in_flight: bool = False


@dataclass
class SimQueue:
    """The ports ``Queue`` and ``DeadLetters``.

    Where ``joins`` is true, several orders for a node each travel as one order ``nodes``.
    """

    clock: ManualClock
    scheduler: Scheduler
    weather: Weather
    joins: bool
    waiting: list[Envelope] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)
    ever_sent: list[Message] = field(default_factory=list)

    def send(self, messages: Sequence[Message]) -> list[int]:
        """See the port."""
        self.scheduler.pause()
        fault = self.weather.fault("send", "refused", "partial", "lost reply", "lost")
        taken = list(range(len(messages)))
        if fault == "refused":
            raise QueueUnavailableError("simulated")
        if fault == "partial":
            taken = [position for position in taken if self.weather.random.random() < 0.5]
        bodies = [messages[position] for position in taken]
        for body in _joined(bodies) if self.joins else bodies:
            if fault == "lost":  # as if it had been received too often
                self.dead.append(body)
            else:
                self.waiting.append(Envelope(body, self.clock.monotonic()))
            self.ever_sent.append(body)
        if fault == "lost reply":
            raise QueueUnavailableError("simulated")
        return taken

    def move_back(self, limit: int) -> int:
        """See the port ``DeadLetters``."""
        self.scheduler.pause()
        if self.weather.fault("move back", "refused"):
            raise QueueUnavailableError("simulated")
        moved, self.dead = self.dead[:limit], self.dead[limit:]
        self.waiting += [Envelope(body, self.clock.monotonic()) for body in moved]
        return len(moved)

    def expire(self) -> None:
        """What waits was not received in time: SQS keeps a message for days, not for ever."""
        self.weather.seen["queue: expired"] += bool(self.waiting)
        self.dead += [envelope.body for envelope in self.waiting]
        self.waiting.clear()

    def deliverable(self) -> list[Envelope]:
        """Returns the messages that a worker could receive now."""
        now = self.clock.monotonic()
        return [each for each in self.waiting if not each.in_flight and each.visible_at <= now]

    def settle(self, envelope: Envelope, again_s: float | None) -> None:
        """A worker has ended: the message is gone, comes back (``again_s``), or is put aside."""
        envelope.in_flight = False
        if envelope not in self.waiting:
            return
        if again_s is None and self.weather.fault("acknowledge", "lost"):
            again_s = VISIBILITY_S
        if again_s is not None and envelope.receives < MAX_RECEIVES:
            envelope.visible_at = self.clock.monotonic() + again_s
            return
        self.waiting.remove(envelope)
        if again_s is not None:
            self.dead.append(envelope.body)


def _joined(messages: Sequence[Message]) -> list[Message]:
    nodes = [message["node_id"] for message in messages if message["kind"] == "node"]
    if len(nodes) < 2:
        return list(messages)
    others = [message for message in messages if message["kind"] != "node"]
    return [*others, {"kind": "nodes", "node_ids": nodes}]
