"""Indexes several small strings that came in one message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context_search.ports.store import Store
from context_search.ports.time import Deadline
from context_search.services.index_node import IndexNode, RetryLater
from context_search.services.node_report import NodeReport
from context_search.services.outgoing import Deliver


@dataclass(frozen=True, slots=True)
class IndexNodes:
    """The order ``nodes``: one after the other, each as safe as if it had come alone."""

    store: Store
    index_node: IndexNode
    deliver: Deliver

    def __call__(self, node_ids: Sequence[int], deadline: Deadline) -> Iterator[NodeReport]:
        """Yields what became of each node; what there is no time for is ordered again.

        Raises RetryLater at the end when a node has to come again; the others are done by then.
        """
        later: RetryLater | None = None
        for position, node_id in enumerate(node_ids):
            if deadline.left_s() < self.index_node.limits.batch_reserve_s:
                self._hand_over(node_ids[position:])
                break
            try:
                yield self.index_node(node_id, deadline)
            except RetryLater as again:
                later = RetryLater(again.after_s)
                if again.report is not None:
                    yield again.report
        if later is not None:
            raise later

    def _hand_over(self, node_ids: Sequence[int]) -> None:
        message = {"kind": "nodes", "node_ids": list(node_ids)}
        with self.store.transaction() as work:
            outbox_ids = work.outbox.add([message])
        self.deliver(outbox_ids, [message])
