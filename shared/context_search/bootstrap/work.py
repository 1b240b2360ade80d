"""The orders of the queue and the schedule, over the adapters of a process."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from context_search.bootstrap.uploads import UploadParts

if TYPE_CHECKING:
    from context_search.services.indexing.enumeration import EnumerateIndex, Limits
    from context_search.services.indexing.index_node import IndexNode
    from context_search.services.indexing.index_nodes import IndexNodes
    from context_search.services.indexing.rebuild import Model
    from context_search.services.indexing.settle import SettleIndex
    from context_search.services.indexing.worker import Worker
    from context_search.services.upkeep.cleanup import Cleanup

EMBED_TIMEOUT_S = 30.0


class Work(UploadParts):
    """What SQS and the scheduler can ask for, and what it shares with HTTP."""

    @property
    def worker(self) -> Worker:
        """What workers do with their orders; each kind is made for its first one."""
        from context_search.services.indexing.order_book import OrderBook  # noqa: PLC0415
        from context_search.services.indexing.worker import Worker  # noqa: PLC0415

        return Worker(
            OrderBook(self.store, self.deliver),
            lambda node_ids, deadline: self.index_nodes(node_ids, deadline),  # noqa: PLW0108 - later
            lambda index_id, table_id: self.enumerate_index(index_id, table_id),  # noqa: PLW0108
            lambda upload_id: self.import_document(upload_id),  # noqa: PLW0108
        )

    @property
    def limits(self) -> Limits:
        """What one node may be at most."""
        from context_search.services.indexing.enumeration import Limits  # noqa: PLC0415

        return Limits(self.settings.max_node_chars, self.settings.max_node_chunks)

    @property
    def model(self) -> Model:
        """What new indexes are built with."""
        from context_search.services.indexing.rebuild import Model  # noqa: PLC0415

        settings = self.settings
        return Model(
            name=settings.embedding_model,
            dimensions=settings.embedding_dimensions,
            window_tokens=settings.embedding_window_tokens,
            price=settings.embedding_price,
        )

    @property
    def settle(self) -> SettleIndex:
        """What follows when a node is done."""
        from context_search.services.indexing.settle import SettleIndex  # noqa: PLC0415

        return SettleIndex(self.store, self.settings.silent_after_s)

    @cached_property
    def index_node(self) -> IndexNode:
        """The order ``node``."""
        from context_search.services.indexing.chunk_vectors import ChunkVectors  # noqa: PLC0415
        from context_search.services.indexing.index_node import IndexLimits, IndexNode  # noqa: PLC0415

        return IndexNode(
            store=self.store,
            vectors=self.vectors,
            chunk_vectors=ChunkVectors(self.store, self.vectors, self.embedder_of, EMBED_TIMEOUT_S),
            settle=self.settle,
            clock=self.clock,
            limits=IndexLimits(
                lease_s=self.settings.index_lease_s, project=self.settings.project_limits
            ),
        )

    @cached_property
    def index_nodes(self) -> IndexNodes:
        """The order ``nodes``."""
        from context_search.services.indexing.index_nodes import IndexNodes  # noqa: PLC0415
        from context_search.services.indexing.index_together import IndexTogether  # noqa: PLC0415

        together = IndexTogether(self.index_node)
        return IndexNodes(self.store, self.index_node, together)

    @cached_property
    def enumerate_index(self) -> EnumerateIndex:
        """The order ``enumerate``."""
        from context_search.services.indexing.enumeration import EnumerateIndex  # noqa: PLC0415

        return EnumerateIndex(self.store, self.settle, self.limits)

    @cached_property
    def cleanup(self) -> Cleanup:
        """The scheduled run."""
        from context_search.services.indexing.outgoing import RelayOutbox  # noqa: PLC0415
        from context_search.services.upkeep.cleanup import Cleanup  # noqa: PLC0415
        from context_search.services.upkeep.cleanup_report import CleanupLimits  # noqa: PLC0415
        from context_search.services.upkeep.sweep import SweepNamespace  # noqa: PLC0415

        return Cleanup(
            store=self.store,
            vectors=self.vectors,
            relay=RelayOutbox(self.store, self.deliver),
            settle=self.settle,
            sweep=SweepNamespace(self.store, self.vectors),
            uploads=self.expire_uploads,
            limits=CleanupLimits(
                self.settings.silent_after_s,
                self.settings.delete_grace_s,
                project=self.settings.project_limits,
                deletes_unknown=self.settings.delete_unknown_namespaces,
            ),
        )
