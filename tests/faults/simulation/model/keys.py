"""API keys in memory."""

from __future__ import annotations

import hmac
from dataclasses import replace
from datetime import datetime, timedelta

from context_search.access.sql.keys import Keys
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
)
from context_search.core.errors import UnauthenticatedError
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import KeyRow, SignInCodeRow


class MemoryKeys(Model, Keys):
    """``Keys`` over rows in memory."""

    def add(self, owner: KeyOwner, new: NewApiKey) -> ApiKey:
        now = self.clock.now()
        wanted = None if new.lifetime_s is None else now + timedelta(seconds=new.lifetime_s)
        expires_at = min((end for end in (wanted, new.ends_by) if end), default=None)
        maker = self.rows.keys.get(new.made_by) if new.made_by is not None else None
        if new.made_by is not None and not (maker and self._is_live(maker.key)):
            raise UnauthenticatedError("the key that asks is good no more")
        key = ApiKey(
            self.rows.new_id(),
            new.name,
            new.prefix,
            new.permissions,
            now,
            expires_at=expires_at,
            kind=new.kind,
            made_by=new.made_by,
            actor=new.actor or (maker and maker.key.actor) or new.else_actor,
        )
        self.rows.keys[key.id] = KeyRow(owner, new.key_hash, key)
        return key

    def caller_of(self, key_hash: bytes, *, noted_every_s: float) -> ProjectKey | McpKey | None:
        found = [
            row for row in self.rows.keys.values() if hmac.compare_digest(row.key_hash, key_hash)
        ]
        if not found or not self._is_live(found[0].key):
            return None
        if found[0].owner.project_id in self.rows.project_removals:
            return None
        owner, key, now = found[0].owner, found[0].key, self.clock.now()
        if owner.mcp_id is not None and not self.rows.mcps[owner.mcp_id].status:
            return None
        if key.last_used_at is None or key.last_used_at < now - timedelta(seconds=noted_every_s):
            self._change(key.id, replace(key, last_used_at=now))
        if owner.mcp_id is not None:
            redacts = self.rows.mcps[owner.mcp_id].redacts
            return McpKey(owner.project_id, owner.mcp_id, key.permissions, redacts)
        return ProjectKey(owner.project_id, key.permissions, key.expires_at, key.id)

    def add_code(self, maker: Principal, code_hash: bytes, *, lifetime_s: float) -> datetime:
        now, codes = self.clock.now(), self.rows.sign_in_codes
        for known, row in list(codes.items()):
            if row.maker.project_id == maker.project_id and row.expires_at <= now:
                del codes[known]
        key_id = _key_id(maker)
        own = [
            known
            for known, row in codes.items()
            if (row.maker.project_id, _key_id(row.maker)) == (maker.project_id, key_id)
        ]
        for known in own[: max(0, len(own) - MAX_OPEN_CODES + 1)]:
            del codes[known]
        codes[code_hash] = SignInCodeRow(maker, now + timedelta(seconds=lifetime_s))
        return codes[code_hash].expires_at

    def use_code(self, code_hash: bytes) -> ProjectKey | Token | None:
        row = self.rows.sign_in_codes.get(code_hash)
        if row is None or row.expires_at <= self.clock.now():
            return None
        maker, key_id = row.maker, _key_id(row.maker)
        key = None if key_id is None else self.rows.keys.get(key_id)
        is_dead = key_id is not None and not (key and self._is_live(key.key))
        if is_dead or maker.project_id in self.rows.project_removals:
            return None
        del self.rows.sign_in_codes[code_hash]
        if isinstance(maker, Token):
            return Token(maker.project_id, maker.permissions, maker.subject)
        ends = key.key.expires_at if key else None
        return ProjectKey(maker.project_id, maker.permissions, ends, key_id)

    def page(
        self,
        owner: KeyOwner,
        *,
        after: int,
        limit: int,
        kind: KeyKind | None = None,
        actor: str | None = None,
    ) -> list[ApiKey]:
        rows = [row for _, row in sorted(self.rows.keys.items()) if row.owner == owner]
        keys = [row.key for row in rows if row.key.id > after]
        keys = [key for key in keys if kind in (None, key.kind) and actor in (None, key.actor)]
        return keys[:limit]

    def delete_expired_console(self, *, older_than_s: float, limit: int) -> int:
        ended = self.clock.now() - timedelta(seconds=older_than_s)
        keys = [row.key for row in self.rows.keys.values() if row.key.kind == "console"]
        ends = {key.id: [at for at in (key.revoked_at, key.expires_at) if at] for key in keys}
        gone = [key_id for key_id, times in ends.items() if times and min(times) < ended]
        for key_id in sorted(gone)[:limit]:
            del self.rows.keys[key_id]
        return len(gone[:limit])

    def find(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        row = self.rows.keys.get(key_id)
        return row.key if row and row.owner == owner else None

    def find_live(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        row = self.rows.keys.get(key_id)
        return row.key if row and row.owner == owner and self._is_live(row.key) else None

    def revoke(self, key_id: int, *, asked_by: int | None = None) -> None:
        if self.rows.keys[key_id].key.revoked_at is None:
            self._change(key_id, replace(self.rows.keys[key_id].key, revoked_at=self.clock.now()))
        asking = self._line(asked_by)
        for row in [*self.rows.keys.values()]:
            if row.key.made_by == key_id and row.key.id not in asking:
                self.revoke(row.key.id, asked_by=asked_by)

    def revoke_actor(self, project_id: int, actor: str) -> int:
        for code_hash, row in [*self.rows.sign_in_codes.items()]:
            if row.maker.project_id == project_id and row.maker.actor == actor:
                del self.rows.sign_in_codes[code_hash]
        keys = [r.key for r in self.rows.keys.values() if r.owner.project_id == project_id]
        found = [key for key in keys if key.actor == actor and key.revoked_at is None]
        for key in found:
            self._change(key.id, replace(key, revoked_at=self.clock.now()))
        return len(found)

    def expire_within(self, key_id: int, seconds: float) -> None:
        key, then = self.rows.keys[key_id].key, self.clock.now() + timedelta(seconds=seconds)
        self._change(key_id, replace(key, expires_at=min(key.expires_at or then, then)))

    def _line(self, key_id: int | None) -> set[int]:
        """A key, the one that it was made with, and so on."""
        line = set[int]()
        while key_id is not None:
            line.add(key_id)
            row = self.rows.keys.get(key_id)
            key_id = row.key.made_by if row else None
        return line

    def _is_live(self, key: ApiKey) -> bool:
        expires_at = key.expires_at
        return key.revoked_at is None and (expires_at is None or expires_at > self.clock.now())

    def _change(self, key_id: int, key: ApiKey) -> None:
        self.rows.change(self.rows.keys, key_id, key=key)


def _key_id(maker: Principal) -> int | None:
    return maker.key_id if isinstance(maker, ProjectKey) else None
