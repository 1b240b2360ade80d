"""When cleanup has work next."""

from __future__ import annotations

from dataclasses import dataclass, field

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
