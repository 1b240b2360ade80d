"""What a worker does with the order that a message brought, before and after the work itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from context_search.domain.errors import ContextSearchError
from context_search.ports.store import Store
from context_search.services.indexing.outgoing import Deliver


@dataclass(frozen=True, slots=True)
class Begun:
    """An order that a worker has; ``id`` is None for a message that names none."""

    id: int | None
    project_id: int = 0


@dataclass(frozen=True, slots=True)
class OrderBook:
    """Begins, ends and puts off orders; whoever leaves a place in the window sends the next one.

    A message of an earlier release names no order: it is carried out, and nothing is noted.
    """

    store: Store
    deliver: Deliver

    def begin(self, order_id: int | None) -> Begun | None:
        """Call it before anything is read: what is written from now on is a new order.

        Returns None for an order that is done: the message came once more.
        """
        if order_id is None:
            return Begun(None)
        with self.store.for_all("deliver orders") as work:
            project_id = work.outbox.begin(order_id)
        return None if project_id is None else Begun(order_id, project_id)

    def finish(self, begun: Begun) -> None:
        """Forgets the order. Raises DatabaseUnavailableError: the message has to come again."""
        if begun.id is None:
            return
        with self.store.for_all("deliver orders") as work:
            work.outbox.finish(begun.id)
            taken = work.outbox.take(begun.project_id, window=self.deliver.window)
        with suppress(ContextSearchError):
            self.deliver.post(taken)

    def rest(self, begun: Begun, after_s: float) -> bool:
        """Puts the order off; False when the message is not needed for it to come again.

        Raises DatabaseUnavailableError.
        """
        if begun.id is None:
            return True
        window = self.deliver.window
        with self.store.for_all("deliver orders") as work:
            stays = work.outbox.rest(begun.id, after_s=after_s, window=window)
            taken = work.outbox.take(begun.project_id, window=window)
        with suppress(ContextSearchError):
            self.deliver.post(taken)
        return stays
