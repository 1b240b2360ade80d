"""Compares an index with its documents: which strings are new, changed or gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import add

from context_search.core.config import IndexConfig
from context_search.core.documents import (
    StringNode,
    parse_fielded,
    parse_stored,
    string_nodes,
    strings_at,
)
from context_search.core.errors import (
    ContextSearchError,
    DocumentTooLargeError,
    InvalidDocumentError,
)
from context_search.core.filters import Fields, fields_of, to_text
from context_search.core.ids import KEY_BYTES, pointer_sha256
from context_search.core.json_pointer import split
from context_search.core.messages import CompareIndex, IndexNodes, Message
from context_search.core.model import Index, KnownNode
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.outbox_delivery import node_messages, send_one_by_one
from context_search.indexing.rules.comparisons import ComparedSection, Section, SectionChanges
from context_search.indexing.rules.nodes import NodeUpsert
from context_search.indexing.vector_rows import spans
from context_search.store import Store, UnitOfWork

MAX_POINTER_LENGTH = 20_000
"""Maximum length of one pointer, in characters. Every answer that names a string carries its
pointer, and Lambda's answers may have 6 MB.
"""
MAX_POINTER_CHARS = 250_000_000
"""Maximum length of all pointers of a document's nodes together, in characters. A long key stands
in the pointer of everything below it, and each chunk carries its pointer.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one node. A node beyond them is skipped, and the others go on."""

    max_node_chars: int = 50_000_000
    max_node_chunks: int = 200_000


# ---- The message.


@dataclass(frozen=True, slots=True)
class Comparer:
    """The message ``enumerate``: brings an index up to a document and queues what changed.

    Without a table, the index of a project sends one comparison for each that needs it.
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
            sent = self._compare(index_id, table_id)
        except InvalidDocumentError:
            sent = self._once_more(index_id, table_id)
        except Exception as error:
            with suppress(ContextSearchError), self.store.for_all("handle a message") as work:
                work.comparisons.note_failed(index_id, _record(error))
            raise
        if not sent:  # no node will do it
            self.completion.complete(index_id)

    def _compare(self, index_id: int, table_id: int | None) -> Sequence[Message]:
        preloaded = preload(self.store, index_id, table_id)
        with self.store.for_all("handle a message") as work:
            index = work.indexes.find(index_id)
            if index is None:
                return []
            chosen = table_id or index.table_id
            if chosen is not None:
                messages = compare(work, index, chosen, self.limits, preloaded)
                work.send(*messages)
                return messages
            if index.evicted_at is not None:
                return []
            each = [
                CompareIndex(index.id, other) for other in work.comparisons.uncompared(index.id)
            ]
        send_one_by_one(self.store, each)
        return each

    def _once_more(self, index_id: int, table_id: int | None) -> Sequence[Message]:
        """Gives up when the document that cannot be indexed is still the same."""
        seen = locked_revision(self.store, index_id, table_id)
        try:
            return self._compare(index_id, table_id)
        except InvalidDocumentError as error:
            if seen is not None:
                give_up(self.store, index_id, seen, _record(error))
        return []


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

    Only while the table has the revision that was ``seen``: a change sends another comparison.
    """
    table_id, revision = seen
    with store.for_all("handle a message") as work:
        index = work.indexes.find(index_id)
        if work.tables.lock(table_id) != revision or index is None or index.evicted_at:
            return
        work.indexes.share(index)
        scopes = work.comparisons.scopes(index_id)
        for generation in work.indexes.live(index_id):
            known = work.nodes.known(generation.generation.id, table_id)
            work.nodes.remove([node.id for node in known])
            work.comparisons.note_compared(generation, table_id, revision, scopes)
        work.tools.mark_incomplete(index_id)
        work.comparisons.note_refused(index_id, table_id, record)


def _record(error: Exception) -> dict[str, object]:
    """The message of a foreign exception may quote the document: it stays out."""
    if not isinstance(error, ContextSearchError):
        error = ContextSearchError("an unexpected error, see the log")
    will_pass = not isinstance(error, InvalidDocumentError)
    return {"code": error.code, "message": error.message, "retryable": will_pass}


# ---- The comparison.


def compare(
    work: UnitOfWork, index: Index, table_id: int, limits: Limits, preloaded: Document | None
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
    queued = enumerate_index(work, locked, table_id, limits, preloaded)
    return node_messages(work, queued)


def enumerate_index(
    work: UnitOfWork,
    index: Index,
    table_id: int,
    limits: Limits,
    preloaded: Document | None = None,
) -> list[int]:
    """Makes the nodes that an index has of a table those of its document, within the scopes.

    All generations that follow the document are brought up to it. The caller holds the table's
    lock, so the document cannot change meanwhile. Repeating it changes nothing.
    Returns the ids of the nodes that have to be indexed.
    """
    scopes = work.comparisons.scopes(index.id)
    # A project may name fields at any time: what these say is what is noted below.
    generations = work.indexes.live(index.id)
    revision = work.tables.lock(table_id)
    document = preloaded
    if (
        document is None
        or document.revision != revision
        or not document.serves(work, table_id, scopes, generations)
    ):
        with_fields = any(each.fields for each in generations)
        document = _read(work, index.id, table_id, scopes, with_fields=with_fields)()
    queued: list[int] = []
    for generation in generations:
        queued += _bring_up(work, generation, table_id, scopes, document, limits)
    return queued


def _bring_up(
    work: UnitOfWork,
    generation: Index,
    table_id: int,
    scopes: Sequence[str],
    document: Document,
    limits: Limits,
) -> list[int]:
    desired = document.desired(scopes, generation)
    known = {node.pointer_sha256: node for node in _known(work, table_id, generation, desired)}
    gone = [node.id for key, node in known.items() if key not in desired.strings]
    changed: list[NodeUpsert] = []
    refielded: dict[int, Fields] = {}
    for key, node in desired.strings.items():
        content_hash, fields = node.content_hash, document.fields(node, generation.fields)
        if key not in known or known[key].content_hash != content_hash:
            skip_reason = _skip_reason(node, generation.config, limits)
            changed.append(NodeUpsert(node, content_hash, skip_reason, fields))
        elif fields is not None and not _are_same(fields, known[key].fields):
            refielded[known[key].id] = fields
    if gone or changed:
        work.tools.mark_incomplete(generation.id)
    work.nodes.remove(gone)
    work.nodes.note_fields(refielded)
    queued = work.nodes.upsert(generation, table_id, changed)
    work.comparisons.note_compared(
        generation, table_id, document.revision, scopes, desired.short_strings
    )
    if desired.changes is not None:
        work.comparisons.note_sections(generation, table_id, desired.changes, desired.compared)
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


# ---- What the index has.


def _known(work: UnitOfWork, table_id: int, generation: Index, desired: Desired) -> list[KnownNode]:
    """Returns the nodes to compare with: of the whole document, or of the sections that changed."""
    generation_id, changes = generation.generation.id, desired.changes
    if changes is None or changes.basis is None:
        return work.nodes.known(generation_id, table_id)
    keys = [key for section in changes.gone for key in keys_of(section)]
    return work.nodes.known_by(generation_id, table_id, keys)


def keys_of(section: ComparedSection) -> Iterator[bytes]:
    """Yields the beginnings of ``pointer_sha256`` of the nodes of a section."""
    for at in range(0, len(section.keys), KEY_BYTES):
        yield section.keys[at : at + KEY_BYTES]


# ---- What the document has.


def preload(store: Store, index_id: int, table_id: int | None = None) -> Document | None:
    """Reads and parses what a comparison needs before it takes the table's lock.

    Others wait for that lock, and a large document takes its time. None when there is nothing to
    compare. Raises InvalidDocumentError.
    """
    with store.for_all("handle a message") as work:
        index = work.indexes.find(index_id)
        if index is None or index.evicted_at is not None:
            return None
        chosen = table_id or index.table_id
        if chosen is None or work.tables.find(chosen, project_id=index.project_id) is None:
            return None
        scopes = work.comparisons.scopes(index_id)
        parse = _read(work, index_id, chosen, scopes, with_fields=bool(index.fields))
    return parse()


def _read(
    work: UnitOfWork, index_id: int, table_id: int, scopes: Sequence[str], *, with_fields: bool
) -> Callable[[], Document]:
    """Reads a document as far as it is needed; raises DocumentTooLargeError.

    Returns what parses it: that takes seconds, and no transaction. It raises InvalidDocumentError.
    """
    if not with_fields:  # else a string's fields may be anywhere
        small = work.comparisons.small_document(table_id)
        if small is not None:
            return partial(Document.whole, *small, scopes, with_fields=False)
        found: list[tuple[Index, SectionChanges | None]] = [
            (each, work.comparisons.changed_sections(each, table_id, scopes))
            for each in work.indexes.live(index_id)
        ]
        cut = [(each, changes) for each, changes in found if changes is not None]
        # A document that cannot be cut has none; of one that changes meanwhile they differ.
        if len(cut) == len(found) and len({changes.revision for _, changes in cut}) == 1:
            return partial(Document.changed, scopes, cut)
    read = work.tables.read(table_id)
    return partial(Document.whole, *read, scopes, with_fields=with_fields)


@dataclass(frozen=True, slots=True)
class Document:
    """A document at a revision, read for the generations of an index that follow it.

    ``value``: the whole document, whose numbers are read ``with_fields``. ``sections``: of a large
    one the sections that changed, by generation. ``scopes``: those that it was read for.
    """

    revision: int
    scopes: Sequence[str]
    value: object = None
    with_fields: bool = False
    sections: Mapping[int, Desired] | None = None

    @classmethod
    def whole(
        cls, revision: int, text: str, scopes: Sequence[str], *, with_fields: bool
    ) -> Document:
        """Parses a stored document as far as an index needs it. Raises InvalidDocumentError."""
        value = parse_fielded(text) if with_fields else parse_stored(text)
        return cls(revision, scopes, value, with_fields)

    @classmethod
    def changed(
        cls, scopes: Sequence[str], found: Sequence[tuple[Index, SectionChanges]]
    ) -> Document:
        """Parses sections, which are of one revision. Raises InvalidDocumentError."""
        sections = {
            each.generation.id: Desired.of_sections(changes, each.config) for each, changes in found
        }
        return cls(found[0][1].revision, scopes, sections=sections)

    def serves(
        self,
        work: UnitOfWork,
        table_id: int,
        scopes: Sequence[str],
        generations: Sequence[Index],
    ) -> bool:
        """Whether these generations can be compared with it, under the table's lock."""
        if self.sections is None:
            return self.with_fields or not any(each.fields for each in generations)
        return list(self.scopes) == list(scopes) and all(
            not each.fields and self._follows(work, table_id, each) for each in generations
        )

    def _follows(self, work: UnitOfWork, table_id: int, generation: Index) -> bool:
        desired = self.sections.get(generation.generation.id) if self.sections else None
        if desired is None or desired.changes is None:
            return False
        basis = desired.changes.basis
        # All sections are new to a generation without a basis, whatever was done meanwhile.
        return basis is None or basis == work.comparisons.basis(generation, table_id, self.scopes)

    def few_strings(self, config: IndexConfig, most: int) -> bool:
        """Whether it has at most so many strings to compare."""
        if self.sections is not None:
            return all(len(each.strings) <= most for each in self.sections.values())
        found = (
            node
            for scope in self.scopes
            for node in string_nodes(self.value, scope=scope, threshold=config.threshold)
        )
        return next(islice(found, most, None), None) is None

    def desired(self, scopes: Sequence[str], generation: Index) -> Desired:
        """Returns the strings to compare. Raises DocumentTooLargeError, see ``Desired.of``."""
        if self.sections is not None:
            return self.sections[generation.generation.id]
        return Desired.of(self.value, scopes, generation.config)

    def fields(self, node: StringNode, names: Sequence[str]) -> Fields | None:
        """Returns the fields of a string by which it may be found; None without names.

        With names, documents are read as a whole.
        """
        return fields_of(self.value, split(node.json_pointer), names) if names else None


@dataclass(frozen=True, slots=True)
class Desired:
    """The big strings of a document, or of its changed sections, by ``pointer_sha256``.

    ``pointer_chars``: the length of their pointers, one for each chunk. ``short_strings``: how
    many strings of each scope are too short, in the order of the scopes; blank ones do not count.
    ``changes``: the sections that changed, and ``compared`` what they have; None: all strings.
    """

    strings: Mapping[bytes, StringNode]
    pointer_chars: int
    short_strings: Sequence[int]
    changes: SectionChanges | None = None
    compared: Sequence[ComparedSection] = ()

    @classmethod
    def of(
        cls, document: object, scopes: Iterable[str], config: IndexConfig, *, before: int = 0
    ) -> Desired:
        """Finds them. ``before``: the ``pointer_chars`` of other sections.

        Raises DocumentTooLargeError when a pointer has over 20,000 characters, or all of them, one
        for each chunk, over 250,000,000.
        """
        step = config.chunk_size - config.chunk_overlap
        pointer_chars = 0
        strings: dict[bytes, StringNode] = {}
        short_strings: list[int] = []
        for scope in scopes:
            short = 0
            for found in strings_at(document, [scope]):
                if len(found.text) < config.threshold:
                    short += bool(found.text) and not found.text.isspace()
                    continue
                node = StringNode(found.json_pointer, found.text)
                pointer_chars += _pointer_chars(node, step)
                if before + pointer_chars > MAX_POINTER_CHARS:
                    raise DocumentTooLargeError(
                        "the pointers of the strings, one for each chunk, have over"
                        f" {MAX_POINTER_CHARS} characters: give shorter keys"
                    )
                strings[pointer_sha256(node.json_pointer)] = node
            short_strings.append(short)
        return cls(strings, pointer_chars, short_strings)

    @classmethod
    def of_sections(cls, changes: SectionChanges, config: IndexConfig) -> Desired:
        """Finds those of the new sections. Raises InvalidDocumentError."""
        strings: dict[bytes, StringNode] = {}
        compared: list[ComparedSection] = []
        pointer_chars, short_strings = changes.kept_pointer_chars, changes.kept_short_strings
        for section in changes.new:
            found = cls.of(_alone(section), changes.scopes, config, before=pointer_chars)
            pointer_chars += found.pointer_chars
            short_strings = list(map(add, short_strings, found.short_strings))
            strings |= found.strings
            keys = b"".join(key[:KEY_BYTES] for key in found.strings)
            compared.append(
                ComparedSection(section.digest, keys, found.pointer_chars, found.short_strings)
            )
        return cls(strings, pointer_chars, short_strings, changes, compared)


def _alone(section: Section) -> object:
    """Returns a document that has this section and nothing else.

    Arrays are objects in it: their elements have the same pointers. Raises InvalidDocumentError.
    """
    value = parse_stored(section.text)
    if isinstance(value, list):
        value = {str(at): element for at, element in enumerate(value, section.first)}
    for token in reversed(split(section.pointer)):
        value = {token: value}
    return value


def _pointer_chars(node: StringNode, step: int) -> int:
    if len(node.json_pointer) > MAX_POINTER_LENGTH:
        raise DocumentTooLargeError(
            f"a string has a pointer of over {MAX_POINTER_LENGTH} characters: give shorter keys"
        )
    return len(node.json_pointer) * (1 + len(node.text) // step)
