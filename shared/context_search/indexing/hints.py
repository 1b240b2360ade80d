"""Why there is nothing to find: what an answer without results says beside it."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.json_pointer import split
from context_search.core.model import Index, Scope
from context_search.ranking.search import EmptyHint
from context_search.store import UnitOfWork


@dataclass(frozen=True, slots=True)
class EmptyScope:
    """Why an index has nothing in a scope.

    ``scope_missing``: the place is not in the document. ``no_long_strings``: no string there is as
    long as the tool's ``chunk_threshold``; ``longest`` is the longest one in characters, None if
    nobody measured. ``nothing_indexed``: the strings there are blank, or too long.
    """

    hint: EmptyHint
    longest: int | None = None


def empty_scope(
    work: UnitOfWork, scope: Scope, index: Index, *, measured: bool
) -> EmptyScope | None:
    """Returns why a compared index has nothing in a scope, None if it has something.

    Reads the document only if the scope has no node: to see whether the place exists, which costs
    PostgreSQL one unpacking of it, and with ``measured`` how long its strings are.
    """
    if work.node_counts.has_any(index, scope.json_pointer):
        return None
    if work.node_counts.in_scope(index, scope.json_pointer, limit=1):
        return EmptyScope("nothing_indexed")
    path = split(scope.json_pointer)
    if not path and not measured:
        return EmptyScope("no_long_strings")  # a whole document is there
    found = work.tables.strings_at(scope.table_id, path, measured=measured)
    if found is None:
        return EmptyScope("scope_missing")
    return EmptyScope("no_long_strings", found.longest)
