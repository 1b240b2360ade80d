"""Keys, MCP instances, and requests that come again, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from context_search.domain.access import (
    ApiKey,
    Binding,
    Confirmation,
    KeyKind,
    KeyOwner,
    McpChanges,
    McpInstance,
    McpKey,
    NewApiKey,
    Principal,
    ProjectKey,
    Replacing,
)
from context_search.domain.model import SearchTool


class Keys(Protocol):
    """API keys, by their hash. Those of a deleted MCP instance are gone with it."""

    def add(self, owner: KeyOwner, new: NewApiKey) -> ApiKey:
        """Stores a key; it expires after its lifetime or at ``ends_by``, whichever comes first.

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

        Codes of the project that have ended are forgotten.
        """
        ...

    def use_code(self, code_hash: bytes) -> ProjectKey | None:
        """Returns who made a code, and forgets it: of two at the same moment one gets it.

        None for one that has ended, is used, or whose maker's key is revoked or has ended.
        """
        ...

    def page(
        self, owner: KeyOwner, *, after: int, limit: int, kind: KeyKind | None = None
    ) -> list[ApiKey]:
        """Returns keys with ids above ``after``, ascending, revoked and expired ones too.

        ``kind`` None: of every kind.
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

    def expire_within(self, key_id: int, seconds: float) -> None:
        """Lets a key expire after so many seconds, unless it expires earlier."""
        ...


class McpInstances(Protocol):
    """MCP instances and what is bound to them."""

    def add(
        self,
        project_id: int,
        name: str,
        *,
        replacing: Replacing = "off",
        confirmation: Confirmation = "client",
    ) -> McpInstance:
        """Creates an enabled instance without any tool."""
        ...

    def find(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        """Returns an instance of that project."""
        ...

    def lock(self, mcp_id: int, *, project_id: int) -> McpInstance | None:
        """Returns an instance and keeps others from changing it until the transaction ends."""
        ...

    def page(self, project_id: int, *, after: int, limit: int) -> list[McpInstance]:
        """Returns instances with ids above ``after``, ascending."""
        ...

    def change(self, mcp_id: int, changes: McpChanges) -> McpInstance:
        """Changes an instance; what stays as it is stays so while others change it, too."""
        ...

    def remove(self, mcp_id: int) -> None:
        """Deletes an instance with its keys and bindings."""
        ...

    def bind(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        """Puts a tool into an instance; None when it is there already."""
        ...

    def set_status(self, mcp_id: int, tool_id: int, *, status: bool) -> Binding | None:
        """Enables or disables a binding; None when there is none."""
        ...

    def unbind(self, mcp_id: int, tool_id: int) -> bool:
        """Takes a tool out of an instance; returns whether it was there."""
        ...

    def bindings(
        self, mcp_id: int, *, after: int, limit: int
    ) -> Sequence[tuple[Binding, SearchTool]]:
        """Returns bindings of live tools with tool ids above ``after``, ascending."""
        ...


@dataclass(frozen=True, slots=True)
class RequestKey:
    """An ``Idempotency-Key`` of one tenant (``project_id`` 0: of the operators), hashed."""

    project_id: int
    key_hash: bytes


@dataclass(frozen=True, slots=True)
class EarlierRequest:
    """The request that came with a key before. ``answer`` None: it is still being executed."""

    request_hash: bytes
    answer: bytes | None = field(repr=False)


class IdempotencyKeys(Protocol):
    """One row for each key that was sent."""

    def claim(
        self, key: RequestKey, *, request_hash: bytes, holder: str, lease_s: float, kept_s: float
    ) -> EarlierRequest | None:
        """Returns None when the caller shall execute the request, else the earlier one.

        A row that is older than ``kept_s``, or whose holder gave no answer within its lease, is
        taken over.
        """
        ...

    def keep(self, key: RequestKey, *, holder: str, answer: bytes) -> None:
        """Stores the answer, unless somebody else has taken the row over meanwhile."""
        ...

    def release(self, key: RequestKey, *, holder: str) -> None:
        """Forgets a request that came to nothing, so that it can be sent again."""
        ...

    def count(self, project_id: int, *, at_most: int) -> int:
        """Returns how many rows a tenant has, counting no further than ``at_most``."""
        ...

    def forget(self, *, older_than_s: float, limit: int) -> int:
        """Deletes rows; returns how many."""
        ...
