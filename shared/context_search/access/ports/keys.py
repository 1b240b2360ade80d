"""Keys of projects, as rows."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from context_search.core.callers import (
    ApiKey,
    KeyKind,
    KeyOwner,
    McpKey,
    NewApiKey,
    Principal,
    ProjectKey,
    Token,
)


class Keys(Protocol):
    """API keys, by their hash. Those of a deleted MCP instance are gone with it."""

    def add(self, owner: KeyOwner, new: NewApiKey) -> ApiKey:
        """Stores a key; it expires after its lifetime or at ``ends_by``, whichever comes first.

        Its actor is the one that is given, else that of the key that makes it.
        Raises UnauthenticatedError where the key that makes it is good no more; whoever revokes
        that one waits until this transaction has ended.
        """
        ...

    def caller_of(self, key_hash: bytes, *, noted_every_s: float) -> ProjectKey | McpKey | None:
        """Returns whose key this is, while it is neither revoked nor expired.

        The key of an MCP instance counts only while the instance is enabled. That it was used is
        remembered at most once in ``noted_every_s``; nobody waits for that. A transaction by
        itself: nothing else may run in it.
        """
        ...

    def add_code(self, maker: Principal, code_hash: bytes, *, lifetime_s: float) -> datetime:
        """Stores a code that signs in once, with what its maker may do; returns when it ends.

        Codes of the project that have ended are forgotten, and so is the oldest of the same key, or
        of all tokens, where it has made MAX_OPEN_CODES others.
        """
        ...

    def use_code(self, code_hash: bytes) -> ProjectKey | Token | None:
        """Returns who made a code, and forgets it: of two at the same moment one gets it.

        None for one that has ended, is used, or whose maker's key is revoked or has ended.
        """
        ...

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
        ...

    def forget_console(self, *, older_than_s: float, limit: int) -> int:
        """Deletes keys of the console that ended so many seconds ago; returns how many."""
        ...

    def find(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        """Returns a key, a revoked or expired one too."""
        ...

    def find_live(self, owner: KeyOwner, key_id: int) -> ApiKey | None:
        """Returns a key that is neither revoked nor expired.

        Keeps others from changing it until the transaction ends.
        """
        ...

    def revoke(self, key_id: int, *, asked_by: int | None = None) -> None:
        """Makes a key worthless at once, with those made with it, and with these, of all owners.

        Of these the branch stays on which ``asked_by`` is, the key that asks for it: who was made
        with the revoked key does not end its own work.
        """
        ...

    def revoke_actor(self, project_id: int, actor: str) -> int:
        """Makes all keys of an actor worthless at once, with his codes; returns how many keys."""
        ...

    def expire_within(self, key_id: int, seconds: float) -> None:
        """Lets a key expire after so many seconds, unless it expires earlier."""
        ...
