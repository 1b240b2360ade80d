"""Projects, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from context_search.core.model import Project


@dataclass(frozen=True, slots=True)
class ListedProject:
    """A project in a list. Tables and Search Tools are counted to MOST_COUNTED.

    ``building``: generations of its indexes that are being built or wait for it.
    """

    project_id: int
    name: str | None
    tables_count: int
    tools_count: int
    building: int


MOST_COUNTED = 1_000
"""Maximum number of tables, and of tools, of a project that a list counts."""


class Projects(Protocol):
    """Tenants. Deleted ones are not there."""

    def add(self, name: str) -> Project:
        """Creates a project."""
        ...

    def exists(self, project_id: int) -> bool:
        """Says whether there is such a project."""
        ...

    def name(self, project_id: int) -> str | None:
        """Returns what a project is called; None also where another program gave no name."""
        ...

    def page(self, *, after: int, limit: int) -> list[ListedProject]:
        """Returns projects with ids above ``after``, ascending."""
        ...

    def lock(self, project_id: int) -> bool:
        """Keeps tables from being added until the transaction ends; False without the project.

        Tables that are being added at the moment are visible afterwards.
        """
        ...

    def mark_deleted(self, project_id: int) -> bool:
        """Notes that a project is deleted: its keys and tokens are refused from the commit on.

        False: there is no such project.
        """
        ...
