"""When cleanup has work next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from context_search.core.limits import ProjectLimits


@dataclass(frozen=True, slots=True)
class CleanupLimits:
    """Limits of the scheduled run.

    Seconds after which silence is a failure (``silent_s``), a delete is final (``grace_s``) and a
    previous generation goes (``keep_previous_s``). ``project``: what a project may hold.
    ``deletes_unknown``: whether unknown namespaces are deleted, never on a shared account.
    ``idle_s``: for how many seconds it may rest where nothing is due.
    """

    silent_s: float = 180.0
    grace_s: float = 1800.0
    keep_previous_s: float = 86_400.0
    project: ProjectLimits = field(default_factory=ProjectLimits)
    deletes_unknown: bool = False
    idle_s: float = 60.0


class Schedule(Protocol):
    """When ``cleanup`` has work next, as far as the database knows now."""

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
        """Returns in how many seconds a repository has work; None: nothing that is known.

        0 or less: now, or whenever work that is under way ends. ``repositories`` are those of the
        transaction. Each says when it has work beside the statements that find it: ``DUE`` in SQL,
        ``due_at`` in memory.
        """
        ...
