"""How many nodes an index has, by state and scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.core.model import Index
from context_search.core.progress import IndexState, NodeProgress, Progress


class NodeCounts(Protocol):
    """Counts of nodes, by state and scope. ``silent_s`` is for how long silence is fine."""

    def state(self, index: Index, scope: str, *, silent_s: float) -> IndexState:
        """Returns how an index is; cheap, it reads unfinished nodes only."""
        ...

    def progress(self, index: Index, scope: str, *, silent_s: float) -> Progress:
        """Returns the counters of a scope."""
        ...

    def progress_of(
        self, index: Index, scopes: Sequence[str], *, silent_s: float
    ) -> dict[str, Progress]:
        """Returns the counters of several scopes, from one pass over the nodes."""
        ...

    def has_any(self, index: Index, scope: str) -> bool:
        """Says whether the active generation has chunks in a scope, or may get some.

        Skipped nodes and blank ones (indexed without a chunk) do not count.
        """
        ...

    def in_scope(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        """Returns nodes of a scope, by pointer."""
        ...

    def not_indexed(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        """Returns nodes of a scope that are not indexed; first those that nobody will take up."""
        ...
