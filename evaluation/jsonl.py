"""JSONL files as people write them: what is wrong is said with file and line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Row = Mapping[str, Any]
T = TypeVar("T")


class UnreadableError(Exception):
    """A file is missing, or not as docs/quality.md says."""


def read_rows(path: Path, parse: Callable[[Row], T]) -> list[T]:
    """Returns what ``parse`` makes of each line that is not blank; a ValueError of it is explained.

    Fields that nobody asks for are left alone. Raises UnreadableError.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(f"{path}: {error}") from error
    found: list[T] = []
    # Not splitlines(): JSON may hold U+2028 and its like as they are.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append(parse(_object(line)))
            except (ValueError, RecursionError) as error:
                raise UnreadableError(f"{path}, line {number}: {error}") from error
    return found


def _object(line: str) -> Row:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("no JSON object")
    json.dumps(row, ensure_ascii=False).encode()  # half a surrogate pair is no text
    return row


def text_of(row: Row, name: str) -> str:
    """Returns a field that must be text. Raises ValueError."""
    value = row.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string")
    return value


def rows_of(row: Row, name: str) -> list[Row]:
    """Returns a field that must be an array of objects, maybe empty. Raises ValueError."""
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ValueError(f"{name} must be an array of objects")
    return value


def range_of(row: Row) -> tuple[int, int]:
    """Returns ``char_start`` and ``char_end``, at least one code point apart. Raises ValueError."""
    start, end = row.get("char_start"), row.get("char_end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise ValueError(f"char_start {start!r}, char_end {end!r} are no range of characters")
    return start, end
