"""What a document has for an index: all of its strings, or those of the sections that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import add
from typing import Protocol

from context_search.core.config import IndexConfig
from context_search.core.documents import (
    StringNode,
    parse_fielded,
    parse_stored,
    string_nodes,
    strings_at,
)
from context_search.core.errors import DocumentTooLargeError
from context_search.core.filters import Fields, fields_of
from context_search.core.ids import KEY_BYTES, pointer_sha256
from context_search.core.json_pointer import split
from context_search.core.model import Index, KnownNode
from context_search.indexing.rules.sections import ComparedSection, Section, SectionChanges
from context_search.store import Store, UnitOfWork

MAX_POINTER_LENGTH = 20_000
"""Maximum length of one pointer, in characters. Every answer that names a string carries its
pointer, and Lambda's answers may have 6 MB.
"""
MAX_POINTER_CHARS = 250_000_000
"""Maximum length of all pointers of a document's nodes together, in characters. A long key stands
in the pointer of everything below it, and each chunk carries its pointer.
"""


class Source(Protocol):
    """A document at a revision, read for the generations of an index that follow it."""

    @property
    def revision(self) -> int: ...

    def is_current(
        self,
        work: UnitOfWork,
        of: ComparedTable,
        revision: int | None,
        generations: Sequence[Index],
    ) -> bool:
        """Whether it may still be used for these generations, under the table's lock."""
        ...

    def few_strings(self, of: ComparedTable, config: IndexConfig, most: int) -> bool:
        """Whether it has at most so many strings to compare."""
        ...

    def strings(self, of: ComparedTable, generation: Index) -> Desired:
        """Returns the big strings to compare.

        Raises DocumentTooLargeError when a pointer has over 20,000 characters, or all of them, one
        for each chunk, over 250,000,000.
        """
        ...

    def known(self, work: UnitOfWork, of: ComparedTable, generation: Index) -> list[KnownNode]:
        """Returns the nodes to compare them with."""
        ...

    def fields(self, node: StringNode, names: Sequence[str]) -> Fields | None:
        """Returns the fields of a string by which it may be found; None without names."""
        ...

    def note_compared(
        self, work: UnitOfWork, of: ComparedTable, generation: Index, wanted: Desired
    ) -> None:
        """Notes that a generation has these strings, and no others of this table."""
        ...


@dataclass(frozen=True, slots=True)
class Desired:
    """The big strings of a document, or of a section, by ``pointer_sha256``; each is there once.

    ``pointer_chars``: the length of their pointers, one for each chunk. ``short_strings``: how
    many strings of each scope are too short, in the order of the scopes; blank ones do not count.
    """

    strings: Mapping[bytes, StringNode]
    pointer_chars: int
    short_strings: Sequence[int]

    @classmethod
    def of(
        cls, document: object, scopes: Iterable[str], config: IndexConfig, *, before: int = 0
    ) -> Desired:
        """Finds them. ``before``: the ``pointer_chars`` of other sections.

        Raises DocumentTooLargeError, see ``Source.strings``.
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


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """What a comparison is about: an index, a table, and what tools need of it."""

    index_id: int
    table_id: int
    scopes: Sequence[str]

    def fetch(self, work: UnitOfWork, *, with_fields: bool) -> LoadedDocument:
        """Reads a document as far as it is needed. Raises DocumentTooLargeError."""
        if not with_fields:  # else a string's fields may be anywhere
            small = work.sections.small(self.table_id)
            if small is not None:
                return LoadedDocument(*small, with_fields=False)
            sections = self._sections(work)
            if sections is not None:
                return sections
        return LoadedDocument(*work.tables.read(self.table_id), with_fields=with_fields)

    def _sections(self, work: UnitOfWork) -> LoadedDocument | None:
        """Returns None where the document cannot be cut, or somebody changes it meanwhile."""
        found: list[tuple[Index, SectionChanges]] = []
        for each in work.indexes.live(self.index_id):
            changes = work.sections.changes(each, self.table_id, self.scopes)
            if changes is None:
                return None
            found.append((each, changes))
        revisions = {changes.revision for _, changes in found}
        return (
            LoadedDocument(revisions.pop(), found, with_fields=False)
            if len(revisions) == 1
            else None
        )


@dataclass(frozen=True, slots=True)
class LoadedDocument:
    """What was read of a document, as text: to parse it takes seconds, and no transaction."""

    revision: int
    content: str | Sequence[tuple[Index, SectionChanges]]
    with_fields: bool

    def parsed(self) -> Source:
        """Raises InvalidDocumentError."""
        if isinstance(self.content, str):
            return WholeDocument.parsed(self.revision, self.content, with_fields=self.with_fields)
        changed = {
            each.generation.id: _Changed.parsed(changes, each.config)
            for each, changes in self.content
        }
        return ChangedSections(self.revision, changed)


@dataclass(frozen=True, slots=True)
class Preloaded:
    """A document that was read before the table's lock was taken, for an index as it was then."""

    source: Source
    of: ComparedTable
    config: IndexConfig

    def few_strings(self, most: int) -> bool:
        """Whether there are at most so many strings to compare."""
        return self.source.few_strings(self.of, self.config, most)


def preload(store: Store, index_id: int, table_id: int | None = None) -> Preloaded | None:
    """Reads and parses what a comparison needs before it takes the table's lock.

    Others wait for that lock, and a large document takes its time. None when there is nothing to
    compare. Raises InvalidDocumentError.
    """
    with store.for_all("handle a message") as work:
        index = work.indexes.find(index_id)
        if index is None or index.evicted_at is not None:
            return None
        chosen = table_id or index.table_id
        if chosen is None:
            return None
        if work.tables.find(chosen, project_id=index.project_id) is None:
            return None
        of = ComparedTable(index_id, chosen, work.comparisons.scopes(index_id))
        fetched = of.fetch(work, with_fields=bool(index.fields))
    return Preloaded(fetched.parsed(), of, index.config)


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document with all of its strings. Its numbers are read ``with_fields``."""

    revision: int
    value: object
    with_fields: bool

    @classmethod
    def parsed(cls, revision: int, text: str, *, with_fields: bool) -> WholeDocument:
        """Returns a stored document as far as an index needs it. Raises InvalidDocumentError."""
        value = parse_fielded(text) if with_fields else parse_stored(text)
        return cls(revision, value, with_fields)

    def is_current(
        self,
        work: UnitOfWork,  # noqa: ARG002
        of: ComparedTable,  # noqa: ARG002 - it has the strings of all scopes
        revision: int | None,
        generations: Sequence[Index],
    ) -> bool:
        with_fields = any(generation.fields for generation in generations)
        return revision == self.revision and (self.with_fields or not with_fields)

    def few_strings(self, of: ComparedTable, config: IndexConfig, most: int) -> bool:
        found = (
            node
            for scope in of.scopes
            for node in string_nodes(self.value, scope=scope, threshold=config.threshold)
        )
        return next(islice(found, most, None), None) is None

    def strings(self, of: ComparedTable, generation: Index) -> Desired:
        return Desired.of(self.value, of.scopes, generation.config)

    def known(self, work: UnitOfWork, of: ComparedTable, generation: Index) -> list[KnownNode]:
        return work.nodes.known(generation.generation.id, of.table_id)

    def fields(self, node: StringNode, names: Sequence[str]) -> Fields | None:
        return fields_of(self.value, split(node.json_pointer), names) if names else None

    def note_compared(
        self, work: UnitOfWork, of: ComparedTable, generation: Index, wanted: Desired
    ) -> None:
        work.comparisons.note_compared(
            generation, of.table_id, self.revision, of.scopes, wanted.short_strings
        )


@dataclass(frozen=True, slots=True)
class _Changed:
    """The sections of a document that changed for one generation, and what it is to have there."""

    changes: SectionChanges
    wanted: Desired
    compared: Sequence[ComparedSection]

    @classmethod
    def parsed(cls, changes: SectionChanges, config: IndexConfig) -> _Changed:
        strings: dict[bytes, StringNode] = {}
        compared: list[ComparedSection] = []
        pointer_chars, short_strings = changes.kept_pointer_chars, changes.kept_short_strings
        for section in changes.new:
            found = Desired.of(_alone(section), changes.scopes, config, before=pointer_chars)
            pointer_chars += found.pointer_chars
            short_strings = list(map(add, short_strings, found.short_strings))
            strings |= found.strings
            keys = b"".join(key[:KEY_BYTES] for key in found.strings)
            compared.append(
                ComparedSection(section.digest, keys, found.pointer_chars, found.short_strings)
            )
        return cls(changes, Desired(strings, pointer_chars, short_strings), compared)


@dataclass(frozen=True, slots=True)
class ChangedSections:
    """The sections of a large document that changed, by generation."""

    revision: int
    by_generation: Mapping[int, _Changed]

    def is_current(
        self,
        work: UnitOfWork,
        of: ComparedTable,
        revision: int | None,
        generations: Sequence[Index],
    ) -> bool:
        return revision == self.revision and all(
            not each.fields and self._is_current(work, of, each) for each in generations
        )

    def _is_current(self, work: UnitOfWork, of: ComparedTable, generation: Index) -> bool:
        changed = self.by_generation.get(generation.generation.id)
        if changed is None or list(changed.changes.scopes) != list(of.scopes):
            return False
        basis = changed.changes.basis
        # All sections are new to whoever has no basis, whatever was done meanwhile.
        return basis is None or basis == work.sections.basis(generation, of.table_id, of.scopes)

    def few_strings(
        self,
        of: ComparedTable,  # noqa: ARG002
        config: IndexConfig,  # noqa: ARG002 - they are found
        most: int,
    ) -> bool:
        found = [changed.wanted.strings for changed in self.by_generation.values()]
        return all(len(strings) <= most for strings in found)

    def strings(
        self,
        of: ComparedTable,  # noqa: ARG002 - the same
        generation: Index,
    ) -> Desired:
        return self.by_generation[generation.generation.id].wanted

    def known(self, work: UnitOfWork, of: ComparedTable, generation: Index) -> list[KnownNode]:
        generation_id = generation.generation.id
        changes = self.by_generation[generation_id].changes
        if changes.basis is None:
            return work.nodes.known(generation_id, of.table_id)
        keys = [key for section in changes.gone for key in keys_of(section)]
        return work.nodes.known_by(generation_id, of.table_id, keys)

    def fields(
        self,
        node: StringNode,  # noqa: ARG002
        names: Sequence[str],  # noqa: ARG002 - with names, documents are read as a whole
    ) -> Fields | None:
        return None

    def note_compared(
        self, work: UnitOfWork, of: ComparedTable, generation: Index, wanted: Desired
    ) -> None:
        changed = self.by_generation[generation.generation.id]
        work.comparisons.note_compared(
            generation, of.table_id, self.revision, of.scopes, wanted.short_strings
        )
        work.sections.note_compared(generation, of.table_id, changed.changes, changed.compared)


def keys_of(section: ComparedSection) -> Iterator[bytes]:
    for at in range(0, len(section.keys), KEY_BYTES):
        yield section.keys[at : at + KEY_BYTES]


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
