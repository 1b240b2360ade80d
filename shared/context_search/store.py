"""Postgres, the source of truth, as transactions over repositories."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from context_search.core.messages import Order
from context_search.integrations.ports import Deadline

if TYPE_CHECKING:  # a function loads the ports of what it does
    from context_search.access.ports.idempotency_keys import IdempotencyKeys
    from context_search.access.ports.keys import Keys
    from context_search.agents.ports.mcp_instances import McpInstances
    from context_search.budgets.ports.ledger import Ledger
    from context_search.budgets.ports.permits import Permits
    from context_search.catalog.ports.histories import Histories
    from context_search.catalog.ports.judged_sets import JudgedSets
    from context_search.catalog.ports.outlines import Outlines
    from context_search.catalog.ports.project_settings import ProjectSettings
    from context_search.catalog.ports.projects import Projects
    from context_search.catalog.ports.tables import Tables
    from context_search.catalog.ports.tools import Tools
    from context_search.catalog.ports.uploads import Uploads
    from context_search.catalog.ports.versions import Versions
    from context_search.indexing.ports.calibrations import Calibrations
    from context_search.indexing.ports.chunks import Chunks
    from context_search.indexing.ports.comparisons import Comparisons
    from context_search.indexing.ports.evictions import Evictions
    from context_search.indexing.ports.indexes import Indexes
    from context_search.indexing.ports.large_strings import LargeStrings
    from context_search.indexing.ports.node_counts import NodeCounts
    from context_search.indexing.ports.nodes import Nodes
    from context_search.indexing.ports.outbox import Outbox
    from context_search.indexing.ports.quotas import Quotas
    from context_search.indexing.ports.rebuilds import Rebuilds
    from context_search.indexing.ports.sections import Sections
    from context_search.indexing.ports.words_backlog import WordsBacklog
    from context_search.maintenance.ports.cleanup_runs import CleanupRuns
    from context_search.maintenance.ports.deletions import Deletions
    from context_search.maintenance.ports.gauges import Gauges
    from context_search.maintenance.ports.health import Health
    from context_search.maintenance.ports.removals import Removals
    from context_search.maintenance.ports.schedule import Schedule
    from context_search.maintenance.ports.sweeps import Sweeps
    from context_search.searching.ports.keywords import Keywords
    from context_search.searching.ports.live_chunks import LiveChunks, Reading
    from context_search.searching.ports.rankings import Rankings
    from context_search_editing.ports.plans import Plans


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
    def ledger(self) -> Ledger: ...
    @property
    def cleanup_runs(self) -> CleanupRuns: ...
    @property
    def schedule(self) -> Schedule: ...
    @property
    def uploads(self) -> Uploads: ...
    @property
    def judged_sets(self) -> JudgedSets: ...
    @property
    def versions(self) -> Versions: ...
    @property
    def histories(self) -> Histories: ...
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
