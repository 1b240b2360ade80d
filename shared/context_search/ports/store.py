"""Postgres, the source of truth, as transactions over repositories."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from context_search.domain.orders import Order
from context_search.ports.access import IdempotencyKeys, Keys, McpInstances
from context_search.ports.catalog import JudgedSets, Outlines, Projects, Tables, Tools, Uploads
from context_search.ports.editing import Histories, HistorySettings, Plans, Versions
from context_search.ports.indexing import (
    Calibrations,
    Chunks,
    Comparisons,
    Evictions,
    Indexes,
    LargeStrings,
    NodeCounts,
    Nodes,
    Outbox,
    Quotas,
    Rebuilds,
    Sections,
)
from context_search.ports.outside import Deadline
from context_search.ports.searching import (
    Keywords,
    LiveChunks,
    Permits,
    ProjectSettings,
    Rankings,
    Reading,
    WordsBacklog,
)
from context_search.ports.upkeep import (
    Agenda,
    CleanupRuns,
    Deletions,
    Gauges,
    Health,
    Removals,
    Sweeps,
)


class UnitOfWork(Protocol):
    """One transaction."""

    def send(self, *orders: Order) -> None:
        """Adds orders to the book; they leave when the transaction has committed."""
        ...

    def send_waiting(self, *project_ids: int) -> None:
        """Lets the waiting orders of projects leave after the commit, also those of triggers."""
        ...

    def to_deliver(self) -> list[int]:
        """Returns the projects whose orders leave after the commit."""
        ...

    def foresee(self, reading: Reading) -> None:
        """Says what will be read first in this transaction, so that it can be asked for at once.

        Nothing else depends on it: what was not foreseen is asked for when it is read.
        """
        ...

    @property
    def projects(self) -> Projects: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def mcp_instances(self) -> McpInstances: ...
    @property
    def tables(self) -> Tables: ...
    @property
    def outlines(self) -> Outlines: ...
    @property
    def tools(self) -> Tools: ...
    @property
    def indexes(self) -> Indexes: ...
    @property
    def comparisons(self) -> Comparisons: ...
    @property
    def sections(self) -> Sections: ...
    @property
    def calibrations(self) -> Calibrations: ...
    @property
    def rebuilds(self) -> Rebuilds: ...
    @property
    def nodes(self) -> Nodes: ...
    @property
    def node_counts(self) -> NodeCounts: ...
    @property
    def large_strings(self) -> LargeStrings: ...
    @property
    def chunks(self) -> Chunks: ...
    @property
    def live_chunks(self) -> LiveChunks: ...
    @property
    def keywords(self) -> Keywords: ...
    @property
    def words_backlog(self) -> WordsBacklog: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def deletions(self) -> Deletions: ...
    @property
    def removals(self) -> Removals: ...
    @property
    def sweeps(self) -> Sweeps: ...
    @property
    def quotas(self) -> Quotas: ...
    @property
    def evictions(self) -> Evictions: ...
    @property
    def idempotency_keys(self) -> IdempotencyKeys: ...
    @property
    def permits(self) -> Permits: ...
    @property
    def project_settings(self) -> ProjectSettings: ...
    @property
    def rankings(self) -> Rankings: ...
    @property
    def gauges(self) -> Gauges: ...
    @property
    def health(self) -> Health: ...
    @property
    def cleanup_runs(self) -> CleanupRuns: ...
    @property
    def agenda(self) -> Agenda: ...
    @property
    def uploads(self) -> Uploads: ...
    @property
    def judged_sets(self) -> JudgedSets: ...
    @property
    def versions(self) -> Versions: ...
    @property
    def histories(self) -> Histories: ...
    @property
    def history_settings(self) -> HistorySettings: ...
    @property
    def plans(self) -> Plans: ...


class Store(Protocol):
    """Postgres, the source of truth. Raises DatabaseUnavailableError when it cannot serve."""

    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """Opens a transaction that commits at the end of the block, or rolls back on an error.

        It sees the rows of this project and no others, where the store can hold it to that
        (docs/decisions/0017-row-level-security.md).
        After ``deadline`` everything in it raises DatabaseUnavailableError.
        """
        ...

    def for_all(
        self, reason: str, deadline: Deadline | None = None
    ) -> AbstractContextManager[UnitOfWork]:
        """Opens a transaction like ``for_project``, over the rows of all projects.

        ``reason`` says to the reader why that must be; docs/architecture.md lists all of them.
        """
        ...
