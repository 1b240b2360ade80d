"""Projects, as rows."""

from __future__ import annotations

from dataclasses import dataclass


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
