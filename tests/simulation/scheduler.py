"""Runs synchronous code as tasks that stop at every outside call, one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from greenlet import getcurrent, greenlet

Kind = Literal["node", "enumerate", "user", "cleanup"]


class Killed(BaseException):
    """The process is gone. Not an Exception: no handler of the code under test may catch it."""


@dataclass(eq=False)
class Task:
    """One running invocation.

    ``pace`` is the chance that it goes on when it is its turn: a slow one sleeps through much of
    what the others do. ``ended`` is told the error that it ended with, or None.
    """

    kind: Kind
    name: str
    started_s: float
    pace: float
    body: greenlet
    ended: Callable[[BaseException | None], None]


@dataclass
class Scheduler:
    """Owns the tasks; everything outside of a task runs in the hub and is never interrupted.

    ``latest`` is the task that ran last.
    """

    tasks: list[Task] = field(default_factory=list)
    latest: Task | None = None
    hub: greenlet = field(default_factory=getcurrent)

    def pause(self) -> None:
        """Called inside a task: lets others run before the next outside call."""
        if getcurrent() is not self.hub:
            self.hub.switch()

    def spawn(
        self,
        kind: Kind,
        name: str,
        *,
        now_s: float,
        pace: float,
        run: Callable[[], object],
        ended: Callable[[BaseException | None], None],
    ) -> None:
        """Adds a task; it runs with its first ``resume``."""
        self.tasks.append(Task(kind, name, now_s, pace, greenlet(run, self.hub), ended))

    def count(self, *kinds: Kind) -> int:
        """Returns how many tasks of these kinds are running."""
        return sum(task.kind in kinds for task in self.tasks)

    def resume(self, task: Task) -> None:
        """Runs a task up to its next pause or its end."""
        self._switch(task, task.body.switch)

    def kill(self, task: Task) -> None:
        """Ends a task where it stands, as SIGKILL does; its open transaction rolls back."""
        self._switch(task, lambda: task.body.throw(Killed()))

    def _switch(self, task: Task, switch: Callable[[], object]) -> None:
        error: BaseException | None = None
        self.latest = task
        try:
            switch()
        except (Exception, Killed) as raised:  # noqa: BLE001 - every end of a task is an outcome
            error = raised
        if task.body.dead:
            self.tasks.remove(task)
            task.ended(error)
