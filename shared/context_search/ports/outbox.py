"""The order book: what has to be done, from the transaction that causes it until it is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from context_search.domain.orders import Order
from context_search.ports.queue import Message


class Outbox(Protocol):
    """Orders by project. One waits, is in the queue, is begun by a worker, may rest, and is done.

    In the queue, a project has at most ``window`` orders that do not rest, and as many that do;
    of those for strings of a million characters or more, a quarter of that (``long_window``).
    """

    def add(self, messages: Iterable[Message]) -> list[int]:
        """Stores orders and returns the projects that they are of, ascending.

        An equal order that nobody has begun is enough, and nobody begins it before the
        transaction ends. A project that cannot be told is 0.
        """
        ...

    def withdraw(self, order: Order) -> None:
        """Forgets an order that nobody has begun: the caller carries it out."""
        ...

    def take(self, project_id: int, *, window: int) -> list[tuple[int, Message]]:
        """Returns the oldest waiting orders of a project, as many as its window has room for.

        They are the caller's to send: others leave them alone for a minute.
        """
        ...

    def note_sent(self, order_ids: Sequence[int]) -> None:
        """Notes that the queue took them."""
        ...

    def begin(self, order_id: int) -> int | None:
        """Notes that a worker has an order; an equal one that comes now is a new one.

        Waits for transactions that have added to it. Returns its project; None when it is done.
        """
        ...

    def finish(self, order_id: int) -> None:
        """Forgets an order that is done."""
        ...

    def rest(self, order_id: int, *, after_s: float, window: int) -> bool:
        """Lets a begun order rest, and tells whether its message may rest in the queue meanwhile.

        False when an equal order is there that nobody has begun, which is enough then, and when
        as many orders of the project rest in the queue already: it waits in the book then.
        """
        ...

    def silent(self, *, silent_s: float) -> list[int]:
        """Returns orders that were sent, begun or due for the last time that long ago."""
        ...

    def reopen(self, order_ids: Sequence[int], *, silent_s: float) -> int:
        """Lets those of these orders wait that are still silent; returns how many.

        One that a worker has begun, and that was lost before, rests in the book first, for
        ``silent_s`` and twice as long each further time, at most a day.
        """
        ...

    def restore(self, order_ids: Sequence[int]) -> list[int]:
        """Lets these orders wait again, unless they are done; returns the projects they are of.

        How often they were lost is forgotten.
        """
        ...

    def waiting(self, *, limit: int) -> list[int]:
        """Returns projects with orders that wait to be sent, in no order."""
        ...

    def has_neighbours(self, table_id: int) -> bool:
        """Tells whether orders of other projects than a table's wait for a worker."""
        ...
