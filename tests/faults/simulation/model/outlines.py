"""Documents piece by piece, in memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from context_search.catalog.rules.outlines import (
    SHOWN_CHARS,
    Beginnings,
    Children,
    ChildValue,
    TextWindow,
    ValueKind,
)
from context_search.catalog.sql.outlines import Outlines
from context_search.core.documents import parse_exact
from context_search.core.json_pointer import resolve, split
from context_search.core.json_text import to_json
from tests.faults.simulation.model.model import Model


class MemoryOutlines(Model, Outlines):
    """``Outlines`` over rows in memory; sizes are those of the JSON text."""

    def window(
        self, table_id: int, path: Sequence[str], *, start: int, length: int
    ) -> TextWindow | None:
        found = self._value(table_id, path)
        if found is None:
            return None
        revision, value = found
        text = value if isinstance(value, str) else ""
        first = min(start, len(text))
        end = min(first + length, len(text))
        digest = hashlib.sha256(text.encode()).hexdigest()
        shown = text[first:end] if isinstance(value, str) else None
        return TextWindow(revision, first, end, len(text), digest, shown)

    def children(
        self,
        table_id: int,
        path: Sequence[str],
        *,
        after: int,
        limit: int,
        most_chars: int,
        part_of_key: str | None = None,
    ) -> Children | None:
        found = self._value(table_id, path)
        if found is None:
            return None
        revision, value = found
        children = [
            _child(position, key, child)
            for position, (key, child) in enumerate(_below(value))
            if position >= after and _is_wanted(value, key, part_of_key)
        ]
        return Children.page(
            revision,
            _kind(value),
            _length(value),
            children,
            limit=limit,
            most_chars=most_chars,
        )

    def beginnings(
        self, table_id: int, pointers: Sequence[str], *, chars: int
    ) -> Beginnings | None:
        table = self.rows.tables.get(table_id)
        if table is None or not table.is_there:
            return None
        found = {pointer: self._value(table_id, split(pointer)) for pointer in pointers}
        texts = {
            at: each[1][:chars] for at, each in found.items() if each if isinstance(each[1], str)
        }
        return Beginnings(table.name or "", texts)

    def _value(self, table_id: int, path: Sequence[str]) -> tuple[int, object] | None:
        if (row := self.rows.tables.get(table_id)) is None:
            return None
        try:
            return row.revision, resolve(parse_exact(row.data_json), path)
        except KeyError:
            return None


def _below(value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return sorted(value.items(), key=lambda item: (len(item[0].encode()), item[0].encode()))
    if isinstance(value, list):
        return [(str(position), child) for position, child in enumerate(value)]
    return []


def _is_wanted(value: object, key: str, part: str | None) -> bool:
    if part is None:
        return True
    if isinstance(value, list):
        return re.fullmatch("0|[1-9][0-9]{0,8}", part) is not None and key == part
    return part.lower() in key.lower()


def _child(position: int, key: str, value: object) -> ChildValue:
    kind = _kind(value)
    text = None if kind in ("object", "array") else _text(value)[:SHOWN_CHARS]
    size = len(to_json(value).encode())
    return ChildValue(position, key, kind, _length(value), size, text, _title(value))


def _title(value: object) -> str | None:
    named = [value.get("title"), value.get("name")] if isinstance(value, dict) else []
    return next((text[:SHOWN_CHARS] for text in named if isinstance(text, str) and text), None)


def _kind(value: object) -> ValueKind:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    kinds: dict[type, ValueKind] = {dict: "object", list: "array", str: "string"}
    return next((kind for of, kind in kinds.items() if isinstance(value, of)), "number")


def _length(value: object) -> int | None:
    if isinstance(value, dict | list):
        return len(value)
    return None if _kind(value) in ("boolean", "null") else len(_text(value))


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value)
