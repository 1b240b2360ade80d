"""Judged sets of projects, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from context_search.catalog.rules.judged_sets import JudgedSet


class JudgedSets(Protocol):
    """Judged sets of projects, by name."""

    def of_project(self, project_id: int) -> list[JudgedSet]:
        """Returns all sets of a project by name, without their lines."""
        ...

    def find(self, project_id: int, name: str) -> JudgedSet | None:
        """Returns a set with its lines."""
        ...

    def write(self, project_id: int, name: str, lines: str, *, questions: int) -> JudgedSet:
        """Puts a set in the place of the one of that name, if there is one. Its version is new."""
        ...

    def remove(self, project_id: int, name: str) -> None:
        """Deletes a set."""
        ...
