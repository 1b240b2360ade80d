"""Runs synchronous code as tasks that stop at every outside call, one step at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from greenlet import getcurrent, greenlet


class Killed(BaseException):
    """The process is gone. Not an Exception: no handler of the code under test may catch it."""


@dataclass(eq=False)
class Task:
    """One running invocation. ``ended`` is told the error that it ended with, or None."""

    name: str
    started_s: float
    body: greenlet
    ended: Callable[[BaseException | None], None]


@dataclass
class Scheduler:
    """Owns the tasks; everything outside of a task runs in the hub and is never interrupted."""

    tasks: list[Task] = field(default_factory=list)
    hub: greenlet = field(default_factory=getcurrent)

    def pause(self) -> None:
        """Called inside a task: lets others run before the next outside call."""
        if getcurrent() is not self.hub:
            self.hub.switch()

    def spawn(
        self,
        name: str,
        now_s: float,
        run: Callable[[], object],
        ended: Callable[[BaseException | None], None],
    ) -> None:
        """Adds a task; it runs with its first ``resume``."""
        self.tasks.append(Task(name, now_s, greenlet(run, self.hub), ended))

    def resume(self, task: Task) -> None:
        """Runs a task up to its next pause or its end."""
        self._switch(task, task.body.switch)

    def kill(self, task: Task) -> None:
        """Ends a task where it stands, as SIGKILL does; its open transaction rolls back."""
        self._switch(task, lambda: task.body.throw(Killed()))

    def _switch(self, task: Task, switch: Callable[[], object]) -> None:
        error: BaseException | None = None
        try:
            switch()
        except (Exception, Killed) as raised:  # noqa: BLE001 - every end of a task is an outcome
            error = raised
        if task.body.dead:
            self.tasks.remove(task)
            task.ended(error)
