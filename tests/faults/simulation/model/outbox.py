"""The outbox in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from context_search.core.messages import (
    FEW_NODES,
    LONG_STRING,
    MOST_SHARED,
    SMALL_STRING,
    IndexNodes,
    Message,
    SmallMessage,
    long_window,
    message_from_json,
    message_key,
    pause_s,
    shared_messages,
    together,
)
from context_search.indexing.sql.outbox import Outbox
from context_search.integrations.ports import MessageBody
from context_search.maintenance.rules.health import CleanupLimits
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.rows import OutboxRow


class ModelOutbox(Model, Outbox):
    """``Outbox`` over rows in memory; a transaction is alone, so nothing is locked."""

    def due_at(self, limits: CleanupLimits) -> Times:
        """What is sent when it has been silent for long; what waits at its time."""
        for row in self.rows.outbox.values():
            if row.sent_at:
                known = (row.sent_at, row.begun_at, row.due_at)
                yield max(at for at in known if at) + timedelta(seconds=limits.silent_s)
            else:
                waits = (row.due_at, row.claimed_until)
                yield max((at for at in waits if at), default=self.clock.now())

    def add(self, bodies: Iterable[MessageBody]) -> list[int]:
        messages = [(message_key(message), message) for message in bodies]
        return sorted(
            {
                self._add(key, body)
                for key, body in sorted(messages, key=lambda each: each[0] or str(each[1]))
            }
        )

    def _add(self, key: str | None, body: MessageBody) -> int:
        for row in self.rows.outbox.values():
            if key is not None and row.key == key and row.begun_at is None:
                return row.project_id
        message_id, project_id = self.rows.new_id(), self._project_of(body)
        self.rows.outbox[message_id] = OutboxRow(
            message_id, body, self.clock.now(), project_id, key, self._is_long(body)
        )
        return project_id

    def _is_long(self, body: MessageBody) -> bool:
        node_id = body.get("node_id")
        node = self.rows.nodes.get(node_id) if isinstance(node_id, int) else None
        return node is not None and node.char_count >= LONG_STRING

    def _project_of(self, body: MessageBody) -> int:
        rows = self.rows
        match body:
            case {"kind": "enumerate" | "calibrate", "index_id": int() as index_id}:
                row = rows.indexes.get(index_id)
                return row.project_id if row else 0
            case {"kind": "plan", "plan_id": int() as plan_id}:
                planned = rows.plans.get(plan_id)
                return planned.plan.project_id if planned else 0
            case {"node_id": int() as node_id} | {"node_ids": [int() as node_id, *_]}:
                node = rows.nodes.get(node_id)
                table = rows.tables.get(node.table_id) if node else None
                return table.project_id if table else 0
        return 0

    def withdraw(self, message: Message) -> None:
        key = message_key(message.to_json())
        for row in list(self.rows.outbox.values()):
            if row.key == key and row.begun_at is None:
                del self.rows.outbox[row.id]

    def take(self, project_id: int, *, window: int) -> list[tuple[int, MessageBody]]:
        now = self.clock.now()
        rows = [row for _, row in sorted(self.rows.outbox.items()) if row.project_id == project_id]
        places = [row.is_long for row in rows if _has_place(row, now)]
        waiting = [row for row in rows if _waits(row, now)]
        waiting.sort(key=lambda row: (row.body["kind"] != "enumerate", row.id))
        long = [row for row in waiting if row.is_long]
        going = long[: max(0, long_window(window) - sum(places))]
        fitting = [row for row in waiting if not row.is_long or row in going]
        taken = fitting[: max(0, window - len(places))]
        may_share = [row.id for row in taken if _may_share(row)]
        for row in taken:
            until, first = now + timedelta(minutes=1), row.claimed_at or now
            self.rows.change(self.rows.outbox, row.id, claimed_until=until, claimed_at=first)
        self._share(project_id, may_share, window)
        return [(id_, self.rows.outbox[id_].body) for id_ in sorted(row.id for row in taken)]

    def _share(self, project_id: int, taken: Sequence[int], window: int) -> None:
        now = self.clock.now()
        ready = [
            row
            for _, row in sorted(self.rows.outbox.items())
            if row.project_id == project_id and _waits(row, now) and _may_share(row)
        ]
        waiting = [
            small for row in ready[:MOST_SHARED] if (small := self._small_of(row)) is not None
        ]
        messages = {
            small.id: small
            for message_id in taken
            if (small := self._small_of(self.rows.outbox[message_id])) is not None
        }
        if len(waiting) <= window:
            return
        for message_id, company in shared_messages(list(messages.values()), waiting).items():
            body = together(messages[message_id], company).to_json()
            self._change(message_id, body=body, key=None)
            for other in company:
                del self.rows.outbox[other.id]

    def _small_of(self, row: OutboxRow) -> SmallMessage | None:
        message = message_from_json(row.body)
        if not isinstance(message, IndexNodes):
            return None
        chars = [
            self.rows.nodes[each].char_count for each in message.node_ids if each in self.rows.nodes
        ]
        if not chars or max(chars) > SMALL_STRING:
            return None
        return SmallMessage(row.id, message.node_ids, sum(chars))

    def note_sent(self, message_ids: Sequence[int]) -> None:
        for message_id in message_ids:
            row = self.rows.outbox.get(message_id)
            if row is not None and row.claimed_until is not None:
                self._change(message_id, sent_at=self.clock.now(), claimed_until=None)

    def begin(self, message_id: int) -> int | None:
        row, now = self.rows.outbox.get(message_id), self.clock.now()
        if row is None:
            return None
        sent_at = row.sent_at or now
        self._change(message_id, begun_at=now, due_at=None, claimed_until=None, sent_at=sent_at)
        return row.project_id

    def finish(self, message_id: int) -> None:
        self.rows.outbox.pop(message_id, None)

    def delay(self, message_id: int, *, after_s: float, window: int) -> bool:
        own, now = self.rows.outbox.get(message_id), self.clock.now()
        if own is None:
            return False
        equal = [
            row
            for row in self.rows.outbox.values()
            if own.key is not None and row.key == own.key and row.id != message_id
        ]
        for row in equal:
            if row.begun_at is not None and not is_due(row, now):
                del self.rows.outbox[row.id]
        if any(row.begun_at is None for row in equal):
            del self.rows.outbox[message_id]
            return False
        resting = sum(
            row.project_id == own.project_id and row.sent_at is not None and not is_due(row, now)
            for row in self.rows.outbox.values()
        )
        stays, due_at = resting < window, now + timedelta(seconds=after_s)
        self._change(
            message_id,
            due_at=due_at,
            claimed_at=None,
            claimed_until=None,
            sent_at=now if stays else None,
        )
        return stays

    def silent(self, *, silent_s: float) -> list[int]:
        since = self.clock.now() - timedelta(seconds=silent_s)
        return [row.id for row in self.rows.outbox.values() if _is_silent(row, since)]

    def reopen(self, message_ids: Sequence[int], *, silent_s: float) -> int:
        lost = set(message_ids).intersection(self.silent(silent_s=silent_s))
        for row in [self.rows.outbox[each] for each in sorted(lost)]:
            wait_s = pause_s(row.times_lost, silent_s) if row.begun_at else 0.0
            self._let_wait(row.id, wait_s, times_lost=row.times_lost + 1)
        return len(lost)

    def restore(self, message_ids: Sequence[int]) -> list[int]:
        found = [self.rows.outbox[each] for each in message_ids if each in self.rows.outbox]
        for row in found:
            self._let_wait(row.id, 0.0, times_lost=0)
        return sorted({row.project_id for row in found})

    def _let_wait(self, message_id: int, wait_s: float, *, times_lost: int) -> None:
        due_at = self.clock.now() + timedelta(seconds=wait_s)
        self._change(
            message_id, sent_at=None, claimed_at=None, due_at=due_at, times_lost=times_lost
        )

    def waiting(self, *, limit: int) -> list[int]:
        now = self.clock.now()
        found = {row.project_id for row in self.rows.outbox.values() if _waits(row, now)}
        return sorted(found)[:limit]

    def has_neighbours(self, table_id: int) -> bool:
        now, table = self.clock.now(), self.rows.tables.get(table_id)
        return any(
            row.project_id not in (0, table and table.project_id)
            and row.begun_at is None
            and is_due(row, now)
            for row in self.rows.outbox.values()
        )

    def _change(self, message_id: int, **values: object) -> None:
        self.rows.change(self.rows.outbox, message_id, **values)


def is_due(row: OutboxRow, now: datetime) -> bool:
    return row.due_at is None or row.due_at <= now


def _is_free(row: OutboxRow, now: datetime) -> bool:
    return row.claimed_until is None or row.claimed_until < now


def _waits(row: OutboxRow, now: datetime) -> bool:
    return row.sent_at is None and _is_free(row, now) and is_due(row, now)


def _may_share(row: OutboxRow) -> bool:
    message = message_from_json(row.body)
    is_new = row.claimed_at is None and row.begun_at is None and row.due_at is None
    return is_new and isinstance(message, IndexNodes) and len(message.node_ids) <= FEW_NODES


def _has_place(row: OutboxRow, now: datetime) -> bool:
    return is_due(row, now) if row.sent_at else not _is_free(row, now)


def _is_silent(row: OutboxRow, since: datetime) -> bool:
    moments = (row.sent_at, row.begun_at, row.due_at)
    return row.sent_at is not None and max(at for at in moments if at) < since
