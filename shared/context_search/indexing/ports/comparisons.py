"""What an index was compared with, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from context_search.core.model import Index


class Comparisons(Protocol):
    """What an index was compared with: the scopes that tools need of it, and tables' revisions."""

    def cover(self, index_id: int, *, tool_id: int, scope: str) -> None:
        """Notes that a tool needs a scope of an index.

        The index has to be compared again, unless it was compared for a scope that contains it.
        Then only the short strings of the scope are yet to be counted.
        """
        ...

    def uncover(self, tool_id: int) -> None:
        """Forgets what a tool needed; strings that no other tool needs have to go."""
        ...

    def scopes(self, index_id: int) -> list[str]:
        """Returns the distinct scopes that live tools need; of a project's index the root."""
        ...

    def may_be_needed(self, index_id: int) -> bool:
        """Tells whether a tool needs the index, or may again: one in its owner's trash.

        A project's index is needed until it is switched off.
        """
        ...

    def note_compared(
        self,
        index: Index,
        table_id: int,
        revision: int,
        scopes: Sequence[str],
        short_strings: Sequence[int] = (),
    ) -> None:
        """Notes which revision of a table, and which scopes, the nodes of a generation are of.

        Their fields are those that the index names. ``short_strings``: how many strings of each
        scope are too short for it; left out where nobody knows.
        Why the table was refused is forgotten, and so is a failure that ``note_failed`` noted.
        """
        ...

    def follows(self, index_id: int, table_id: int | None = None) -> bool:
        """Tells whether each live generation follows a table, or all, in one small statement.

        False as well where somebody has yet to count the short strings of a scope.
        Then the failure that ``note_failed`` noted is over, and forgotten.
        """
        ...

    def uncompared(self, index_id: int) -> list[int]:
        """Returns the live tables of an index that a live generation does not follow by now.

        It follows one when it was compared with its revision, for what live tools need of it and
        for nothing else. Whoever deletes a tool, by whatever way, need not say so.
        """
        ...

    def is_compared(self, index: Index) -> bool:
        """Tells whether a generation was compared with its tables as they are now."""
        ...

    def behind(self, *, silent_s: float, limit: int) -> list[tuple[int, int]]:
        """Returns pairs of index and table that nobody compared for ``silent_s``.

        Those as well where somebody has yet to count the short strings of a scope.
        The time counts from the last change, order or take. Each pair is taken once in that time.
        Left out are evicted indexes, deleted tables, and pairs that the order book has an order
        for.
        """
        ...

    def note_failed(self, index_id: int, error: Mapping[str, object]) -> None:
        """Notes why an order to compare an index failed, until one succeeds; adds ``at``.

        Not for an index that follows all of its tables by now.
        """
        ...

    def note_refused(self, index_id: int, table_id: int, error: Mapping[str, object]) -> None:
        """Notes why the document of a table cannot be indexed as it is; adds ``at``.

        Each table has a reason of its own, until it is compared again or is gone.
        """
        ...
