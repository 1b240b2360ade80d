"""What is on its way out: rows, and what turbopuffer has of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Removal:
    """A row that our API marked as deleted. ``row_id``: the id of tool, table or project."""

    kind: Literal["tool", "table", "project"]
    row_id: int


RemovalEnd = Literal["removed", "left", "kept"]
"""``left``: it is not there, has no mark, or somebody has it locked at this moment.
``kept``: a trigger of the database's owner keeps it.
"""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A vector row that must leave turbopuffer."""

    namespace: str
    doc_id: str
    window_count: int
