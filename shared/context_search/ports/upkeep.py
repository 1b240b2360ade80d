"""What has to leave, what is compared, and what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from context_search.domain.limits import ProjectLimits
from context_search.domain.progress import NodeState


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A vector row that must leave turbopuffer."""

    namespace: str
    doc_id: str
    window_count: int


@dataclass(frozen=True, slots=True)
class SweepCounts:
    """What a sweep of a namespace has found so far, in vector rows."""

    checked: int = 0
    orphans: int = 0
    missing: int = 0
    repaired: int = 0

    def plus(self, other: SweepCounts) -> SweepCounts:
        """Returns the sums."""
        return SweepCounts(
            self.checked + other.checked,
            self.orphans + other.orphans,
            self.missing + other.missing,
            self.repaired + other.repaired,
        )


@dataclass(frozen=True, slots=True)
class SweepCursor:
    """Where the sweep of a namespace stands, and what it has found since it began."""

    generation_id: int
    namespace: str
    after: str
    counts: SweepCounts = field(default_factory=SweepCounts)


@dataclass(frozen=True, slots=True)
class SweepExtent:
    """How much a whole round of sweeps is today, and how old the oldest whole sweep is.

    ``pages``: what all live namespaces take, each one at least. ``oldest_s``: seconds since the
    end of the last whole sweep of the namespace for which that is longest ago, or since a namespace
    was begun that was never swept whole; 0: there are none.
    """

    vector_rows: int
    pages: int
    oldest_s: float


class Deletions(Protocol):
    """What is deleted in Postgres and must follow in turbopuffer."""

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        """Returns tombstones never deleted yet, or old enough for their last delete."""
        ...

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        """Notes a delete in turbopuffer; forgets those past the grace and returns their number."""
        ...

    def retired(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns generations that were retired that long ago and have no node left."""
        ...

    def remove_retired_nodes(self, *, limit: int) -> int:
        """Deletes nodes of retired generations, at most ``limit``."""
        ...

    def forget_generation(self, generation_id: int) -> None:
        """Forgets a generation whose namespace is deleted, with its tombstones."""
        ...


class Sweeps(Protocol):
    """Comparing namespaces with their rows, both ways, page by page."""

    def due(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns live generations in the middle of a sweep, or whose last one is that old.

        First comes what was ordered, then the one whose last whole sweep, or failed one, is longest
        ago; it stays first until its end. So a round takes as many pages as all namespaces have
        together.
        """
        ...

    def extent(self, *, page: int) -> SweepExtent:
        """Returns how much a round is, in pages of so many vector rows."""
        ...

    def present_after(self, namespace: str, after: str, limit: int) -> list[tuple[str, int]]:
        """Returns ids and window counts of chunks that should be there, ascending by id (bytes)."""
        ...

    def requeue_missing(self, namespace: str, doc_ids: Sequence[str]) -> list[int]:
        """Notes that vector rows of present chunks are gone; returns the nodes to index again."""
        ...

    def note(self, cursor: SweepCursor, *, after: str, found: SweepCounts) -> None:
        """Moves the cursor; ``after`` ``""`` means the end, and the sums become the report."""
        ...

    def order(self, generation_id: int) -> None:
        """Makes a generation the next to be compared, from its beginning."""
        ...

    def note_failed(self, cursor: SweepCursor) -> None:
        """Puts a namespace that could not be compared behind the others."""
        ...

    def unknown(self, namespaces: Sequence[str]) -> list[str]:
        """Returns those that belong to no generation, in whatever state, ascending."""
        ...

    def reports(self, index_id: int | None) -> list[dict[str, object]]:
        """Returns the last complete report of each live generation, of one index or of all."""
        ...


@dataclass(frozen=True, slots=True)
class Removal:
    """A row that our API marked as deleted. ``row_id``: the id of tool, table or project."""

    kind: Literal["tool", "table", "project"]
    row_id: int


RemovalEnd = Literal["removed", "left", "kept"]
"""``left``: it is not there, has no mark, or somebody has it locked at this moment.
``kept``: a trigger of the database's owner keeps it.
"""


class Removals(Protocol):
    """Tools, tables and projects on their way out. Rows that others marked are never among them."""

    def mark_tables(self, *, limit: int) -> int:
        """Marks tables of deleted projects, at most ``limit``, as our API's delete of each does.

        Those in their owner's trash, too. Returns how many.
        """
        ...

    def remove_nodes(self, *, limit: int) -> int:
        """Deletes nodes of tables that are not there, whoever did that, at most ``limit``.

        A table that comes back is compared again. Retires the indexes of those that will not.
        """
        ...

    def due(self, *, limit: int) -> Sequence[Removal]:
        """Returns what is to be removed now: tools first, then tables, then projects.

        A table is when it has no nodes and no pieces of versions, a project when it has no tables
        and no uploads.
        """
        ...

    def remove(self, removal: Removal) -> RemovalEnd:
        """Deletes the row, and what its foreign keys say. Waits for nobody who has it locked.

        With a project go its orders, permits and kept answers, which no foreign key names.

        Raises what the store says when others refer to it and have not said what then: the
        transaction is lost.
        """
        ...

    def put_off(self, removal: Removal, *, retry_in_s: float) -> bool:
        """Lets a row that could not be removed be due again after ``retry_in_s``.

        False when it is gone, or somebody has it locked.
        """
        ...


@dataclass(frozen=True, slots=True)
class Readings:
    """Counts over the whole database, and the age of the oldest order that is not in the queue.

    Chunks of the generations that answer, nodes in quarantine, evicted indexes.
    ``outbox_age_s``: seconds for which the oldest order that has a place in its window has been
    missing from the queue; 0: none is. The time counts from when it was to be sent first. In a
    project that has nothing in the queue, and of which nobody took anything, it counts from when
    the order was added or was due. An order that waits for a place in its window does not count.
    """

    active_chunks: int
    quarantined_nodes: int
    evicted_indexes: int
    outbox_age_s: float


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


class CleanupRuns(Protocol):
    """The last run of cleanup that worked."""

    def note(self, run: CleanupRun) -> None:
        """Puts a run in the place of the one before."""
        ...

    def last(self) -> CleanupRun | None:
        """Returns the last run; None before the first."""
        ...


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
    ``orders``: how many orders are not in the queue yet, counted to 1,000, and for how long the
    first that is due has waited. ``indexes`` are those that are not evicted. ``integrity``: the
    last whole comparison of each live namespace, oldest first, 100 at most. ``errors``: 20 at most.
    """

    nodes: Mapping[NodeState, int]
    oldest_wait_s: float
    orders: int
    oldest_order_s: float
    indexes: int
    building: int
    evicted: int
    integrity: Sequence[Mapping[str, object]]
    errors: Sequence[ErrorCount]


class Health(Protocol):
    """How one project is; it costs what is under way, not what there is."""

    def of_project(self, project_id: int) -> ProjectReadings:
        """Returns the present readings of a project."""
        ...


class Gauges(Protocol):
    """Cheap enough to be read every minute."""

    def read(self) -> Readings:
        """Returns the present readings, over all projects."""
        ...


class Agenda(Protocol):
    """What ``cleanup`` has to do later, as far as the database knows by now."""

    def due_in_s(
        self, *, silent_s: float, grace_s: float, keep_previous_s: float, limits: ProjectLimits
    ) -> float | None:
        """Returns in how many seconds something is due; None: nothing that is known.

        0 or less: now, or whenever work that is under way ends. Sweeps, and rows that only take
        room when they are old, are not counted. The times are those of ``cleanup``.
        """
        ...
