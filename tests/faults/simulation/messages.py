"""The queue as it is at worst: at least once, in any order, and some messages are put aside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from context_search.core.errors import QueueUnavailableError
from context_search.core.messages import MESSAGE_ID
from context_search.integrations.ports import Clock, MessageBody
from testing.in_memory.clock import ManualClock
from tests.faults.simulation.conditions import MAX_RECEIVES, OVERTAKES, VISIBILITY_S
from tests.faults.simulation.fault_chances import FaultChances
from tests.faults.simulation.model.outbox import ModelOutbox
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.model.store import ModelUnitOfWork
from tests.faults.simulation.scheduler import Scheduler


@dataclass(eq=False)
class Envelope:
    """A message in the queue."""

    body: MessageBody
    visible_at: float
    receives: int = 0
    in_flight: bool = False
    overtaken: int = 0


@dataclass
class SimQueue:
    """The ports ``Queue`` and ``DeadLetters``.

    Where ``is_fair`` is true, a message is overtaken a few times at most, as in SQS as a rule;
    otherwise they come in any order. ``asked_for``: what was ever sent, without ids of messages.
    """

    clock: ManualClock
    scheduler: Scheduler
    fault_chances: FaultChances
    is_fair: bool
    waiting: list[Envelope] = field(default_factory=list)
    dead: list[MessageBody] = field(default_factory=list)
    asked_for: list[MessageBody] = field(default_factory=list)

    def send(self, messages: Sequence[MessageBody]) -> list[int]:
        self.scheduler.pause()
        fault = self.fault_chances.fault(
            "send", "refused", "partial", "lost reply", "lost", weight=3
        )
        taken = list(range(len(messages)))
        if fault == "refused":
            raise QueueUnavailableError("simulated")
        if fault == "partial":
            taken = [position for position in taken if self.fault_chances.random.random() < 0.5]
        bodies = [messages[position] for position in taken]
        for body in bodies:
            if fault == "lost":  # as if it had been received too often
                self.dead.append(body)
            else:
                self.waiting.append(Envelope(body, self.clock.monotonic()))
            self.asked_for.append({name: body[name] for name in body if name != MESSAGE_ID})
        if fault == "lost reply":
            raise QueueUnavailableError("simulated")
        return taken

    def is_empty(self) -> bool:
        self.scheduler.pause()
        if self.fault_chances.fault("count", "refused"):
            raise QueueUnavailableError("simulated")
        return not self.waiting

    def take_up(self, limit: int, keep: Callable[[Sequence[MessageBody]], None]) -> int:
        """See the port ``DeadLetters``."""
        self.scheduler.pause()
        if self.fault_chances.fault("take up", "refused"):
            raise QueueUnavailableError("simulated")
        taken = self.dead[:limit]
        keep(taken)
        self.dead = [body for body in self.dead if not any(body is each for each in taken)]
        return len(taken)

    def expire(self) -> None:
        """What waits was not received in time: SQS keeps a message for days, not for ever."""
        self.fault_chances.seen["queue: expired"] += bool(self.waiting)
        self.dead += [envelope.body for envelope in self.waiting]
        self.waiting.clear()

    def deliverable(self) -> list[Envelope]:
        """Returns the messages that a worker could receive now."""
        now = self.clock.monotonic()
        return [each for each in self.waiting if not each.in_flight and each.visible_at <= now]

    def next(self) -> Envelope | None:
        """Returns the message that a worker receives next, None without one."""
        deliverable = self.deliverable()
        if not deliverable:
            return None
        if not self.is_fair:
            return self.fault_chances.random.choice(deliverable)
        deliverable.sort(key=lambda envelope: envelope.visible_at)
        chosen = 0
        if deliverable[0].overtaken < OVERTAKES:
            chosen = self.fault_chances.random.randrange(min(OVERTAKES, len(deliverable)))
        for envelope in deliverable[:chosen]:
            envelope.overtaken += 1
        return deliverable[chosen]

    def settle(self, envelope: Envelope, again_s: float | None) -> None:
        """A worker has ended: the message is gone, comes back (``again_s``), or is put aside."""
        envelope.in_flight = False
        if envelope not in self.waiting:
            return
        if again_s is None and self.fault_chances.fault("acknowledge", "lost"):
            again_s = VISIBILITY_S
        if again_s is not None and envelope.receives < MAX_RECEIVES:
            envelope.visible_at = self.clock.monotonic() + again_s
            return
        self.waiting.remove(envelope)
        if again_s is not None:
            self.dead.append(envelope.body)


def joining(unit_of_work: type[ModelUnitOfWork]) -> type[ModelUnitOfWork]:
    """Returns a unit of work where several messages for a node each are one message ``nodes``."""

    class Joining(unit_of_work):  # type: ignore[misc, valid-type]
        def __init__(self, rows: Rows, clock: Clock) -> None:
            super().__init__(rows, clock)
            self.outbox: ModelOutbox = _joining_book(type(self.outbox))(rows, clock)

    return Joining


def _joining_book(usual: type[ModelOutbox]) -> type[ModelOutbox]:
    class Joining(usual):  # type: ignore[misc, valid-type]
        def add(self, messages: Iterable[MessageBody]) -> list[int]:
            return usual.add(self, _joined(list(messages)))

    return Joining


def _joined(messages: Sequence[MessageBody]) -> list[MessageBody]:
    nodes = [message["node_id"] for message in messages if message["kind"] == "node"]
    if len(nodes) < 2:
        return list(messages)
    others = [message for message in messages if message["kind"] != "node"]
    return [*others, {"kind": "nodes", "node_ids": nodes}]
