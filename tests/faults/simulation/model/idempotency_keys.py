"""Idempotency keys in memory."""

from __future__ import annotations

from datetime import timedelta

from context_search.access.rules.idempotency_keys import RequestKey, SavedResponse
from context_search.access.sql.idempotency_keys import IdempotencyKeys
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import IdempotencyRow


class MemoryIdempotencyKeys(Model, IdempotencyKeys):
    """``IdempotencyKeys`` over rows in memory."""

    def claim(
        self, key: RequestKey, *, request_hash: bytes, holder: str, lease_s: float, kept_s: float
    ) -> SavedResponse | None:
        now, row = self.clock.now(), self.rows.idempotency.get(_id(key))
        if row is not None:
            is_abandoned = row.answer is None and row.lease_until < now
            if not is_abandoned and row.created_at >= now - timedelta(seconds=kept_s):
                return SavedResponse(row.request_hash, row.answer)
        self.rows.idempotency[_id(key)] = IdempotencyRow(
            request_hash, holder, now + timedelta(seconds=lease_s), now
        )
        return None

    def keep(self, key: RequestKey, *, holder: str, answer: bytes) -> None:
        if self._is_held(key, holder):
            self.rows.change(self.rows.idempotency, _id(key), answer=answer)

    def release(self, key: RequestKey, *, holder: str) -> None:
        if self._is_held(key, holder):
            del self.rows.idempotency[_id(key)]

    def count(self, project_id: int, *, at_most: int) -> int:
        return min(at_most, sum(key[0] == project_id for key in self.rows.idempotency))

    def delete_expired(self, *, older_than_s: float, limit: int) -> int:
        before = self.clock.now() - timedelta(seconds=older_than_s)
        old = [key for key, row in self.rows.idempotency.items() if row.created_at < before]
        for key in old[:limit]:
            del self.rows.idempotency[key]
        return len(old[:limit])

    def _is_held(self, key: RequestKey, holder: str) -> bool:
        row = self.rows.idempotency.get(_id(key))
        return row is not None and row.holder == holder


def _id(key: RequestKey) -> tuple[int, bytes]:
    return key.project_id, key.key_hash
