"""The past of tables, and what is to be replaced in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from context_search.domain.model import Table
from context_search.domain.versions import (
    Content,
    Gap,
    HistoryLimits,
    Overwritten,
    StoredHistoryLimits,
    Version,
)

if TYPE_CHECKING:  # a search loads the ports and none of what plans are made of
    from context_search.domain.editing.plans import (
        NewPlan,
        Plan,
        PlannedString,
        PlannedTable,
        PlannedTableState,
    )


@dataclass(frozen=True, slots=True)
class TableHistory:
    """The history of one table in one project. A table that changes its owner begins a new one."""

    table_id: int
    project_id: int


@dataclass(frozen=True, slots=True)
class Pruned:
    """What left a history: rows of versions, and pieces. ``is_done``: nothing more has to."""

    versions: int = 0
    pieces: int = 0
    is_done: bool = True


class Versions(Protocol):
    """The versions of tables. A ``Table`` is one that was found for its project.

    The store adds a version for every revision, whoever writes it; what is overwritten through us
    is recorded here. Pieces are shared between the versions of one history, and nothing else.
    """

    def overwritten(self, table_id: int, *, project_id: int, max_bytes: int | None) -> Overwritten:
        """Returns the document, and keeps others from changing it until the transaction ends.

        Its text if that has at most ``max_bytes`` bytes and history is on; None: its text.
        Raises NotFoundError where ``Tables.find`` finds none, and DocumentTooLargeError like
        ``Tables.read``, with None.
        """
        ...

    def missing(self, table: Table, pieces: Sequence[bytes]) -> set[bytes]:
        """Returns those hashes of which the history has no piece yet.

        Who has changed the document in this transaction keeps ``Histories.prune`` from collecting
        pieces until it ends.
        """
        ...

    def record(
        self, table: Table, revision: int, content: Content, new: Iterable[tuple[bytes, bytes]]
    ) -> None:
        """Notes the content of a revision that was overwritten in this transaction.

        ``new`` are the hash and the stored form of each piece that may be missing; those that are
        there stay as they are.
        """
        ...

    def note_gap(self, table: Table, revision: int, gap: Gap) -> None:
        """Notes why a revision that is being overwritten is not recorded."""
        ...

    def page(self, table: Table, *, below: int | None, limit: int) -> list[Version]:
        """Returns versions with revisions below that one, the newest first."""
        ...

    def find(self, table: Table, revision: int) -> Version | None:
        """Returns a version."""
        ...

    def pieces(self, table: Table, revision: int, *, first: int, count: int) -> list[bytes]:
        """Returns pieces of a recorded version as they are stored, from number ``first`` on."""
        ...

    def label(self, table: Table, revision: int, label: str | None) -> bool:
        """Gives a version a label, or takes it; adds the version of a revision that has none.

        False when as many others of the table have one as may. Those who label one table take
        turns.
        """
        ...

    def erase(self, table: Table, revision: int | None = None) -> None:
        """Forgets content and label of a version that is not live; None: of all of them.

        The versions stay, as gaps; ``Histories.prune`` deletes the pieces.
        """
        ...


class Histories(Protocol):
    """What leaves the histories of tables."""

    def over_limit(self, *, limit: int) -> list[int]:
        """Returns projects whose pieces take more bytes than they may: first the most too many.

        Only those of which a version may leave: others would stand before these for ever.
        """
        ...

    def expire_oldest(self, project_id: int) -> int:
        """Deletes the versions of a project that were overwritten first, but no labelled ones.

        Nor what a plan replaced that can still be undone.

        As many as hold the bytes that are too many, at most 1,000; returns how many.
        """
        ...

    def due(self, *, limit: int) -> list[TableHistory]:
        """Returns histories of which something may have to leave; of deleted tables everything."""
        ...

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        """Deletes versions that are too old or too many, at most ``limit``, then unused pieces.

        What a plan replaced that can still be undone is never too many.
        Does nothing while somebody records into the history.
        """
        ...


class HistorySettings(Protocol):
    """How much of the past projects keep."""

    def read(self, project_id: int) -> StoredHistoryLimits:
        """Returns the settings of a project; the defaults when it never had any."""
        ...

    def lock(self, project_id: int) -> StoredHistoryLimits:
        """Returns the settings and keeps others from changing them until the transaction ends."""
        ...

    def write(self, project_id: int, settings: HistoryLimits) -> StoredHistoryLimits:
        """Writes settings as the next version; every history of the project is due."""
        ...


@dataclass(frozen=True, slots=True)
class OpenPlans:
    """How many plans of a project may still be executed, and how many previews are going on."""

    plans: int
    previews: int


class Plans(Protocol):
    """Plans to replace, their tables and their strings.

    A plan is changed by who has locked it. Tables are in the order of their ids, strings in that
    of the document.
    """

    def open(self, project_id: int) -> OpenPlans:
        """Counts plans that are neither executed nor expired.

        Others who ask the same wait until the transaction ends, so that none is made uncounted.
        """
        ...

    def add(self, new: NewPlan) -> Plan | None:
        """Creates one that is ``previewing``, or ``ready`` where it undoes another.

        None: the other one is undone already, or is just being undone.
        """
        ...

    def find(self, plan_id: int, *, project_id: int) -> Plan | None:
        """Returns a plan of that project."""
        ...

    def lock(self, plan_id: int) -> Plan | None:
        """Returns a plan and keeps others from changing it until the transaction ends."""
        ...

    def page(self, project_id: int, *, below: int | None, limit: int) -> list[Plan]:
        """Returns plans with lower ids, the newest first."""
        ...

    def save(self, plan: Plan) -> None:
        """Writes what may change of a plan; and that it lives."""
        ...

    def begin(self, plan: Plan) -> bool:
        """Makes a plan the one of its project that is ``executing``; False while another one is.

        Nobody waits: of two at the same time, one is refused. Writes nothing else of the plan.
        """
        ...

    def remove(self, plan_id: int) -> None:
        """Deletes a plan with its tables and strings, and the plans that undid it."""
        ...

    def forget_texts(self, plan_id: int) -> None:
        """Deletes the request of a plan and its strings, for good; it cannot be undone then.

        Its counts and its tables stay.
        """
        ...

    def add_tables(
        self, plan_id: int, tables: Sequence[PlannedTable], strings: Sequence[PlannedString] = ()
    ) -> None:
        """Adds documents, and strings of them; some thousand in a statement."""
        ...

    def tables(
        self, plan_id: int, *, after: int = 0, limit: int, state: PlannedTableState | None = None
    ) -> list[PlannedTable]:
        """Returns documents with ids above ``after``, ascending; of one state."""
        ...

    def lock_table(self, plan_id: int, table_id: int) -> PlannedTable | None:
        """Returns a document of a plan; others cannot change it until the transaction ends."""
        ...

    def save_table(self, plan_id: int, table: PlannedTable) -> None:
        """Writes what may change of a document; and that its plan lives."""
        ...

    def strings(self, plan_id: int, table_id: int) -> list[PlannedString]:
        """Returns all strings of one document, with their edits."""
        ...

    def write_strings(self, plan_id: int, strings: Sequence[PlannedString]) -> None:
        """Writes what was executed of strings, or adds those that are not there."""
        ...

    def strings_of_matches(
        self, plan_id: int, *, after: int, limit: int, table_id: int | None = None
    ) -> list[PlannedString]:
        """Returns strings with a match above number ``after``, by their first match; no edits."""
        ...

    def expire(self, *, limit: int) -> int:
        """Makes plans ``expired`` that were not executed in their time; returns how many."""
        ...

    def outlived(self, *, limit: int) -> list[int]:
        """Returns plans whose texts are there still, but not needed any more.

        The time to undo them has ended, or they were never executed and expired an hour ago. One
        that is being executed or undone needs its texts.
        """
        ...

    def forget_strings(self, *, limit: int) -> int:
        """Deletes strings of tables that our API deleted; returns how many."""
        ...

    def forgettable(self, *, limit: int) -> list[int]:
        """Returns plans that have ended and are a year old, and those of deleted projects.

        One that was undone follows when its undo is gone.
        """
        ...

    def silent(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns plans that a worker has to go on with, but that were not saved for that long.

        Each is returned once in that time.
        """
        ...
