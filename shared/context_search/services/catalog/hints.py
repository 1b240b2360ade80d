"""Why there is nothing to find: what an answer without results says beside it."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.domain.json_pointer import split
from context_search.domain.model import Index, Scope
from context_search.domain.search import EmptyHint
from context_search.ports.store import UnitOfWork

MOST_READ = 5_000_000
"""How large a document, in bytes, a search looks into to say why it found nothing."""


@dataclass(frozen=True, slots=True)
class EmptyScope:
    """Why an index has nothing of a scope.

    The place is not in the document, or has no string as long as the tool's ``chunk_threshold``;
    then ``longest`` is the longest one, in characters, None where nobody looked. Or it has some,
    of which nothing is indexed: they are blank, or longer than a string may be.
    """

    hint: EmptyHint
    longest: int | None = None


def empty_scope(
    work: UnitOfWork, scope: Scope, index: Index, *, measured: bool
) -> EmptyScope | None:
    """Returns why an index that is up to its document has nothing of a scope.

    None where it has something. Looks into the document only where it has no node; to find out that
    the place exists, and with ``measured`` how long the strings are. Without ``measured`` None
    for a document of over 5,000,000 bytes, too: each empty search would unpack it.
    """
    if work.node_counts.has_any(index, scope.json_pointer):
        return None
    if work.node_counts.in_scope(index, scope.json_pointer, limit=1):
        return EmptyScope("nothing_indexed")
    if not measured and work.tables.size(scope.table_id) > MOST_READ:
        return None
    found = work.tables.strings_at(scope.table_id, split(scope.json_pointer), measured=measured)
    if found is None:
        return EmptyScope("scope_missing")
    return EmptyScope("no_long_strings", found.longest)
