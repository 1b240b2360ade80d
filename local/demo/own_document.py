"""A document of the user's own, from a file."""

from __future__ import annotations

import json
from pathlib import Path


def read_document(file: Path) -> object:
    """Returns the JSON value of a file.

    Raises ValueError, which says where it is no JSON, and of JSON Lines what takes them.
    """
    try:
        text = file.read_text("utf-8-sig")
        return json.loads(text)
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
