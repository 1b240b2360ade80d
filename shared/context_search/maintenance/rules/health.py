"""How projects and the deployment are, and when cleanup worked and has work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from context_search.core.limits import ProjectLimits
from context_search.core.progress import NodeState


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many strings, documents and indexes wait or stay out because of an error.

    ``latest_at``: ISO time.
    """

    code: str
    count: int
    latest_at: str | None


@dataclass(frozen=True, slots=True)
class ProjectReadings:
    """How the work on a project stands, over the generations that answer.

    ``oldest_wait_s``: for how long a string that is due has waited at most; 0: none waits.
    ``messages``: how many are not in the queue yet, counted to 1,000, and for how long the
    first that is due has waited. ``indexes`` are those that are not evicted. ``integrity``: the
    last whole comparison of each live namespace, oldest first, 100 at most. ``errors``: 20 at most.
    ``row_security``: whether the database's own policies bind the role that asks.
    """

    nodes: Mapping[NodeState, int]
    oldest_wait_s: float
    messages: int
    oldest_message_s: float
    indexes: int
    building: int
    evicted: int
    integrity: Sequence[Mapping[str, object]]
    errors: Sequence[ErrorCount]
    row_security: bool = True


@dataclass(frozen=True, slots=True)
class CleanupRun:
    """A run of cleanup that worked, as every project may know of it: no ids, no counts.

    ``errors`` are codes, each once. ``rests_until``: it does not work before then, because nothing
    is due; None: the next run works.
    """

    finished_at: datetime
    seconds: float
    is_complete: bool
    errors: Sequence[str]
    rests_until: datetime | None


@dataclass(frozen=True, slots=True)
class Readings:
    """Counts over the whole database, and the age of the oldest message that is not in the queue.

    Chunks of the generations that answer, nodes in quarantine, evicted indexes.
    ``outbox_age_s``: seconds for which the oldest message that has a place in its window has been
    missing from the queue; 0: none is. The time counts from when it was to be sent first. In a
    project that has nothing in the queue, and of which nobody took anything, it counts from when
    the message was added or was due. A message that waits for a place in its window does not count.
    ``row_security``: whether the database's own policies bind the role that asks.
    """

    active_chunks: int
    quarantined_nodes: int
    evicted_indexes: int
    outbox_age_s: float
    row_security: bool = True


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
