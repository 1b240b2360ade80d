"""Kept rankings in Postgres."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from context_search.postgres.pool import Transaction


@dataclass(frozen=True, slots=True)
class Rankings:
    """Small JSON objects with names that cannot be guessed; a project sees only its own."""

    tx: Transaction

    def keep(self, project_id: int, body: Mapping[str, object], *, at_most: int) -> str:
        """Keeps a ranking and returns its name: 32 hexadecimal digits.

        Of a project's rankings only the newest ``at_most`` are kept.
        """
        name = secrets.token_hex(16)
        self.tx.run(
            """
            INSERT INTO ranking (name, project_id, body)
            VALUES (:name, :project, CAST(:body AS jsonb))
            """,
            name=name,
            project=project_id,
            body=json.dumps(body),
        )
        self.tx.run(
            """
            WITH found AS (
                SELECT name FROM ranking WHERE project_id = :project
                ORDER BY created_at DESC, name OFFSET :kept FOR UPDATE SKIP LOCKED)
            DELETE FROM ranking USING found WHERE ranking.name = found.name
            """,
            project=project_id,
            kept=at_most,
        )
        return name

    def find(self, project_id: int, name: str, *, max_age_s: float) -> dict[str, object] | None:
        """Returns what was kept under a name, if it is not older than that."""
        rows = self.tx.run(
            """
            SELECT body FROM ranking WHERE name = :name AND project_id = :project
              AND created_at > clock_timestamp() - make_interval(secs => :age)
            """,
            name=name,
            project=project_id,
            age=max_age_s,
        )
        return json.loads(rows[0][0]) if rows else None

    def delete_expired(self, *, older_than_s: float) -> int:
        """Deletes rankings of that age; returns how many."""
        return self.tx.execute(
            """
            DELETE FROM ranking
            WHERE created_at <= clock_timestamp() - make_interval(secs => :age)
            """,
            age=older_than_s,
        )
