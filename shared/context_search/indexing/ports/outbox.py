"""Orders that wait to be sent, or to be carried out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from context_search.core.messages import Order
from context_search.integrations.ports import Message


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
        """Returns waiting orders of a project by id, as many as its window has room for.

        Comparisons come first: one of them may say that no tool needs the strings of the others.
        Then the oldest.
        They are the caller's to send: others leave them alone for a minute. Where more orders for
        small strings wait than ``window``, some go along in the message of one that is taken for
        the first time (``shared_messages``): its order is for all of them then, and theirs are
        forgotten.
        """
        ...

    def note_sent(self, order_ids: Sequence[int]) -> None:
        """Notes that the queue took them."""
        ...

    def begin(self, order_id: int) -> int | None:
        """Notes that a worker has an order. An equal one that comes now is a new order.

        Waits for transactions that have added to it. Returns its project; None when it is done.
        """
        ...

    def finish(self, order_id: int) -> None:
        """Forgets an order that is done."""
        ...

    def rest(self, order_id: int, *, after_s: float, window: int) -> bool:
        """Lets a begun order rest.

        True: its message rests in the queue. False: the order waits in the book, because an equal
        one is waiting or too many of the project rest.
        """
        ...

    def silent(self, *, silent_s: float) -> list[int]:
        """Returns orders that were last sent, begun or due ``silent_s`` ago."""
        ...

    def reopen(self, order_ids: Sequence[int], *, silent_s: float) -> int:
        """Puts orders that are still silent back to waiting and returns how many.

        One that was lost before rests first: ``silent_s``, doubled each time, at most a day.
        """
        ...

    def restore(self, order_ids: Sequence[int]) -> list[int]:
        """Puts these orders back to waiting, unless they are done, and returns their projects.

        How often they were lost is forgotten.
        """
        ...

    def waiting(self, *, limit: int) -> list[int]:
        """Returns projects with orders that wait to be sent, in no order."""
        ...

    def has_neighbours(self, table_id: int) -> bool:
        """Tells whether orders of other projects than a table's wait for a worker."""
        ...
