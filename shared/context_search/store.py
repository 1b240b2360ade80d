"""Postgres, the source of truth, as transactions over repositories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol

from context_search.core.messages import Message
from context_search.integrations.ports import Deadline
from context_search.postgres.pool import Database, Transaction

if TYPE_CHECKING:  # a function loads the repositories of what it does
    from context_search.access.sql.idempotency_keys import IdempotencyKeys
    from context_search.access.sql.keys import Keys
    from context_search.agents.sql.mcp_instances import McpInstances
    from context_search.budgets.sql.ledger import Ledger
    from context_search.budgets.sql.permits import Permits
    from context_search.catalog.sql.judged_sets import JudgedSets
    from context_search.catalog.sql.projects import Projects
    from context_search.catalog.sql.tables import Tables
    from context_search.catalog.sql.tools import Tools
    from context_search.catalog.sql.uploads import Uploads
    from context_search.catalog.sql.versions import Versions
    from context_search.indexing.sql.chunks import Chunks
    from context_search.indexing.sql.comparisons import Comparisons
    from context_search.indexing.sql.indexes import Indexes
    from context_search.indexing.sql.large_strings import LargeStrings
    from context_search.indexing.sql.node_counts import NodeCounts
    from context_search.indexing.sql.nodes import Nodes
    from context_search.indexing.sql.outbox import Outbox
    from context_search.indexing.sql.quotas import Quotas
    from context_search.maintenance.sql.health import Health
    from context_search.maintenance.sql.removals import Removals
    from context_search.maintenance.sql.sweeps import Sweeps
    from context_search.reading.sql.seen_strings import SeenStrings
    from context_search.searching.sql.keywords import Keywords
    from context_search.searching.sql.live_chunks import LiveChunks
    from context_search.searching.sql.rankings import Rankings
    from context_search_editing.sql.plans import Plans

REPOSITORIES = {
    "chunks": "context_search.indexing.sql.chunks:Chunks",
    "comparisons": "context_search.indexing.sql.comparisons:Comparisons",
    "health": "context_search.maintenance.sql.health:Health",
    "idempotency_keys": "context_search.access.sql.idempotency_keys:IdempotencyKeys",
    "indexes": "context_search.indexing.sql.indexes:Indexes",
    "judged_sets": "context_search.catalog.sql.judged_sets:JudgedSets",
    "keys": "context_search.access.sql.keys:Keys",
    "keywords": "context_search.searching.sql.keywords:Keywords",
    "large_strings": "context_search.indexing.sql.large_strings:LargeStrings",
    "ledger": "context_search.budgets.sql.ledger:Ledger",
    "live_chunks": "context_search.searching.sql.live_chunks:LiveChunks",
    "mcp_instances": "context_search.agents.sql.mcp_instances:McpInstances",
    "node_counts": "context_search.indexing.sql.node_counts:NodeCounts",
    "nodes": "context_search.indexing.sql.nodes:Nodes",
    "outbox": "context_search.indexing.sql.outbox:Outbox",
    "permits": "context_search.budgets.sql.permits:Permits",
    "plans": "context_search_editing.sql.plans:Plans",
    "projects": "context_search.catalog.sql.projects:Projects",
    "quotas": "context_search.indexing.sql.quotas:Quotas",
    "rankings": "context_search.searching.sql.rankings:Rankings",
    "removals": "context_search.maintenance.sql.removals:Removals",
    "seen_strings": "context_search.reading.sql.seen_strings:SeenStrings",
    "sweeps": "context_search.maintenance.sql.sweeps:Sweeps",
    "tables": "context_search.catalog.sql.tables:Tables",
    "tools": "context_search.catalog.sql.tools:Tools",
    "uploads": "context_search.catalog.sql.uploads:Uploads",
    "versions": "context_search.catalog.sql.versions:Versions",
}
"""The class of each repository, which is loaded when a transaction first asks for it."""


class UnitOfWork:
    """One transaction and its repositories, each made when it is asked for."""

    chunks: Chunks
    comparisons: Comparisons
    health: Health
    idempotency_keys: IdempotencyKeys
    indexes: Indexes
    judged_sets: JudgedSets
    keys: Keys
    keywords: Keywords
    large_strings: LargeStrings
    ledger: Ledger
    live_chunks: LiveChunks
    mcp_instances: McpInstances
    node_counts: NodeCounts
    nodes: Nodes
    outbox: Outbox
    permits: Permits
    plans: Plans
    projects: Projects
    quotas: Quotas
    rankings: Rankings
    removals: Removals
    seen_strings: SeenStrings
    sweeps: Sweeps
    tables: Tables
    tools: Tools
    uploads: Uploads
    versions: Versions

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._to_deliver: set[int] = set()

    if not TYPE_CHECKING:  # the annotations above say what there is

        def __getattr__(self, name: str) -> object:
            repository = _repository(name)(self._tx)
            setattr(self, name, repository)
            return repository

    def send(self, *messages: Message) -> None:
        """Adds messages to the outbox; they leave when the transaction has committed."""
        self._to_deliver.update(self.outbox.add(message.to_json() for message in messages))

    def send_waiting(self, *project_ids: int) -> None:
        """Lets the waiting messages of projects leave after the commit, also those of triggers."""
        self._to_deliver.update(project_ids)

    def to_deliver(self) -> list[int]:
        """Returns the projects whose messages leave after the commit."""
        return sorted(self._to_deliver)


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

        ``reason`` says to the reader why that must be; docs/consistency.md lists all of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class PostgresStore:
    """Implements ``Store``."""

    database: Database

    @contextmanager
    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> Iterator[UnitOfWork]:
        with self.database.transaction(project_id=project_id, deadline=deadline) as tx:
            yield UnitOfWork(tx)

    @contextmanager
    def for_all(
        self,
        reason: str,  # noqa: ARG002 - for the reader
        deadline: Deadline | None = None,
    ) -> Iterator[UnitOfWork]:
        with self.database.transaction(deadline=deadline) as tx:
            yield UnitOfWork(tx)


@cache
def _repository(name: str) -> Callable[[Transaction], object]:
    """Load the class of a repository; AttributeError where there is none of that name."""
    if name not in REPOSITORIES:
        raise AttributeError(name)
    return resolve_name(REPOSITORIES[name])  # type: ignore[no-any-return]
