"""Indexes, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.core.config import IndexConfig
from context_search.core.model import Index


class Indexes(Protocol):
    """Indexes, seen through one of their generations."""

    def find_or_add(self, *, project_id: int, table_id: int, config: IndexConfig) -> Index:
        """Returns the table's index of that configuration, created with its first generation.

        An index that is being rebuilt to that configuration is the one.
        """
        ...

    def find(self, index_id: int) -> Index | None:
        """Returns an index, seen through its active generation."""
        ...

    def page(self, *, after: int, limit: int) -> list[Index]:
        """Returns indexes of all projects that are there with ids above ``after``, ascending."""
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

    def name_fields(self, index_id: int, names: Sequence[str]) -> None:
        """Says which fields an index keeps with its strings; new ones have it compared again."""
        ...

    def live(self, index_id: int) -> list[Index]:
        """Returns an index through every generation that follows its document: active, building."""
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
