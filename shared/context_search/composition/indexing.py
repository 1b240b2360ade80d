"""What workers do with their orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_search.indexing.worker import OrderBook, Worker

if TYPE_CHECKING:
    from context_search.composition.parts import Parts
    from context_search.indexing.outbox_delivery import OnFailure
    from context_search.integrations.ports import Deadline


def worker_of(parts: Parts, on_failure: OnFailure) -> Worker:
    """Returns a worker; what carries out a kind of order is made for its first one."""
    return Worker(
        OrderBook(parts.store, parts.deliver),
        lambda node_ids, deadline: parts.indexer.index(node_ids, deadline),  # noqa: PLW0108 - later
        lambda index_id, table_id: parts.comparer.compare(index_id, table_id),  # noqa: PLW0108
        lambda upload_id: parts.import_document.run(upload_id),  # noqa: PLW0108
        lambda plan_id, deadline: parts.editing.carry_out.run(plan_id, deadline),  # noqa: PLW0108
        lambda index_id, generation_id, deadline: _calibrate(
            parts, index_id, generation_id, deadline
        ),
        on_failure,
    )


def _calibrate(parts: Parts, index_id: int, generation_id: int, deadline: Deadline) -> str:
    from context_search.composition.parts import EMBED_TIMEOUT_S  # noqa: PLC0415
    from context_search.indexing.calibrate import Calibrator  # noqa: PLC0415

    calibrator = Calibrator(
        parts.store, parts.vectors, parts.embedder_of, parts.clock, EMBED_TIMEOUT_S
    )
    return calibrator.run(index_id, generation_id, deadline)
