"""Judged sets in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.rules.judged_sets import JudgedSet
from context_search.postgres.pool import Transaction

_LISTED = "name, version, questions, bytes, updated_at"


@dataclass(frozen=True, slots=True)
class JudgedSets:
    """Judged sets of projects, by name."""

    tx: Transaction

    def of_project(self, project_id: int) -> list[JudgedSet]:
        """Returns all sets of a project by name, without their lines."""
        rows = self.tx.run(
            f"SELECT {_LISTED} FROM judged_set WHERE project_id = :project ORDER BY name",
            project=project_id,
        )
        return [JudgedSet(*row) for row in rows]

    def find(self, project_id: int, name: str) -> JudgedSet | None:
        """Returns a set with its lines."""
        rows = self.tx.run(
            f"""
            SELECT {_LISTED}, lines FROM judged_set
            WHERE project_id = :project AND name = CAST(:name AS text)
            """,
            project=project_id,
            name=name,
        )
        return JudgedSet(*rows[0]) if rows else None

    def write(self, project_id: int, name: str, lines: str, *, questions: int) -> JudgedSet:
        """Puts a set in the place of the one of that name, if there is one. Its version is new."""
        [row] = self.tx.run(
            f"""
            INSERT INTO judged_set AS kept (project_id, name, version, questions, bytes, lines)
            VALUES (:project, CAST(:name AS text),
                    CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint),
                    :questions, octet_length(:lines), :lines)
            ON CONFLICT (project_id, name) DO UPDATE SET
                version = GREATEST(excluded.version, kept.version + 1),
                questions = excluded.questions, bytes = excluded.bytes, lines = excluded.lines,
                updated_at = clock_timestamp()
            RETURNING {_LISTED}
            """,
            project=project_id,
            name=name,
            questions=questions,
            lines=lines,
        )
        return JudgedSet(*row)

    def remove(self, project_id: int, name: str) -> None:
        """Deletes a set."""
        self.tx.run(
            "DELETE FROM judged_set WHERE project_id = :project AND name = CAST(:name AS text)",
            project=project_id,
            name=name,
        )
