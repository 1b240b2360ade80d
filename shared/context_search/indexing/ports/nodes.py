"""Strings of documents and their way through the index, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.core.documents import StringNode
from context_search.core.filters import Fields
from context_search.core.model import Claim, Index, KnownNode

FRESH = 0.9
"""Share of a lease that has to be left for it not to be renewed."""


UNNEEDED_PAUSE_S = 5.0
"""How long the order of a string waits that no tool covers."""


def until_due(left_s: float, *, is_needed: bool) -> float | None:
    """Returns the seconds until a queued node is tried again; None when it can be claimed now."""
    pause_s = max(left_s, 0.0 if is_needed else UNNEEDED_PAUSE_S)
    return pause_s if pause_s > 0 else None


@dataclass(frozen=True, slots=True)
class NodeUpsert:
    """A node as the document has it now; ``skip_reason`` is set when it breaks a limit.

    The store adds ``at`` to the reason. ``fields`` None: the index keeps none.
    """

    node: StringNode
    content_hash: str
    skip_reason: Mapping[str, object] | None = None
    fields: Fields | None = None


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """The nodes of some generations at a ``scope`` and below; with ``pointer`` that one alone.

    ``table_id``: of that table alone.
    """

    generation_ids: Sequence[int]
    scope: str
    pointer: str | None = None
    table_id: int | None = None


class Nodes(Protocol):
    """Big strings and their way through the index: queued, claimed, indexed.

    What takes or holds many never waits for a row that another transaction has: such a node is left
    out. So two transactions that want the same nodes cannot block each other, in whatever order.
    """

    def known(self, generation_id: int, table_id: int) -> list[KnownNode]:
        """Returns every node that a generation has of a table."""
        ...

    def known_by(self, generation_id: int, table_id: int, keys: Sequence[bytes]) -> list[KnownNode]:
        """Returns those nodes of them whose ``pointer_sha256`` begins with one of ``keys``.

        Of ``KEY_BYTES`` each. Without their fields.
        """
        ...

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        """Inserts or overwrites nodes of a table: queued, or skipped without sets.

        Returns those that are queued.
        """
        ...

    def note_fields(self, fields: Mapping[int, Fields]) -> None:
        """Overwrites the fields of nodes, by id, and nothing else of them."""
        ...

    def remove(self, node_ids: Sequence[int]) -> None:
        """Deletes nodes; their chunks become tombstones."""
        ...

    def claim(self, node_id: int, *, lease_s: float) -> Claim | None:
        """Takes a node that is due or whose lease has run out; None when there is none.

        A node that no live tool covers is not taken, unless its index is that of a project.
        """
        ...

    def claim_many(
        self, node_ids: Sequence[int], *, max_chars: int, max_attempts: int, lease_s: float
    ) -> list[Claim]:
        """Takes those nodes that may be claimed, by id.

        Left out are longer ones, those that were claimed ``max_attempts`` times in vain, and those
        whose text only their chunks hold.
        """
        ...

    def char_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """Returns how long the strings are, by id of their nodes."""
        ...

    def unfinished(self, node_ids: Sequence[int]) -> list[int]:
        """Returns those that are queued or claimed, by id."""
        ...

    def due_in(self, node_id: int) -> float | None:
        """Returns in how many seconds a queued node may be claimed; None when it is not queued.

        A node that no tool covers is asked for again after ``UNNEEDED_PAUSE_S``: by then a
        comparison has removed it, or another tool covers it.
        """
        ...

    def are_needed(self, claims: Sequence[Claim]) -> bool:
        """Returns whether a live tool, or its project, still covers one of these nodes."""
        ...

    def hold(
        self, claims: Sequence[Claim], *, lease_s: float, progressed: bool = False
    ) -> list[Claim]:
        """Locks the claimed nodes, renews their leases, and returns the claims that still hold.

        A lease of which more than ``FRESH`` is left stays as it is. Progress resets the count of
        attempts.
        """
        ...

    def release(
        self,
        claims: Sequence[Claim],
        *,
        retry_in_s: float,
        error: Mapping[str, object] | None,
        progressed: bool,
    ) -> list[Claim]:
        """Gives claimed nodes back as queued, and returns the claims that held until then."""
        ...

    def quarantine(self, claim: Claim, error: Mapping[str, object]) -> None:
        """Takes a node out of work for good, its active chunks untouched.

        Raises LeaseLostError.
        """
        ...

    def skip(self, claim: Claim, reason: Mapping[str, object]) -> None:
        """Takes a node out of work over a limit; its text is kept, its active chunks untouched.

        Raises LeaseLostError.
        """
        ...

    def requeue_quarantined(self, *, limit: int, among: NodeSelection | None = None) -> list[int]:
        """Queues quarantined nodes again, their attempts forgotten; returns their ids.

        ``among`` None: of all projects.
        """
        ...

    def count_quarantined(self, among: NodeSelection) -> int:
        """Returns how many nodes of a selection are in quarantine."""
        ...

    def abandoned(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns nodes whose lease or due time passed ``silent_s`` ago, each once in that time.

        Only of generations that follow their document: other nodes cannot be claimed. A queued node
        is waiting and not abandoned, while the order book holds an order for nodes of its project
        that is not younger and does not rest: this order may be for it.
        """
        ...
