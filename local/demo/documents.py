"""What to search: a document of the user's own, or one put together from what is installed anyway.

English: Python's own language reference topics, the doc strings of its standard library as one
string of up to a million characters, and the long descriptions of installed distributions.
Chinese: the handbook of this project. Nothing of others is kept in the repository.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from local.options import ROOT

LONGEST = 1_000_000
HANDBOOK = ROOT / "docs" / "zh" / "handbook.md"


def sample_document() -> dict[str, Any]:
    """Returns a JSON document of about 3 MB with short strings beside very long ones."""
    from pydoc_data.topics import topics  # noqa: PLC0415 - half a megabyte that only this needs

    return {
        "python": {
            "language": [{"topic": name, "text": text} for name, text in sorted(topics.items())],
            "standard_library": _doc_strings(),
        },
        "packages": _descriptions(),
        "handbook": {"title": "context-search 使用手册", "text": HANDBOOK.read_text("utf-8")},
    }


def _doc_strings() -> str:
    parts: list[str] = []
    length = 0
    for part in _documented(Path(sysconfig.get_path("stdlib"))):
        parts.append(part)
        length += len(part) + 2
        if length > LONGEST:
            break
    return "\n\n".join(parts)[:LONGEST]


def _documented(folder: Path) -> Iterator[str]:
    """Yields ``name`` and doc string of what the standard library documents in its sources."""
    for path in sorted(folder.glob("*.py")) + sorted(folder.glob("[a-z]*/[a-z]*.py")):
        if "test" in path.parts[-2] or "packages" in path.parts[-2]:
            continue
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text and len(text) > 80:
                    name = getattr(node, "name", "")
                    yield f"{module}{'.' if name else ''}{name}\n{text}"


def _descriptions() -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for distribution in importlib.metadata.distributions():
        meta = distribution.metadata.json
        entry = {key: str(meta.get(key) or "") for key in ("name", "summary", "description")}
        found[entry["name"].lower()] = entry
    return [found[name] for name in sorted(found)]


def read_document(file: Path) -> tuple[object, bytes]:
    """Returns the JSON value of a file, and its text as it is sent: the server checks it again.

    Raises ValueError, which says where it is no JSON, and of JSON Lines what takes them.
    """
    try:
        text = file.read_text("utf-8-sig")
        return json.loads(text), text.encode()
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8") from None
    except RecursionError:
        raise ValueError(f"{file} is not read: it is too deep") from None
    except json.JSONDecodeError as error:
        where = f"{file} is not JSON: {error.msg} in line {error.lineno}"
        if _is_json_lines(text):
            where += (
                "; it is JSON Lines, which a table takes as an upload with"
                ' "format": "jsonl" (docs/api.md, Uploads)'
            )
        raise ValueError(where) from None


def _is_json_lines(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        for line in lines:
            json.loads(line)
    except (ValueError, RecursionError):
        return False
    return bool(lines)


def sizes(document: object) -> tuple[int, int, int]:
    """Returns how many strings there are, how many have 10,000 characters, and the longest."""
    lengths: list[int] = []
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            lengths.append(len(value))
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return len(lengths), sum(length >= 10_000 for length in lengths), max(lengths, default=0)
