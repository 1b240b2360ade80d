"""Leased permits in Postgres: session locks would not survive a transaction pooler."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from context_search.postgres.pool import Transaction

# SKIP LOCKED: who takes a permit at the same moment takes another one, and nobody waits.
# A holder's own permits are free for it: it asks again when a connection broke before the answer.
_TAKE = """
    WITH free AS (
        SELECT pool, number FROM permit
        WHERE pool = :pool AND number <= :size
          AND (lease_until < clock_timestamp() OR holder = :holder)
        ORDER BY number LIMIT :count FOR UPDATE SKIP LOCKED),
    taken AS (
        UPDATE permit
        SET holder = :holder, lease_until = clock_timestamp() + make_interval(secs => :lease)
        FROM free
        WHERE permit.pool = free.pool AND permit.number = free.number
          AND (SELECT count(*) FROM free) = :count
        RETURNING 1)
    SELECT (SELECT count(*) FROM taken),
           (SELECT count(*) FROM permit WHERE pool = :pool AND number <= :size)
"""
_FILL = """
    INSERT INTO permit (pool, number) SELECT :pool, number FROM generate_series(1, :size) AS number
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class Permits:
    """Pools of numbered permits. A permit that was not returned is free when its lease ends.

    ``take`` is a transaction by itself: nothing else may run in it. ``give_back`` goes with what
    is read next, or with the end of the transaction.

    The rows of a pool are made when it is used for the first time.

    What is taken twice, because a connection broke, is given back together.
    """

    tx: Transaction

    def take(self, pool: str, *, size: int, count: int, lease_s: float) -> str | None:
        """Takes ``count`` of the ``size`` permits of a pool, all or none.

        Returns the holder to give back with; None when too few are free. Never waits.
        """
        holder = secrets.token_hex(8)
        wanted = {"pool": pool, "size": size, "count": count, "holder": holder, "lease": lease_s}
        [[taken, rows]] = self.tx.run_and_commit(_TAKE, **wanted)
        if not taken and rows < size:
            # Another request may fill it at the same moment: the permits are there either way.
            self.tx.run_and_commit(_FILL, pool=pool, size=size)
            [[taken, _]] = self.tx.run_and_commit(_TAKE, **wanted)
        return holder if taken else None

    def renew(self, pool: str, holder: str, *, lease_s: float) -> bool:
        """Lets the lease of what ``holder`` has end in ``lease_s`` seconds from now.

        Nobody else takes it until the transaction ends. False: somebody else has it by now.

        Keeps the rows locked: whoever takes permits passes over them.
        """
        return bool(
            self.tx.execute(
                """
                UPDATE permit SET lease_until = clock_timestamp() + make_interval(secs => :lease)
                WHERE pool = :pool AND holder = :holder
                """,
                pool=pool,
                holder=holder,
                lease=lease_s,
            )
        )

    def give_back(self, pool: str, holder: str) -> None:
        """Frees what ``holder`` has; nothing happens when its lease has ended.

        Ends the lease with the next statement of the transaction, or with its end.
        """
        self.tx.queue(
            """
            UPDATE permit SET holder = NULL, lease_until = clock_timestamp()
            WHERE pool = :pool AND holder = :holder
            """,
            pool=pool,
            holder=holder,
        )

    def delete_unused(self, *, unused_s: float, limit: int) -> int:
        """Deletes the rows of permits that nobody took for so long; returns how many."""
        return self.tx.execute(
            """
            WITH found AS (
                SELECT pool, number FROM permit
                WHERE lease_until < clock_timestamp() - make_interval(secs => :unused)
                ORDER BY lease_until LIMIT :limit FOR UPDATE SKIP LOCKED)
            DELETE FROM permit USING found
            WHERE permit.pool = found.pool AND permit.number = found.number
            """,
            unused=unused_s,
            limit=limit,
        )
