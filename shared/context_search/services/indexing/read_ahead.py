"""What a comparison reads before it takes the table's lock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from context_search.domain.config import IndexConfig
from context_search.domain.documents import StringNode, parse_stored, string_nodes
from context_search.domain.errors import DocumentTooLargeError
from context_search.domain.ids import pointer_sha256
from context_search.ports.store import Store

MAX_POINTER_LENGTH = 20_000
"""Characters of one pointer: every answer that names a string carries it, and Lambda's may have
6 MB."""
MAX_POINTER_CHARS = 250_000_000
"""For all nodes of a document together: a long key stands in the pointer of everything below it,
and each chunk carries its pointer."""


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
    with store.for_all("carry out an order") as work:
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


def by_pointer(strings: Iterable[StringNode], config: IndexConfig) -> dict[bytes, StringNode]:
    """Returns the nodes of a document by ``pointer_sha256``; one that comes twice is there once.

    Raises DocumentTooLargeError when a pointer has over 20,000 characters, or all of them, one for
    each chunk, over 250,000,000.
    """
    step = config.chunk_size - config.chunk_overlap
    pointer_chars = 0
    found: dict[bytes, StringNode] = {}
    for node in strings:
        if len(node.json_pointer) > MAX_POINTER_LENGTH:
            raise DocumentTooLargeError(
                f"a string has a pointer of over {MAX_POINTER_LENGTH} characters: give shorter keys"
            )
        pointer_chars += len(node.json_pointer) * (1 + len(node.text) // step)
        if pointer_chars > MAX_POINTER_CHARS:
            raise DocumentTooLargeError(
                "the pointers of the strings, one for each chunk, have over"
                f" {MAX_POINTER_CHARS} characters: give shorter keys"
            )
        found[pointer_sha256(node.json_pointer)] = node
    return found
