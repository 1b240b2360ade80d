"""Versions of a table: what is known of a revision, and how long its content is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from context_search.catalog.rules.settings import Settings

Cause = Literal["create", "put", "patch", "import", "replace", "undo", "restore", "sql"]
Gap = Literal["overwritten_by_sql", "too_large", "full", "erased"]
"""Why the content of a revision is not there, although the revision was."""

MAX_RECORDED_BYTES = 20_000_000
"""Maximum bytes of a document that a request records; a worker records any."""
MAX_READ_BYTES = 50_000_000
"""Maximum bytes of a version that a request reads or compares."""
MAX_LABELS = 20
"""Maximum number of labelled versions of a table."""
FULL = 1.1
"""A project whose history is this many times over its limit records nothing until ``cleanup`` made
room: what fits exactly would leave a gap at every change.
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a revision comes from: what was done, by whom, in which request, after which plan.

    A change without one is ``sql``: another program wrote it.
    """

    cause: Cause = "sql"
    actor: str | None = None
    request_id: str | None = None
    plan_id: int | None = None


BY_SQL = Origin()


@dataclass(frozen=True, slots=True)
class HistoryLimits(Settings):
    """How much of the past a project keeps.

    A version leaves ``keep_days`` days after it was overwritten, when ``keep_count`` newer ones of
    its table are there, or as the oldest while the project's pieces take over ``max_bytes`` bytes.
    ``keep_count`` 0: nothing is recorded, and what was is deleted.
    """

    KIND = "history"
    keep_days: int = 30
    keep_count: int = 100
    max_bytes: int = 2_000_000_000

    @property
    def is_off(self) -> bool:
        """Whether nothing is kept."""
        return self.keep_count == 0

    def is_full(self, used_bytes: int) -> bool:
        """Says whether pieces of ``used_bytes`` leave no room for another version."""
        return used_bytes > self.max_bytes * FULL


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A document just before it changes, locked until the transaction ends.

    ``text`` None: it has over as many bytes as were asked for, or nothing is kept.
    ``used_bytes`` are those of all pieces of the project.
    """

    revision: int
    text: str | None
    settings: HistoryLimits
    used_bytes: int


@dataclass(frozen=True, slots=True)
class Version:
    """A revision of a table, and whether its content is there.

    ``cause`` None: the table is older than its record. ``size`` (bytes) and ``sha256`` are
    those of the JSON text as Postgres writes it, of recorded versions. ``overwritten_at`` is when
    the next revision took its place, where our API wrote that.
    """

    revision: int
    is_live: bool
    cause: Cause | None
    actor: str | None
    request_id: str | None
    plan_id: int | None
    label: str | None
    size: int | None
    sha256: bytes | None
    noted_gap: Gap | None
    created_at: datetime | None
    overwritten_at: datetime | None

    @property
    def gap(self) -> Gap | None:
        """Why its content is not there; None: it is."""
        if self.is_live or self.sha256 is not None:
            return None
        return self.noted_gap or "overwritten_by_sql"

    @property
    def is_recorded(self) -> bool:
        """Whether its content is there."""
        return self.gap is None


@dataclass(frozen=True, slots=True)
class Content:
    """What is recorded of a version: how long it is, its hash, and its pieces in order."""

    size: int
    sha256: bytes
    pieces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What left a history: rows of versions, and pieces. ``is_done``: nothing more has to."""

    versions: int = 0
    pieces: int = 0
    is_done: bool = True


@dataclass(frozen=True, slots=True)
class TableHistory:
    """The history of one table in one project. A table that changes its owner begins a new one."""

    table_id: int
    project_id: int
