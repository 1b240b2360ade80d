"""Sections of documents, in memory: cut by position, and by a hash of keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from zlib import crc32

from context_search.core.documents import parse_exact
from context_search.core.json_pointer import escape
from context_search.core.json_text import to_json
from context_search.core.model import Index
from context_search.indexing.rules.sections import ComparedSection, Section, SectionChanges
from context_search.indexing.sql.sections import Sections
from tests.faults.simulation.model.model import Model

SMALL_CHARS = 400
"""Documents of at most so many characters are compared as a whole."""
_CHARS = 100
_TOGETHER = 2


class MemorySections(Model, Sections):
    """``Sections`` over rows in memory."""

    def small(self, table_id: int) -> tuple[int, str] | None:
        row = self.rows.tables.get(table_id)
        if row is None or len(row.data_json) > SMALL_CHARS:
            return None
        return row.revision, row.data_json

    def basis(self, index: Index, table_id: int, scopes: Sequence[str]) -> bytes | None:
        key = index.generation.id, table_id
        revision, compared = self.rows.compared.get(key, (None, ()))
        noted, kept = self.rows.sections.get(key, (None, {}))
        if revision is None or noted != (revision, compared) or compared != tuple(scopes):
            return None
        if key in self.rows.refused:  # it has no nodes
            return None
        return hashlib.sha256(repr((noted, sorted(kept))).encode()).digest()

    def changes(self, index: Index, table_id: int, scopes: Sequence[str]) -> SectionChanges | None:
        if (row := self.rows.tables.get(table_id)) is None:
            return None
        basis = self.basis(index, table_id, scopes)
        _, known = self.rows.sections.get((index.generation.id, table_id), (None, {}))
        kept = {} if basis is None else known
        found = {section.digest: section for section in _cut("", parse_exact(row.data_json))}
        new = [section for digest, section in found.items() if digest not in kept]
        gone = [section for digest, section in kept.items() if digest not in found]
        staying = [kept[digest] for digest in kept.keys() & found.keys()]
        chars = sum(section.pointer_chars for section in staying)
        short = [sum(section.short_strings[at] for section in staying) for at in range(len(scopes))]
        return SectionChanges(row.revision, tuple(scopes), basis, new, gone, chars, short)

    def note_compared(
        self, index: Index, table_id: int, changes: SectionChanges, new: Sequence[ComparedSection]
    ) -> None:
        key = index.generation.id, table_id
        _, known = self.rows.sections.get(key, (None, {}))
        kept = {} if changes.basis is None else dict(known)
        for section in changes.gone:
            del kept[section.digest]
        kept |= {section.digest: section for section in new}
        self.rows.sections[key] = (self.rows.compared[key], kept)


def _cut(pointer: str, value: object) -> Iterator[Section]:
    """Yields a value that is small as it is, and of others what is small in them, some together."""
    if not isinstance(value, dict | list) or len(to_json(value)) <= _CHARS:
        yield _section(pointer, 0, value)
    elif isinstance(value, list):
        for at, element in enumerate(value):
            if _is_large(element):
                yield from _cut(f"{pointer}/{at}", element)
            else:
                yield _section(pointer, at, [element])
    else:
        groups: dict[int, dict[str, object]] = {}
        for name, member in value.items():
            if _is_large(member):
                yield from _cut(f"{pointer}/{escape(name)}", member)
            else:
                groups.setdefault(crc32(name.encode()) % _TOGETHER, {})[name] = member
        for group, members in groups.items():
            yield _section(pointer, group, members)


def _is_large(value: object) -> bool:
    return isinstance(value, dict | list) and len(to_json(value)) > _CHARS


def _section(pointer: str, first: int, value: object) -> Section:
    text = to_json(value)
    place = f"{first} {len(pointer)} {pointer}"
    return Section(pointer, first, text, hashlib.sha256(f"{place}{text}".encode()).digest())
