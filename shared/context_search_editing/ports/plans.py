"""Plans of search-and-replace, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from context_search_editing.rules.plans import (
        NewPlan,
        Plan,
        PlannedString,
        PlannedTable,
        PlannedTableState,
    )


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
        """Counts plans that are neither executed nor expired, unless they have nothing to do.

        Others who ask the same wait until the transaction ends, so that none is made uncounted.
        """
        ...

    def add(self, new: NewPlan) -> Plan | None:
        """Creates a plan in its first state.

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
        """Writes the state of a plan that has begun; False while its project executes another one.

        Nobody waits: of two at the same time, one is refused.
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

    def replaced(self, plan_ids: Sequence[int]) -> Mapping[int, int]:
        """Returns how many matches were replaced, by plan; those without tables are left out."""
        ...

    def lock_table(self, plan_id: int, table_id: int) -> PlannedTable | None:
        """Returns a document of a plan; others cannot change it until the transaction ends."""
        ...

    def save_tables(self, plan_id: int, tables: Sequence[PlannedTable]) -> None:
        """Writes what may change of documents; and that their plan lives."""
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
