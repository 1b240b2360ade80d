"""What must hold between projects: no project waits for long behind the messages of a neighbour.

Counted in messages that workers are handed, never in time.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from context_search.core.messages import MESSAGE_ID
from context_search.indexing.outbox_delivery import LOST_AFTER_S
from context_search.indexing.worker import BegunMessage
from tests.faults.simulation.conditions import OVERTAKES, WINDOW
from tests.faults.simulation.invariants import check
from tests.faults.simulation.messages import Envelope
from tests.faults.simulation.model.comparisons import tables_of
from tests.faults.simulation.model.rows import OutboxRow, Rows
from tests.faults.simulation.world import World

IN_QUEUE = 3 * WINDOW
"""Messages of a project: those with a place, those that rested and are due again, and those of a
send that was made and not noted."""
WAITS_BEHIND = IN_QUEUE + OVERTAKES


class Fairness:
    """Watches the outbox, besides ``Watch``, and who is handed to workers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.version = 0
        self.orders: dict[int, OutboxRow] = {}
        self.waited: defaultdict[int, set[int]] = defaultdict(set)
        self.usual = world.after_step, world.on_begin
        world.after_step = self.after_step
        world.on_begin = self.on_begin

    def after_step(self) -> None:
        """I18, I19, I20; checked again when something was written."""
        self.usual[0]()
        rows = self.world.model_store.rows
        if rows.version == self.version:
            return
        self.version = rows.version
        self._equal_orders_are_one(rows)
        self._what_changed_has_an_order(rows)
        self._the_queue_holds_few_of_each(rows)
        self._what_is_in_the_queue_is_not_sent_again(rows)
        self.orders = dict(rows.outbox)

    def _equal_orders_are_one(self, rows: Rows) -> None:
        """I18: the outbox is as long as what changed, however often it did.

        A message for strings of several has no key.
        """
        keys = [row.key for row in rows.outbox.values() if row.begun_at is None]
        self.world.seen["message: for strings of several"] += keys.count(None)
        opened = Counter(key for key in keys if key is not None)
        check(all(count == 1 for count in opened.values()), "I18 equal orders wait", opened)

    def _what_changed_has_an_order(self, rows: Rows) -> None:
        """I19: a message is there until an index was compared with what was written since."""
        ordered = {row.key for row in rows.outbox.values()}
        for generation in rows.generations.values():
            index = rows.indexes.get(generation.index_id or 0)
            if index is None or index.evicted_at or generation.state not in ("active", "building"):
                continue
            for table in tables_of(rows, index):
                revision, _ = rows.compared.get((generation.id, table.id), (None, ()))
                if revision not in (None, table.revision):
                    keys = {f"enumerate:{index.id}:{table.id}", f"enumerate:{index.id}:"}
                    check(bool(keys & ordered), "I19 a change without an order", table)

    def _the_queue_holds_few_of_each(self, rows: Rows) -> None:
        """I20: a project's messages in the queue, each counted once."""
        waiting = {self._order_of(each) for each in self.world.queue.waiting if not each.in_flight}
        held = Counter(rows.outbox[each].project_id for each in waiting if each in rows.outbox)
        check(all(count <= IN_QUEUE for count in held.values()), "I20 too many in the queue", held)

    def _what_is_in_the_queue_is_not_sent_again(self, rows: Rows) -> None:
        now, task = self.world.clock.now(), self.world.scheduler.latest
        if task is None or task.kind != "cleanup":
            return
        queued = {self._order_of(envelope) for envelope in self.world.queue.waiting}
        for before in self.orders.values():
            row = rows.outbox.get(before.id)
            if row is None or before.sent_at is None or row.sent_at is not None:
                continue
            self.world.seen["message: sent again"] += 1
            is_lost = before.id not in queued
            is_old = (now - before.sent_at).total_seconds() > LOST_AFTER_S
            check(is_lost or is_old, "I20 sent again while it is in the queue", before)

    def on_begin(self, begun: BegunMessage) -> None:
        """I21: a message that a worker could receive is not passed by for long."""
        self.usual[1](begun)
        if not self.world.queue.is_fair or begun.id is None:
            return
        rows = self.world.model_store.rows
        self.waited.pop(begun.id, None)
        for envelope in self.world.queue.deliverable():
            row = rows.outbox.get(self._order_of(envelope))
            if row is None or row.begun_at or row.project_id == begun.project_id:
                continue
            self.waited[row.id].add(begun.id)
            count = len(self.waited[row.id])
            self.world.seen["message: waited behind those of a neighbour"] += count == WINDOW
            check(count <= WAITS_BEHIND, "I21 waits behind a neighbour", (row, count))

    def _order_of(self, envelope: Envelope) -> int:
        return int(str(envelope.body.get(MESSAGE_ID, 0)))
