"""Runs synchronous code as tasks that stop at every outside call, one step at a time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from greenlet import getcurrent, greenlet

from tests.faults.simulation.conditions import MAX_SLOW, SLOW_PACES

MIN_TURNS = 0.2  # time goes on while everybody sleeps
Kind = Literal["node", "enumerate", "plan", "calibrate", "user", "cleanup"]


class Killed(BaseException):
    """The process is gone. Not an Exception: no handler of the code under test may catch it."""


@dataclass(eq=False)
class Task:
    """One running invocation.

    ``pace`` is the chance that it goes on when it is its turn: a slow one sleeps through much of
    what the others do. ``stalled`` is the same for its next step only. ``ended`` is told the error
    that it ended with, or None.
    """

    kind: Kind
    name: str
    started_s: float
    pace: float
    body: greenlet
    ended: Callable[[BaseException | None], None]
    stalled: float | None = None

    @property
    def turn(self) -> float:
        """The chance that it goes on now."""
        return self.pace if self.stalled is None else self.stalled


@dataclass
class Scheduler:
    """Owns the tasks; everything outside of a task runs in the hub and is never interrupted.

    ``latest`` is the task that ran last; None when it was somebody else. ``stall_chance`` is how
    often a task falls asleep between deciding to write to the vector store and doing so: what it
    decided on may have changed when it wakes up.
    """

    random: random.Random
    stall_chance: float = 0.0
    tasks: list[Task] = field(default_factory=list)
    latest: Task | None = None
    steps: int = 0
    is_killing: bool = False
    hub: greenlet = field(default_factory=getcurrent)

    def pause(self, *, is_write: bool = False) -> None:
        """Called inside a task: lets others run before the next outside call."""
        if getcurrent() is self.hub:
            return
        if self.is_killing:
            raise Killed  # what a handler would still do, nobody does
        chance = self.stall_chance if is_write else self.stall_chance / 10
        if chance and self.random.random() < chance and self._may_sleep():
            self._stall()
        self.hub.switch()

    def _may_sleep(self) -> bool:
        return sum(task.turn < 1 for task in self.tasks) < MAX_SLOW

    def _stall(self) -> None:
        if self.latest is not None:
            self.latest.stalled = self.random.choice(SLOW_PACES)

    def spawn(
        self,
        kind: Kind,
        name: str,
        *,
        now_s: float,
        run: Callable[[], object],
        ended: Callable[[BaseException | None], None],
    ) -> None:
        """Adds a task; it runs with its first ``resume``. One in four is slow."""
        is_slow = self._may_sleep() and self.random.random() < 0.25
        pace = self.random.choice(SLOW_PACES) if is_slow else 1.0
        self.tasks.append(Task(kind, name, now_s, pace, greenlet(run, self.hub), ended))

    def count(self, *kinds: Kind) -> int:
        """Returns how many tasks of these kinds are running."""
        return sum(task.kind in kinds for task in self.tasks)

    def resume(self, task: Task) -> None:
        """Runs a task up to its next pause or its end."""
        self._switch(task, task.body.switch)

    def resume_any(self) -> bool:
        """Runs one of the tasks, if one of them feels like it; returns whether one did."""
        turn = self.random.random() * max(MIN_TURNS, sum(task.turn for task in self.tasks))
        for task in self.tasks:
            turn -= task.turn
            if turn < 0:
                self.resume(task)
                return True
        return False

    def kill(self, task: Task) -> None:
        """Ends a task where it stands, as SIGKILL does; its open transaction rolls back."""
        self.is_killing = True
        try:
            self._switch(task, lambda: task.body.throw(Killed()))
        finally:
            self.is_killing = False

    def _switch(self, task: Task, switch: Callable[[], object]) -> None:
        error: BaseException | None = None
        self.steps += 1
        self.latest = task
        task.stalled = None
        try:
            switch()
        except (Exception, Killed) as raised:  # noqa: BLE001 - every end of a task is an outcome
            error = raised
        if task.body.dead:
            self.tasks.remove(task)
            task.ended(error)
