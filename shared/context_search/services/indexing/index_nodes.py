"""Indexes several small strings that came in one message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from context_search.domain import orders
from context_search.domain.model import Claim
from context_search.ports.outside import Deadline
from context_search.ports.store import Store
from context_search.services.indexing.index_node import IndexNode
from context_search.services.indexing.index_together import IndexTogether
from context_search.services.indexing.node_report import NodeReport, RetryLater
from context_search.services.indexing.outgoing import SMALL_STRING


@dataclass(slots=True)
class _Failures:
    """What goes wrong with some strings, until the others had their turn."""

    later: RetryLater | None = None
    unexpected: Exception | None = None

    def reports(self, steps: Sequence[Callable[[], NodeReport]]) -> Iterator[NodeReport]:
        """Takes the steps; a RetryLater, or an error, keeps no other from its turn."""
        for step in steps:
            try:
                yield step()
            except RetryLater as later:
                if self.later is None or later.after_s > self.later.after_s:
                    self.later = RetryLater(later.after_s)
                if later.report is not None:
                    yield later.report
            except Exception as error:  # noqa: BLE001 - raised when the others are done
                self.unexpected = error

    def raise_first(self) -> None:
        """Raises what there is to raise."""
        if self.unexpected is not None:
            raise self.unexpected
        if self.later is not None:
            raise self.later


@dataclass(frozen=True, slots=True)
class IndexNodes:
    """The order ``nodes``: together what can go together, each as safe as if it had come alone."""

    store: Store
    index_node: IndexNode
    together: IndexTogether

    def __call__(self, node_ids: Sequence[int], deadline: Deadline) -> Iterator[NodeReport]:
        """Yields what became of the nodes; what there is no time for is ordered again.

        Raises at the end: RetryLater when nodes have to come again, or an unexpected error of one
        of them; the others are done by then.
        """
        if len(node_ids) == 1:
            yield self.index_node(node_ids[0], deadline)
            return
        failures, size = _Failures(), self.index_node.limits.batch_nodes
        for first in range(0, len(node_ids), size):
            if self._is_late(deadline):
                self._hand_over(node_ids[first:])
                break
            yield from self._step(node_ids[first : first + size], deadline, failures)
        failures.raise_first()

    def _step(
        self, node_ids: Sequence[int], deadline: Deadline, failures: _Failures
    ) -> Iterator[NodeReport]:
        claims, alone = self._take(node_ids)
        left: list[Claim] = []

        def together(group: list[Claim]) -> NodeReport:
            outcome = self.together(group)
            left.extend(outcome.left)
            return outcome.report

        yield from failures.reports([partial(together, group) for group in _groups(claims)])
        yield from failures.reports(
            [partial(self.index_node.carry_on, claim, deadline) for claim in left]
        )
        for position, node_id in enumerate(alone):
            if self._is_late(deadline):
                self._hand_over(alone[position:])
                break
            yield from failures.reports([partial(self.index_node, node_id, deadline)])

    def _take(self, node_ids: Sequence[int]) -> tuple[list[Claim], list[int]]:
        """Returns what goes together, and what has to go alone: long, failing, or not due yet."""
        limits = self.index_node.limits
        with self.store.for_all("carry out an order") as work:
            claims = work.nodes.claim_many(
                node_ids,
                max_chars=SMALL_STRING,
                max_attempts=limits.attempts_together,
                lease_s=limits.lease_s,
            )
            taken = {claim.node_id for claim in claims}
            others = [node_id for node_id in node_ids if node_id not in taken]
            return claims, work.nodes.unfinished(others)

    def _is_late(self, deadline: Deadline) -> bool:
        return deadline.left_s() < self.index_node.limits.batch_reserve_s

    def _hand_over(self, node_ids: Sequence[int]) -> None:
        with self.store.for_all("carry out an order") as work:
            work.send(orders.IndexNodes(tuple(node_ids)))


def _groups(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Returns the claims by generation and table."""
    ordered = sorted(claims, key=_place)
    return [list(group) for _, group in groupby(ordered, key=_place)]


def _place(claim: Claim) -> tuple[str, int]:
    return claim.namespace, claim.table_id
