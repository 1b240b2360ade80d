"""API keys in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search.adapters.postgres.catalog.presence import project_is_there
from context_search.adapters.postgres.pool import Transaction
from context_search.domain.access import (
    ApiKey,
    KeyKind,
    KeyOwner,
    McpKey,
    NewApiKey,
    ProjectKey,
    in_order,
)

_KEY = "id, name, prefix, permissions, created_at, expires_at, last_used_at, revoked_at, kind"
_OWNED = "project_id = :project AND mcp_id IS NOT DISTINCT FROM CAST(:mcp AS bigint)"
_LIVE = """
    api_key.revoked_at IS NULL
    AND (api_key.expires_at IS NULL OR api_key.expires_at > clock_timestamp())
"""
# SKIP LOCKED: of many requests with one key at the same moment, one writes and none waits.
_PRINCIPAL = f"""
    WITH found AS (
        SELECT api_key.id, api_key.project_id, mcp_id, permissions, last_used_at, expires_at
        FROM api_key LEFT JOIN mcp ON mcp.id = mcp_id
        WHERE key_hash = :hash AND {_LIVE} AND mcp.status IS NOT FALSE
          AND {project_is_there("api_key.project_id")}),
    noted AS (
        UPDATE api_key SET last_used_at = clock_timestamp() WHERE id = (
            SELECT api_key.id FROM api_key JOIN found ON found.id = api_key.id
            WHERE found.last_used_at IS NULL
               OR found.last_used_at < clock_timestamp() - make_interval(secs => :every)
            FOR NO KEY UPDATE OF api_key SKIP LOCKED))
    SELECT id, project_id, mcp_id, permissions, expires_at FROM found
"""


@dataclass(frozen=True, slots=True)
class PostgresKeys:
    """The port ``Keys``."""

    tx: Transaction

    def add(self, owner: KeyOwner, new: NewApiKey) -> ApiKey:
        [row] = self.tx.run(
            f"""
            INSERT INTO api_key
                (project_id, mcp_id, name, prefix, key_hash, permissions, kind, created_at,
                 expires_at)
            SELECT :project, :mcp, :name, :prefix, :hash, :permissions, :kind, at,
                   LEAST(at + make_interval(secs => CAST(:lifetime AS double precision)),
                         CAST(:ends_by AS timestamptz))
            FROM clock_timestamp() AS at RETURNING {_KEY}
            """,
            project=owner.project_id,
            mcp=owner.mcp_id,
            name=new.name,
            prefix=new.prefix,
            hash=new.key_hash,
            permissions=in_order(new.permissions),
            kind=new.kind,
            lifetime=new.lifetime_s,
            ends_by=new.ends_by,
        )
        return _key(row)

    def caller_of(self, key_hash: bytes, *, noted_every_s: float) -> ProjectKey | McpKey | None:
        rows = self.tx.run_and_commit(_PRINCIPAL, hash=key_hash, every=noted_every_s)
        if not rows:
            return None
        [[key_id, project_id, mcp_id, permissions, expires_at]] = rows
        if mcp_id is not None:
            return McpKey(project_id, mcp_id, frozenset(permissions))
        return ProjectKey(project_id, frozenset(permissions), expires_at, key_id)

    def page(
        self, owner: KeyOwner, *, after: int, limit: int, kind: KeyKind | None = None
    ) -> list[ApiKey]:
        rows = self.tx.run(
            f"""
            SELECT {_KEY} FROM api_key WHERE {_OWNED} AND id > :after
              AND (CAST(:kind AS text) IS NULL OR kind = :kind) ORDER BY id LIMIT :limit
            """,
            project=owner.project_id,
            mcp=owner.mcp_id,
            after=after,
            kind=kind,
            limit=limit,
        )
        return [_key(row) for row in rows]

    def find(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        rows = self.tx.run(
            f"SELECT {_KEY} FROM api_key WHERE id = :id AND {_OWNED}",
            id=key_id,
            project=owner.project_id,
            mcp=owner.mcp_id,
        )
        return _key(rows[0]) if rows else None

    def forget_console(self, *, older_than_s: float, limit: int) -> int:
        return self.tx.execute(
            """
            DELETE FROM api_key WHERE id IN (
                SELECT id FROM api_key WHERE kind = 'console'
                  AND LEAST(revoked_at, expires_at)
                      < clock_timestamp() - make_interval(secs => :age)
                ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED)
            """,
            age=older_than_s,
            limit=limit,
        )

    def find_live(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        rows = self.tx.run(
            f"SELECT {_KEY} FROM api_key WHERE id = :id AND {_OWNED} AND {_LIVE} FOR NO KEY UPDATE",
            id=key_id,
            project=owner.project_id,
            mcp=owner.mcp_id,
        )
        return _key(rows[0]) if rows else None

    def revoke(self, key_id: int) -> None:
        self.tx.run("UPDATE api_key SET revoked_at = clock_timestamp() WHERE id = :id", id=key_id)

    def expire_within(self, key_id: int, seconds: float) -> None:
        self.tx.run(
            """
            UPDATE api_key SET expires_at =
                LEAST(expires_at, clock_timestamp() + make_interval(secs => :seconds))
            WHERE id = :id
            """,
            id=key_id,
            seconds=seconds,
        )


def _key(row: Sequence[Any]) -> ApiKey:
    key_id, name, prefix, permissions, *others = row
    return ApiKey(key_id, name, prefix, frozenset(permissions), *others)
