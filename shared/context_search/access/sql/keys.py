"""API keys in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from context_search.core.callers import (
    MAX_OPEN_CODES,
    ApiKey,
    KeyKind,
    KeyOwner,
    McpKey,
    NewApiKey,
    Principal,
    ProjectKey,
    Token,
    in_order,
)
from context_search.core.errors import UnauthenticatedError
from context_search.postgres.locks import KEYS_TURN
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import project_is_there

_KEY = """
    id, name, prefix, permissions, created_at, expires_at, last_used_at, revoked_at, kind, made_by,
    actor
"""
_OWNED = "project_id = :project AND mcp_id IS NOT DISTINCT FROM CAST(:mcp AS bigint)"
_LIVE = """
    api_key.revoked_at IS NULL
    AND (api_key.expires_at IS NULL OR api_key.expires_at > clock_timestamp())
"""
# SKIP LOCKED: of many requests with one key at the same moment, one writes and none waits.
_PRINCIPAL = f"""
    WITH found AS (
        SELECT api_key.id, api_key.project_id, mcp_id, permissions, last_used_at, expires_at,
               redacts, tools
        FROM api_key LEFT JOIN mcp ON mcp.id = mcp_id
        WHERE key_hash = :hash AND {_LIVE} AND mcp.status IS NOT FALSE
          AND {project_is_there("api_key.project_id")}),
    noted AS (
        UPDATE api_key SET last_used_at = clock_timestamp() WHERE id = (
            SELECT api_key.id FROM api_key JOIN found ON found.id = api_key.id
            WHERE found.last_used_at IS NULL
               OR found.last_used_at < clock_timestamp() - make_interval(secs => :every)
            FOR NO KEY UPDATE OF api_key SKIP LOCKED))
    SELECT id, project_id, mcp_id, permissions, expires_at, redacts, tools FROM found
"""
_TAKE_TURN = f"SELECT {KEYS_TURN} FROM api_key WHERE id = :id"
_TAKE_TURN_OF = f"SELECT {KEYS_TURN} FROM (SELECT CAST(:project AS bigint)) AS its (project_id)"
# Also through keys that are revoked or over: what they made may be good yet.
_REVOKE = """
    WITH RECURSIVE asking AS (
        SELECT id, made_by FROM api_key WHERE id = :asked_by
        UNION SELECT api_key.id, api_key.made_by
        FROM api_key JOIN asking ON api_key.id = asking.made_by),
    family AS (
        SELECT id, project_id FROM api_key WHERE id = :id
        UNION SELECT api_key.id, api_key.project_id
        FROM api_key JOIN family
          ON api_key.project_id = family.project_id AND api_key.made_by = family.id
        WHERE NOT EXISTS (SELECT FROM asking WHERE asking.id = api_key.id))
    UPDATE api_key SET revoked_at = clock_timestamp()
    WHERE id IN (SELECT id FROM family) AND revoked_at IS NULL
"""
# What a key makes has its actor.
_REVOKE_ACTOR = """
    UPDATE api_key SET revoked_at = clock_timestamp()
    WHERE project_id = :project AND actor = :actor AND revoked_at IS NULL
"""
_DELETE_EXPIRED_CODES = """
    DELETE FROM sign_in_code WHERE project_id = :project AND key_id IS NULL
        AND concat_ws(':', 'token', subject) = :actor
"""
_USE_CODE = f"""
    DELETE FROM sign_in_code AS code
    WHERE code_hash = :hash AND code.expires_at > clock_timestamp()
      AND {project_is_there("code.project_id")}
      AND (key_id IS NULL OR EXISTS (SELECT FROM api_key WHERE api_key.id = key_id AND {_LIVE}))
    RETURNING project_id, permissions, key_id, subject,
        (SELECT api_key.expires_at FROM api_key WHERE api_key.id = key_id)
"""


@dataclass(frozen=True, slots=True)
class Keys:
    """API keys, by their hash. Those of a deleted MCP instance are gone with it."""

    tx: Transaction

    def add(self, owner: KeyOwner, new: NewApiKey) -> ApiKey:
        """Stores a key; it expires after its lifetime or at ``ends_by``, whichever comes first.

        Its actor is the one that is given, else that of the key that makes it.
        Raises UnauthenticatedError where the key that makes it is good no more; whoever revokes
        that one waits until this transaction has ended.
        """
        rows = self.tx.run(
            f"""
            INSERT INTO api_key
                (project_id, mcp_id, name, prefix, key_hash, permissions, kind, made_by, actor,
                 created_at, expires_at)
            SELECT :project, :mcp, :name, :prefix, :hash, :permissions, :kind, :made_by,
                   COALESCE(CAST(:actor AS text),
                            (SELECT maker.actor FROM api_key AS maker WHERE maker.id = :made_by),
                            CAST(:else_actor AS text)), at,
                   LEAST(at + make_interval(secs => CAST(:lifetime AS double precision)),
                         CAST(:ends_by AS timestamptz))
            FROM clock_timestamp() AS at
            WHERE CAST(:made_by AS bigint) IS NULL OR EXISTS (
                SELECT FROM api_key WHERE api_key.id = :made_by AND {_LIVE} FOR SHARE)
            RETURNING {_KEY}
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
            made_by=new.made_by,
            actor=new.actor,
            else_actor=new.else_actor,
        )
        if not rows:
            raise UnauthenticatedError("the key that asks is good no more")
        return _key(rows[0])

    def caller_of(self, key_hash: bytes, *, noted_every_s: float) -> ProjectKey | McpKey | None:
        """Returns whose key this is, while it is neither revoked nor expired.

        The key of an MCP instance counts only while the instance is enabled. That it was used is
        remembered at most once in ``noted_every_s``; nobody waits for that. A transaction by
        itself: nothing else may run in it.
        """
        rows = self.tx.run_and_commit(_PRINCIPAL, hash=key_hash, every=noted_every_s)
        if not rows:
            return None
        [[key_id, project_id, mcp_id, permissions, expires_at, redacts, offers]] = rows
        if mcp_id is not None:
            return McpKey(project_id, mcp_id, frozenset(permissions), redacts, offers)
        return ProjectKey(project_id, frozenset(permissions), expires_at, key_id)

    def add_code(self, maker: Principal, code_hash: bytes, *, lifetime_s: float) -> datetime:
        """Stores a code that signs in once, with what its maker may do; returns when it ends.

        Codes of the project that have ended are forgotten, and so is the oldest of the same key, or
        of all tokens, where it has made MAX_OPEN_CODES others.
        """
        [[ends]] = self.tx.run(
            """
            WITH gone AS (
                DELETE FROM sign_in_code
                WHERE project_id = :project AND (expires_at <= clock_timestamp()
                    OR code_hash IN (
                        SELECT code_hash FROM sign_in_code
                        WHERE project_id = :project AND key_id IS NOT DISTINCT FROM :key
                        ORDER BY expires_at DESC OFFSET :others)))
            INSERT INTO sign_in_code
                (code_hash, project_id, key_id, subject, permissions, expires_at)
            VALUES (:hash, :project, :key, :subject, :permissions,
                    clock_timestamp() + make_interval(secs => :lifetime))
            RETURNING expires_at
            """,
            hash=code_hash,
            project=maker.project_id,
            key=maker.key_id if isinstance(maker, ProjectKey) else None,
            subject=maker.subject if isinstance(maker, Token) else None,
            permissions=in_order(maker.permissions),
            lifetime=lifetime_s,
            others=MAX_OPEN_CODES - 1,
        )
        at: datetime = ends
        return at

    def use_code(self, code_hash: bytes) -> ProjectKey | Token | None:
        """Returns who made a code, and deletes it: of two callers at the same moment one gets it.

        None for one that has ended, is used, or whose maker's key is revoked or has ended.
        """
        rows = self.tx.run(_USE_CODE, hash=code_hash)
        if not rows:
            return None
        [[project_id, permissions, key_id, subject, ends]] = rows
        if key_id is None:
            return Token(project_id, frozenset(permissions), subject)
        return ProjectKey(project_id, frozenset(permissions), ends, key_id)

    def page(
        self,
        owner: KeyOwner,
        *,
        after: int,
        limit: int,
        kind: KeyKind | None = None,
        actor: str | None = None,
    ) -> list[ApiKey]:
        """Returns keys with ids above ``after``, ascending, revoked and expired ones too.

        ``kind``, ``actor`` None: of every kind, of everybody.
        """
        rows = self.tx.run(
            f"""
            SELECT {_KEY} FROM api_key WHERE {_OWNED} AND id > :after
              AND (CAST(:kind AS text) IS NULL OR kind = :kind)
              AND (CAST(:actor AS text) IS NULL OR actor = :actor) ORDER BY id LIMIT :limit
            """,
            project=owner.project_id,
            mcp=owner.mcp_id,
            after=after,
            kind=kind,
            actor=actor,
            limit=limit,
        )
        return [_key(row) for row in rows]

    def find(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        """Returns a key, a revoked or expired one too."""
        rows = self.tx.run(
            f"SELECT {_KEY} FROM api_key WHERE id = :id AND {_OWNED}",
            id=key_id,
            project=owner.project_id,
            mcp=owner.mcp_id,
        )
        return _key(rows[0]) if rows else None

    def delete_expired_console(self, *, older_than_s: float, limit: int) -> int:
        """Deletes keys of the console that ended so many seconds ago; returns how many."""
        return self.tx.execute(
            """
            WITH found AS (
                SELECT id FROM api_key WHERE kind = 'console'
                  AND LEAST(revoked_at, expires_at)
                      < clock_timestamp() - make_interval(secs => :age)
                ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED)
            DELETE FROM api_key USING found WHERE api_key.id = found.id
            """,
            age=older_than_s,
            limit=limit,
        )

    def find_live(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        """Returns a key that is neither revoked nor expired.

        Keeps others from changing it until the transaction ends.
        """
        named = {"id": key_id, "project": owner.project_id, "mcp": owner.mcp_id}
        self.tx.run(f"{_TAKE_TURN} AND {_OWNED}", **named)
        rows = self.tx.run(
            f"SELECT {_KEY} FROM api_key WHERE id = :id AND {_OWNED} AND {_LIVE} FOR NO KEY UPDATE",
            **named,
        )
        return _key(rows[0]) if rows else None

    def revoke(self, key_id: int, *, asked_by: int | None = None) -> None:
        """Makes a key worthless at once, with those made with it, and with these, of all owners.

        Of these the branch stays on which ``asked_by`` is, the key that asks for it: who was made
        with the revoked key does not end its own work.
        """
        self.tx.run(_TAKE_TURN, id=key_id)
        # Until nothing is found: one of them may have made another while we waited for it.
        while self.tx.execute(_REVOKE, id=key_id, asked_by=asked_by):
            pass

    def revoke_actor(self, project_id: int, actor: str) -> int:
        """Makes all keys of an actor worthless at once, with his codes; returns how many keys."""
        named = {"project": project_id, "actor": actor}
        self.tx.run(_TAKE_TURN_OF, project=project_id)
        self.tx.run(_DELETE_EXPIRED_CODES, **named)
        revoked = 0
        # Until nothing is found, as in revoke.
        while found := self.tx.execute(_REVOKE_ACTOR, **named):
            revoked += found
        return revoked

    def expire_within(self, key_id: int, seconds: float) -> None:
        """Lets a key expire after so many seconds, unless it expires earlier."""
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
