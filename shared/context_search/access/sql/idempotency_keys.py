"""Idempotency keys in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.access.rules.idempotency_keys import RequestKey, SavedResponse
from context_search.postgres.pool import Transaction

_MINE = "project_id = :project AND key_hash = :key AND holder = :holder"


@dataclass(frozen=True, slots=True)
class IdempotencyKeys:
    """One row for each key that was sent."""

    tx: Transaction

    def claim(
        self, key: RequestKey, *, request_hash: bytes, holder: str, lease_s: float, kept_s: float
    ) -> SavedResponse | None:
        """Returns None when the caller shall execute the request, else the earlier one.

        A row that is older than ``kept_s``, or whose holder gave no answer within its lease, is
        taken over.
        """
        is_claimed = self.tx.run(
            """
            INSERT INTO idempotency_key AS earlier
                (project_id, key_hash, request_hash, holder, lease_until, created_at)
            SELECT :project, :key, :request, :holder, at + make_interval(secs => :lease), at
            FROM clock_timestamp() AS at
            ON CONFLICT (project_id, key_hash) DO UPDATE
            SET request_hash = EXCLUDED.request_hash, holder = EXCLUDED.holder, answer = NULL,
                lease_until = EXCLUDED.lease_until, created_at = EXCLUDED.created_at
            WHERE (earlier.answer IS NULL AND earlier.lease_until < clock_timestamp())
               OR earlier.created_at < clock_timestamp() - make_interval(secs => :kept)
            RETURNING 1
            """,
            project=key.project_id,
            key=key.key_hash,
            request=request_hash,
            holder=holder,
            lease=lease_s,
            kept=kept_s,
        )
        if is_claimed:
            return None
        rows = self.tx.run(
            """
            SELECT request_hash, answer FROM idempotency_key
            WHERE project_id = :project AND key_hash = :key
            """,
            project=key.project_id,
            key=key.key_hash,
        )
        # Without a row: released since the first statement.
        return SavedResponse(*rows[0]) if rows else SavedResponse(request_hash, None)

    def keep(self, key: RequestKey, *, holder: str, answer: bytes) -> None:
        """Stores the answer, unless somebody else has taken the row over meanwhile."""
        self.tx.run(
            f"UPDATE idempotency_key SET answer = :answer WHERE {_MINE}",
            answer=answer,
            project=key.project_id,
            key=key.key_hash,
            holder=holder,
        )

    def release(self, key: RequestKey, *, holder: str) -> None:
        """Forgets a request that came to nothing, so that it can be sent again."""
        self.tx.run(
            f"DELETE FROM idempotency_key WHERE {_MINE}",
            project=key.project_id,
            key=key.key_hash,
            holder=holder,
        )

    def count(self, project_id: int, *, at_most: int) -> int:
        """Returns how many rows a tenant has, counting no further than ``at_most``."""
        [[rows]] = self.tx.run(
            """
            SELECT count(*) FROM (
                SELECT FROM idempotency_key WHERE project_id = :project LIMIT :most) AS counted
            """,
            project=project_id,
            most=at_most,
        )
        return int(rows)

    def delete_expired(self, *, older_than_s: float, limit: int) -> int:
        """Deletes rows; returns how many."""
        return self.tx.execute(
            """
            WITH found AS (
                SELECT project_id, key_hash FROM idempotency_key
                WHERE created_at < clock_timestamp() - make_interval(secs => :age)
                ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED)
            DELETE FROM idempotency_key AS kept USING found
            WHERE kept.project_id = found.project_id AND kept.key_hash = found.key_hash
            """,
            age=older_than_s,
            limit=limit,
        )
