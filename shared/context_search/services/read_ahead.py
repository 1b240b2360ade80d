"""What a comparison reads before it takes the table's lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from context_search.domain.config import IndexConfig
from context_search.domain.documents import StringNode, parse_stored, string_nodes
from context_search.ports.store import Store


@dataclass(frozen=True, slots=True)
class Document:
    """What a table held at a revision, and the scopes that the tools of an index needed then."""

    revision: int
    value: object
    scopes: Sequence[str] = ()

    def strings(self, scopes: Iterable[str], config: IndexConfig) -> Iterator[StringNode]:
        """Yields the big strings of scopes; one that is in several comes several times."""
        for scope in scopes:
            yield from string_nodes(self.value, scope=scope, threshold=config.threshold)


def read_ahead(store: Store, index_id: int, table_id: int | None = None) -> Document | None:
    """Reads and parses what a comparison needs before it takes the table's lock.

    Others wait for that lock, and a large document takes its time. None when there is nothing to
    compare. Raises InvalidDocumentError.
    """
    with store.transaction() as work:
        index = work.indexes.find(index_id)
        if index is None or index.evicted_at is not None:
            return None
        chosen = table_id or index.table_id
        if chosen is None:
            return None
        if work.tables.find(chosen, project_id=index.project_id) is None:
            return None
        scopes = work.indexes.scopes(index_id)
        revision, text = work.tables.read(chosen)
    return Document(revision, parse_stored(text), scopes)
