"""Projects that are removed for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


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
