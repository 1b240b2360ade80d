"""Compares an index with its documents: which strings are new, changed or gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from context_search.domain.config import IndexConfig
from context_search.domain.documents import (
    StringNode,
    parse_fielded,
    parse_stored,
    string_nodes,
)
from context_search.domain.errors import (
    ContextSearchError,
    DocumentTooLargeError,
    InvalidDocumentError,
)
from context_search.domain.filters import Fields, fields_of, to_text
from context_search.domain.ids import pointer_sha256
from context_search.domain.json_pointer import split
from context_search.domain.model import Index
from context_search.domain.orders import CompareIndex, IndexNodes, Order
from context_search.ports.indexing import NodeUpsert
from context_search.ports.store import Store, UnitOfWork
from context_search.services.indexing.outgoing import node_orders, send_one_by_one
from context_search.services.indexing.settle import Settler
from context_search.services.indexing.vector_rows import spans

MAX_POINTER_LENGTH = 20_000
"""Maximum length of one pointer, in characters. Every answer that names a string carries its
pointer, and Lambda's answers may have 6 MB.
"""
MAX_POINTER_CHARS = 250_000_000
"""Maximum length of all pointers of a document's nodes together, in characters. A long key stands
in the pointer of everything below it, and each chunk carries its pointer.
"""


@dataclass(frozen=True, slots=True)
class Document:
    """What a table held at a revision, and the scopes that the tools of an index needed then.

    Its numbers are read ``with_fields``.
    """

    revision: int
    value: object
    scopes: Sequence[str] = ()
    with_fields: bool = False

    @classmethod
    def parsed(
        cls, revision: int, text: str, scopes: Sequence[str], *, with_fields: bool
    ) -> Document:
        """Returns a stored document as far as an index needs it. Raises InvalidDocumentError."""
        value = parse_fielded(text) if with_fields else parse_stored(text)
        return cls(revision, value, scopes, with_fields)

    def strings(self, scopes: Iterable[str], config: IndexConfig) -> Iterator[StringNode]:
        """Yields the big strings of scopes; one that is in several comes several times."""
        for scope in scopes:
            yield from string_nodes(self.value, scope=scope, threshold=config.threshold)

    def fields(self, node: StringNode, names: Sequence[str]) -> Fields | None:
        """Returns the fields of a string by which it may be found; None without names."""
        return fields_of(self.value, split(node.json_pointer), names) if names else None


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
        scopes = work.comparisons.scopes(index_id)
        revision, text = work.tables.read(chosen)
    return Document.parsed(revision, text, scopes, with_fields=bool(index.fields))


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


def locked_revision(store: Store, index_id: int, table_id: int | None) -> tuple[int, int] | None:
    """Returns the table that a comparison is about, and its revision; None when it is gone."""
    with store.for_all("carry out an order") as work:
        index = work.indexes.find(index_id)
        chosen = table_id or (index.table_id if index else None)
        revision = work.tables.lock(chosen) if chosen else None
        return None if chosen is None or revision is None else (chosen, revision)


def give_up(
    store: Store, index_id: int, seen: tuple[int, int], record: Mapping[str, object]
) -> None:
    """Marks a document as compared and removes its strings from the index; ``record`` says why.

    Only while the table has the revision that was ``seen``: a change orders another comparison.
    """
    table_id, revision = seen
    with store.for_all("carry out an order") as work:
        index = work.indexes.find(index_id)
        if work.tables.lock(table_id) == revision and index is not None and not index.evicted_at:
            work.indexes.share(index)
            _empty(work, index_id, table_id, revision)
            work.comparisons.note_refused(index_id, table_id, record)


def _empty(work: UnitOfWork, index_id: int, table_id: int, revision: int) -> None:
    scopes = work.comparisons.scopes(index_id)
    for generation in work.indexes.live(index_id):
        known = work.nodes.known(generation.generation.id, table_id)
        work.nodes.remove([node.id for node in known])
        work.comparisons.note_compared(generation, table_id, revision, scopes)
    work.tools.mark_unsettled(index_id)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one node. A node beyond them is skipped, and the others go on."""

    max_node_chars: int = 50_000_000
    max_node_chunks: int = 200_000


def compare(
    work: UnitOfWork, index: Index, table_id: int, limits: Limits, ahead: Document | None
) -> list[IndexNodes]:
    """Brings an index up to a document, under the table's lock; nothing when it is there.

    An index that no tool needs any more is retired; one whose tools are in their owner's trash
    is emptied; an evicted one is left alone.
    Returns the orders to index what changed. What was read ahead counts if it is still so.
    """
    is_there = work.tables.lock(table_id) is not None
    if not (is_there and work.tables.find(table_id, project_id=index.project_id)):
        return []
    work.indexes.share(index)
    locked = work.indexes.find(index.id)  # it may have been evicted before the lock was ours
    if locked is not None and not work.comparisons.may_be_needed(locked.id):
        work.indexes.retire(locked.id)
        return []
    if locked is None or locked.evicted_at is not None:
        return []
    work.outbox.withdraw(CompareIndex(locked.id, table_id))  # what it is for is in sight
    if work.comparisons.follows(locked.id, table_id):
        return []
    queued = enumerate_index(work, locked, table_id, limits, ahead)
    return node_orders(work, queued)


def enumerate_index(
    work: UnitOfWork,
    index: Index,
    table_id: int,
    limits: Limits,
    ahead: Document | None = None,
) -> list[int]:
    """Makes the nodes that an index has of a table those of its document, within the scopes.

    All generations that follow the document are brought up to it. The caller holds the table's
    lock, so the document cannot change meanwhile. Repeating it changes nothing.
    Returns the ids of the nodes that have to be indexed.
    """
    scopes = work.comparisons.scopes(index.id)
    document = ahead
    # A project may name fields at any time: what these say is what is noted below.
    generations = work.indexes.live(index.id)
    with_fields = any(generation.fields for generation in generations)
    if (
        document is None
        or document.revision != work.tables.lock(table_id)
        or (with_fields and not document.with_fields)
    ):
        document = Document.parsed(*work.tables.read(table_id), scopes, with_fields=with_fields)
    queued: list[int] = []
    for generation in generations:
        wanted = by_pointer(document.strings(scopes, generation.config), generation.config)
        queued += _bring_up(work, generation, table_id, document, wanted, limits)
    for generation in generations:
        work.comparisons.note_compared(generation, table_id, document.revision, scopes)
    return queued


def _bring_up(
    work: UnitOfWork,
    index: Index,
    table_id: int,
    document: Document,
    wanted: Mapping[bytes, StringNode],
    limits: Limits,
) -> list[int]:
    known = {node.pointer_sha256: node for node in work.nodes.known(index.generation.id, table_id)}
    gone = [node.id for key, node in known.items() if key not in wanted]
    changed: list[NodeUpsert] = []
    refielded: dict[int, Fields] = {}
    for key, node in wanted.items():
        content_hash, fields = node.content_hash, document.fields(node, index.fields)
        if key not in known or known[key].content_hash != content_hash:
            skip_reason = _skip_reason(node, index.config, limits)
            changed.append(NodeUpsert(node, content_hash, skip_reason, fields))
        elif fields is not None and not _are_same(fields, known[key].fields):
            refielded[known[key].id] = fields
    if gone or changed:
        work.tools.mark_unsettled(index.id)
    work.nodes.remove(gone)
    work.nodes.note_fields(refielded)
    return work.nodes.upsert(index, table_id, changed)


def _are_same(fields: Fields, known: Fields | None) -> bool:
    # As text: to Python, true is 1.
    return known is not None and to_text(fields) == to_text(known)


def _skip_reason(node: StringNode, config: IndexConfig, limits: Limits) -> dict[str, object] | None:
    if len(node.text) > limits.max_node_chars:
        message = f"the string has over {limits.max_node_chars} characters"
        return {"code": "NODE_TOO_LARGE", "message": message, "retryable": False}
    most = limits.max_node_chunks
    # A chunk has a character of its own at least, so short strings need no look.
    if len(node.text) > most and len(spans(node.text, config)) > most:
        message = f"the string has over {most} chunks"
        return {"code": "NODE_TOO_MANY_CHUNKS", "message": message, "retryable": False}
    return None


@dataclass(frozen=True, slots=True)
class Comparer:
    """The order ``enumerate``: brings an index up to a document and queues what changed.

    Without a table, the index of a project orders one comparison for each that needs it.
    A document that cannot be indexed, whatever is tried, leaves the index without its strings and
    with an error that says why, until the document changes.
    """

    store: Store
    settler: Settler
    limits: Limits

    def compare(self, index_id: int, table_id: int | None = None) -> None:
        """Does nothing when index or table is gone; safe to repeat. A failure is noted.

        What is compared already costs one small statement.
        """
        try:
            with self.store.for_all("carry out an order") as work:
                if work.comparisons.follows(index_id, table_id):
                    return
            ordered = self._order(index_id, table_id)
        except InvalidDocumentError:
            ordered = self._once_more(index_id, table_id)
        except Exception as error:
            with suppress(ContextSearchError), self.store.for_all("carry out an order") as work:
                work.comparisons.note_failed(index_id, _record(error))
            raise
        if not ordered:  # no node will do it
            self.settler.settle(index_id)

    def _order(self, index_id: int, table_id: int | None) -> Sequence[Order]:
        ahead = read_ahead(self.store, index_id, table_id)
        with self.store.for_all("carry out an order") as work:
            index = work.indexes.find(index_id)
            if index is None:
                return []
            chosen = table_id or index.table_id
            if chosen is not None:
                orders = compare(work, index, chosen, self.limits, ahead)
                work.send(*orders)
                return orders
            each = _each_table(work, index)
        send_one_by_one(self.store, each)
        return each

    def _once_more(self, index_id: int, table_id: int | None) -> Sequence[Order]:
        """Gives up when the document that cannot be indexed is still the same."""
        seen = locked_revision(self.store, index_id, table_id)
        try:
            return self._order(index_id, table_id)
        except InvalidDocumentError as error:
            if seen is not None:
                give_up(self.store, index_id, seen, _record(error))
        return []


def _each_table(work: UnitOfWork, index: Index) -> list[CompareIndex]:
    if index.evicted_at is not None:
        return []
    return [CompareIndex(index.id, table_id) for table_id in work.comparisons.uncompared(index.id)]


def _record(error: Exception) -> dict[str, object]:
    """The message of a foreign exception may quote the document: it stays out."""
    if not isinstance(error, ContextSearchError):
        error = ContextSearchError("an unexpected error, see the log")
    will_pass = not isinstance(error, InvalidDocumentError)
    return {"code": error.code, "message": error.message, "retryable": will_pass}
