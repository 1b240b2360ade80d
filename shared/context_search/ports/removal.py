"""What somebody deleted through our API, and what follows a table that is not there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Removal:
    """A row that our API marked as deleted. ``row_id`` is the id of the table or the tool."""

    kind: Literal["table", "tool"]
    row_id: int


class Removals(Protocol):
    """Tables and tools on their way out. Rows that others marked are never among them."""

    def remove_nodes(self, *, limit: int) -> int:
        """Deletes nodes of tables that are not there, whoever did that, at most ``limit``.

        A table that comes back is compared again. Retires the indexes of those that will not.
        """
        ...

    def due(self, *, limit: int) -> Sequence[Removal]:
        """Returns what is to be removed now, tools first. A table is when it has no nodes."""
        ...

    def remove(self, removal: Removal) -> bool:
        """Deletes the row, and what its foreign keys say; False when somebody holds it.

        Raises what the store says when others refer to it and have not said what then: the
        transaction is lost.
        """
        ...

    def put_off(self, removal: Removal, *, retry_in_s: float) -> bool:
        """Keeps a row that could not be removed from being due for so long.

        False when it is gone, or somebody has it locked.
        """
        ...
