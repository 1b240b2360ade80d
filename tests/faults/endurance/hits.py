"""What a hit promises: the text at its place."""

from __future__ import annotations

from typing import Any

from context_search.core.json_pointer import resolve, split


def deviation(document: object, hit: dict[str, Any]) -> str | None:
    """How a hit differs from the document at the place that it names; None when it does not."""
    chunk = hit["chunk"]
    try:
        text = resolve(document, split(chunk["json_pointer"]))
    except KeyError:
        return f"a hit of {chunk['json_pointer']}, which is gone"
    if not isinstance(text, str):
        return f"a hit of {chunk['json_pointer']}, which is no string"
    if text[chunk["char_start"] : chunk["char_end"]] != chunk["chunk_text"]:
        return f"a hit of {chunk['json_pointer']} is not the text that is there"
    return None
