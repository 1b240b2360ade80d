"""Indexes: what is kept of which tables, and how far it follows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from context_search.domain.config import IndexConfig
from context_search.domain.model import Index


class Indexes(Protocol):
    """Indexes, their generations and the scopes that keep them alive."""

    def find_or_add(self, *, project_id: int, table_id: int, config: IndexConfig) -> Index:
        """Returns the table's index of that configuration, created with its first generation.

        An index that is being rebuilt to that configuration is the one.
        """
        ...

    def find(self, index_id: int) -> Index | None:
        """Returns an index, seen through its active generation."""
        ...

    def of_project(self, project_id: int) -> Index | None:
        """Returns the index over all tables of a project, if it has one."""
        ...

    def add_to_project(self, project_id: int, config: IndexConfig) -> Index:
        """Creates the index over all tables. The caller holds the project's lock and asked first.

        Whoever adds a table later orders its comparison; the caller orders that of the others.
        """
        ...

    def lock(self, index: Index) -> bool:
        """Keeps an index from being compared, switched or given up by another transaction.

        False when the index, or its table, is gone.
        """
        ...

    def share(self, index: Index) -> None:
        """Keeps an index from being switched or given up; the caller holds one table's lock."""
        ...

    def live(self, index_id: int) -> list[Index]:
        """Returns an index through every generation that follows its document: active, building."""
        ...

    def cover(self, index_id: int, *, tool_id: int, scope: str) -> None:
        """Notes that a tool needs a scope of an index.

        The index has to be compared again, unless it was compared for a scope that contains it.
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

    def mark_enumerated(
        self, index: Index, table_id: int, revision: int, scopes: Sequence[str]
    ) -> None:
        """Notes which revision of a table, and which scopes, the nodes of a generation are of.

        Why the table was refused is forgotten, and so is a failure that ``note_failed`` noted.
        """
        ...

    def follows(self, index_id: int, table_id: int | None = None) -> bool:
        """Tells whether each live generation follows a table, or all, in one small statement.

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
        """Returns index and table where nobody compared the two for ``silent_s``.

        Counted from the last change, order or take; each is taken once in that time. Evicted
        indexes and deleted tables are left alone, and so is what the order book has an order for.
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

    def with_unsettled_tools(self, *, limit: int) -> list[int]:
        """Returns indexes with a tool whose written summary does not say ``ready``.

        Of an evicted index it has to say ``evicted``. Those that were not returned for the
        longest time come first, so that none has to wait for ever.
        """
        ...

    def retire(self, index_id: int) -> None:
        """Removes an index; its generation waits for ``cleanup`` to delete the namespace."""
        ...
