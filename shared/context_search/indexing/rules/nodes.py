"""Strings of documents and their way through the index, as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.core.documents import StringNode
from context_search.core.filters import Fields

FRESH = 0.9
"""Share of a lease that has to be left for it not to be renewed."""


UNNEEDED_PAUSE_S = 5.0
"""How long the message of a string waits that no tool covers."""


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
