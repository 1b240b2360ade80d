"""Compares an index with its documents: which strings are new, changed or gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from context_search.core.config import IndexConfig
from context_search.core.documents import StringNode
from context_search.core.errors import ContextSearchError, InvalidDocumentError
from context_search.core.filters import Fields, to_text
from context_search.core.messages import CompareIndex, IndexNodes, Message
from context_search.core.model import Index
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.desired import ComparedTable, Preloaded, Source, preload
from context_search.indexing.outbox_delivery import node_messages, send_one_by_one
from context_search.indexing.rules.nodes import NodeUpsert
from context_search.indexing.vector_rows import spans
from context_search.store import Store, UnitOfWork


def locked_revision(store: Store, index_id: int, table_id: int | None) -> tuple[int, int] | None:
    """Returns the table that a comparison is about, and its revision; None when it is gone."""
    with store.for_all("handle a message") as work:
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
    with store.for_all("handle a message") as work:
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
    work.tools.mark_incomplete(index_id)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one node. A node beyond them is skipped, and the others go on."""

    max_node_chars: int = 50_000_000
    max_node_chunks: int = 200_000


def compare(
    work: UnitOfWork, index: Index, table_id: int, limits: Limits, ahead: Preloaded | None
) -> list[IndexNodes]:
    """Brings an index up to a document, under the table's lock; nothing when it is there.

    An index that no tool needs any more is retired; one whose tools are in their owner's trash
    is emptied; an evicted one is left alone.
    Returns the messages to index what changed. A preloaded document counts if it is still current.
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
    return node_messages(work, queued)


def enumerate_index(
    work: UnitOfWork,
    index: Index,
    table_id: int,
    limits: Limits,
    ahead: Preloaded | None = None,
) -> list[int]:
    """Makes the nodes that an index has of a table those of its document, within the scopes.

    All generations that follow the document are brought up to it. The caller holds the table's
    lock, so the document cannot change meanwhile. Repeating it changes nothing.
    Returns the ids of the nodes that have to be indexed.
    """
    of = ComparedTable(index.id, table_id, work.comparisons.scopes(index.id))
    # A project may name fields at any time: what these say is what is noted below.
    generations = work.indexes.live(index.id)
    revision = work.tables.lock(table_id)
    source = ahead.source if ahead else None
    if source is None or not source.is_current(work, of, revision, generations):
        with_fields = any(each.fields for each in generations)
        source = of.fetch(work, with_fields=with_fields).parsed()
    queued: list[int] = []
    for generation in generations:
        queued += _bring_up(work, generation, of, source, limits)
    return queued


def _bring_up(
    work: UnitOfWork, index: Index, of: ComparedTable, source: Source, limits: Limits
) -> list[int]:
    wanted = source.strings(of, index)
    known = {node.pointer_sha256: node for node in source.known(work, of, index)}
    gone = [node.id for key, node in known.items() if key not in wanted.strings]
    changed: list[NodeUpsert] = []
    refielded: dict[int, Fields] = {}
    for key, node in wanted.strings.items():
        content_hash, fields = node.content_hash, source.fields(node, index.fields)
        if key not in known or known[key].content_hash != content_hash:
            skip_reason = _skip_reason(node, index.config, limits)
            changed.append(NodeUpsert(node, content_hash, skip_reason, fields))
        elif fields is not None and not _are_same(fields, known[key].fields):
            refielded[known[key].id] = fields
    if gone or changed:
        work.tools.mark_incomplete(index.id)
    work.nodes.remove(gone)
    work.nodes.note_fields(refielded)
    queued = work.nodes.upsert(index, of.table_id, changed)
    source.note_compared(work, of, index, wanted)
    return queued


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
    """The message ``enumerate``: brings an index up to a document and queues what changed.

    Without a table, the index of a project orders one comparison for each that needs it.
    A document that cannot be indexed, whatever is tried, leaves the index without its strings and
    with an error that says why, until the document changes.
    """

    store: Store
    completion: IndexCompletion
    limits: Limits

    def compare(self, index_id: int, table_id: int | None = None) -> None:
        """Does nothing when index or table is gone; safe to repeat. A failure is noted.

        What is compared already costs one small statement.
        """
        try:
            with self.store.for_all("handle a message") as work:
                if work.comparisons.follows(index_id, table_id):
                    return
            ordered = self._order(index_id, table_id)
        except InvalidDocumentError:
            ordered = self._once_more(index_id, table_id)
        except Exception as error:
            with suppress(ContextSearchError), self.store.for_all("handle a message") as work:
                work.comparisons.note_failed(index_id, _record(error))
            raise
        if not ordered:  # no node will do it
            self.completion.complete(index_id)

    def _order(self, index_id: int, table_id: int | None) -> Sequence[Message]:
        ahead = preload(self.store, index_id, table_id)
        with self.store.for_all("handle a message") as work:
            index = work.indexes.find(index_id)
            if index is None:
                return []
            chosen = table_id or index.table_id
            if chosen is not None:
                messages = compare(work, index, chosen, self.limits, ahead)
                work.send(*messages)
                return messages
            each = _each_table(work, index)
        send_one_by_one(self.store, each)
        return each

    def _once_more(self, index_id: int, table_id: int | None) -> Sequence[Message]:
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
