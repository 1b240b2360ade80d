"""Which indexes were compared with which documents, in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from zlib import crc32

from context_search.core.documents import parse_exact
from context_search.core.filters import Filter, matches, names_of
from context_search.core.json_pointer import contains, escape
from context_search.core.json_text import to_json
from context_search.core.model import Index
from context_search.indexing.rules.comparisons import ComparedSection, Section, SectionChanges
from context_search.indexing.sql.comparisons import Comparisons
from context_search.maintenance.rules.health import CleanupLimits
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.rows import (
    CoverageRow,
    GenerationRow,
    IndexRow,
    NodeRow,
    Rows,
    TableRow,
)

SMALL_CHARS = 400
"""Documents of at most so many characters are compared as a whole."""
_CHARS = 100
_TOGETHER = 2


class ModelComparisons(Model, Comparisons):
    """``Comparisons`` over rows in memory."""

    def due_at(self, _: CleanupLimits) -> Times:
        """At once while a generation lacks something of a table."""
        yield from (self.clock.now() for _ in self._due())

    def cover(self, index_id: int, *, tool_id: int, scope: str) -> None:
        self.rows.coverage[tool_id] = CoverageRow(index_id, scope)
        self._note_order(index_id)

    def uncover(self, tool_id: int) -> None:
        covered = self.rows.coverage.pop(tool_id, None)
        if covered:
            self._note_order(covered.index_id)

    def _note_order(self, index_id: int) -> None:
        for generation_id in self._generations_of(index_id):
            self.note_order(generation_id)

    def _generations_of(self, index_id: int) -> list[int]:
        """Returns those that follow their documents."""
        return [
            generation.id
            for generation in self.rows.generations.values()
            if generation.index_id == index_id and generation.state in ("active", "building")
        ]

    def scopes(self, index_id: int) -> list[str]:
        index = self.rows.indexes.get(index_id)
        return needed_scopes(self.rows, index) if index else []

    def may_be_needed(self, index_id: int) -> bool:
        index = self.rows.indexes.get(index_id)
        return index is not None and not is_left(self.rows, index)

    def note_failed(self, index_id: int, error: Mapping[str, object]) -> None:
        if index_id in self.rows.indexes and self.uncompared(index_id):
            record = {**error, "at": self.clock.now().isoformat()}
            self.rows.change(self.rows.indexes, index_id, order_error=record)

    def note_refused(self, index_id: int, table_id: int, error: Mapping[str, object]) -> None:
        record = {**error, "table_id": table_id, "at": self.clock.now().isoformat()}
        for generation_id in self._generations_of(index_id):
            self.rows.refused[generation_id, table_id] = record

    def note_compared(
        self,
        index: Index,
        table_id: int,
        revision: int,
        scopes: Sequence[str],
        short_strings: Sequence[int] = (),
    ) -> None:
        key = index.generation.id, table_id
        self.rows.compared[key] = (revision, tuple(scopes))
        if short_strings:
            self.rows.short_strings[key] = dict(zip(scopes, short_strings, strict=True))
        else:
            self.rows.short_strings.pop(key, None)
        if key in self.rows.sections:
            self.rows.sections[key] = (None, self.rows.sections[key][1])
        self.rows.fielded[index.generation.id, table_id] = index.fields
        self.rows.refused.pop((index.generation.id, table_id), None)
        self.rows.change(self.rows.indexes, index.id, order_error=None)

    def order_comparisons(self, generation_id: int) -> None:
        """Forgets what a generation was compared with: somebody has ordered to compare it."""
        self.note_order(generation_id)
        for key in [key for key in self.rows.compared if key[0] == generation_id]:
            del self.rows.compared[key]

    def note_order(self, generation_id: int) -> None:
        """The caller has a generation compared; ``cleanup`` need not."""
        for key in [key for key in self.rows.compared if key[0] == generation_id]:
            self.rows.ordered[key] = self.clock.now()

    def follows(self, index_id: int, table_id: int | None = None) -> bool:
        pairs = (*self._behind(), *self._uncounted())
        lacking = {table.id for generation, table in pairs if generation.index_id == index_id}
        follows = not lacking if table_id is None else table_id not in lacking
        index = self.rows.indexes.get(index_id)
        if follows and index:
            self.rows.change(self.rows.indexes, index_id, order_error=None)
        return follows

    def uncompared(self, index_id: int) -> list[int]:
        return sorted(
            {table.id for generation, table in self._behind() if generation.index_id == index_id}
        )

    def is_compared(self, index: Index) -> bool:
        return all(generation.id != index.generation.id for generation, _ in self._behind())

    def behind(self, *, silent_s: float, limit: int) -> list[tuple[int, int]]:
        now = self.clock.now()
        since = now - timedelta(seconds=silent_s)
        known = {row.key for row in self.rows.outbox.values()}
        found = [
            (generation, table)
            for generation, table in self._due()
            if self._is_silent(generation, table, since)
            and f"enumerate:{generation.index_id}:{table.id}" not in known
        ][:limit]
        for generation, table in found:
            self.rows.ordered[generation.id, table.id] = now
        return sorted({(self._index_of(generation).id, table.id) for generation, table in found})

    def _due(self) -> Iterator[tuple[GenerationRow, TableRow]]:
        """Yields those that are to be filled, or that nobody needs any more and have to go."""
        pairs = {(each.id, table.id): (each, table) for each, table in self._behind()}
        pairs |= {(each.id, table.id): (each, table) for each, table in self._uncounted()}
        for _, (generation, table) in sorted(pairs.items()):
            index = self._index_of(generation)
            if index.evicted_at is None or is_left(self.rows, index):
                yield generation, table

    def _is_silent(self, generation: GenerationRow, table: TableRow, since: datetime) -> bool:
        last = max(generation.created_at, table.updated_at)
        return max(last, self.rows.ordered.get((generation.id, table.id), last)) < since

    def _behind(self) -> Iterator[tuple[GenerationRow, TableRow]]:
        """Yields generations that should follow their tables, each with each that it does not."""
        for generation, index, table in self._pairs():
            revision, scopes = self.rows.compared.get((generation.id, table.id), (None, ()))
            is_other = _differ(needed_scopes(self.rows, index), scopes) or not (
                has_fields(self.rows, generation.id, table.id, index.fields)
            )
            if revision != table.revision or is_other or is_left(self.rows, index):
                yield generation, table

    def _uncounted(self) -> Iterator[tuple[GenerationRow, TableRow]]:
        """Yields those where nobody has counted the short strings of a scope that is needed."""
        for generation, index, table in self._pairs():
            key = generation.id, table.id
            counted = self.rows.short_strings.get(key, {})
            is_whole = set(needed_scopes(self.rows, index)) <= counted.keys()
            if index.table_id is not None and key not in self.rows.refused and not is_whole:
                yield generation, table

    def _pairs(self) -> Iterator[tuple[GenerationRow, IndexRow, TableRow]]:
        for _, generation in sorted(self.rows.generations.items()):
            if generation.state in ("active", "building") and generation.index_id is not None:
                index = self._index_of(generation)
                for table in tables_of(self.rows, index):
                    yield generation, index, table

    def _index_of(self, generation: GenerationRow) -> IndexRow:
        return self.rows.indexes[generation.index_id or 0]

    def small_document(self, table_id: int) -> tuple[int, str] | None:
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

    def changed_sections(
        self, index: Index, table_id: int, scopes: Sequence[str]
    ) -> SectionChanges | None:
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

    def note_sections(
        self, index: Index, table_id: int, changes: SectionChanges, new: Sequence[ComparedSection]
    ) -> None:
        key = index.generation.id, table_id
        _, known = self.rows.sections.get(key, (None, {}))
        kept = {} if changes.basis is None else dict(known)
        for section in changes.gone:
            del kept[section.digest]
        kept |= {section.digest: section for section in new}
        self.rows.sections[key] = (self.rows.compared[key], kept)


def needed_scopes(rows: Rows, index: IndexRow) -> list[str]:
    """Returns the scopes that an index has to hold, each once; of a project's the root."""
    if index.table_id is None:
        return [""]
    covered = [item for item in rows.coverage.items() if item[1].index_id == index.id]
    return sorted({row.scope for tool_id, row in covered if rows.tools[tool_id].is_there})


def has_fields(rows: Rows, generation_id: int, table_id: int, names: Iterable[str]) -> bool:
    """Whether the nodes of a generation have these fields."""
    return set(names) <= set(rows.fielded.get((generation_id, table_id), ()))


def may_match(rows: Rows, node: NodeRow, wanted: Filter | None) -> bool:
    """Whether a filter may let a node through, by what is noted of its fields."""
    if wanted is None or node.fields is None:
        return True
    are_known = has_fields(rows, node.generation_id, node.table_id, names_of(wanted))
    return not are_known or matches(wanted, node.fields)


def is_left(rows: Rows, index: IndexRow) -> bool:
    """Whether no tool needs the index of a table, nor may again: one in its owner's trash."""
    return index.table_id is not None and not any(
        rows.tools[tool_id].remove_at is None
        for tool_id, row in rows.coverage.items()
        if row.index_id == index.id
    )


def _differ(needed: Iterable[str], compared: Iterable[str]) -> bool:
    """Whether what is in the one is not what is in the other; scopes may contain each other."""
    return not (_is_within(needed, compared) and _is_within(compared, needed))


def _is_within(inner: Iterable[str], outer: Iterable[str]) -> bool:
    return all(any(contains(each, scope) for each in outer) for scope in inner)


def tables_of(rows: Rows, index: IndexRow) -> list[TableRow]:
    """Returns the live tables of an index, by id."""
    return [
        table
        for _, table in sorted(rows.tables.items())
        if table.is_there
        and table.project_id == index.project_id
        and index.table_id in (None, table.id)
    ]


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
