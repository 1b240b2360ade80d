"""Results of searches for agents whose instance redacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_search.agents.tools.results import MAX_RESULT_BYTES, fitted
from context_search.mcp.jsonrpc import to_bytes
from context_search.text.redaction import Excerpt


def fitted_and_redacted(
    answer: Mapping[str, Any], excerpts: Mapping[int, Excerpt]
) -> dict[str, Any]:
    """Returns what ``fitted`` does, with placeholders in the texts of hits.

    A passage is cut before it is redacted, because ``char_start`` and ``char_end`` count in the
    source. Placeholders may be longer than what they hide, and then less fits.
    """
    limit = MAX_RESULT_BYTES
    while True:
        shown = fitted(answer, limit)
        shown["results"] = [_redacted(hit, excerpts) for hit in shown["results"]]
        size = len(to_bytes(shown))
        if size <= MAX_RESULT_BYTES or not shown["results"]:
            return shown
        limit = min(limit - 1, limit * MAX_RESULT_BYTES // size)


def _redacted(hit: Mapping[str, Any], excerpts: Mapping[int, Excerpt]) -> dict[str, Any]:
    chunk = hit["chunk"]
    excerpt, start = excerpts[chunk["id"]], chunk["char_start"]
    text = excerpt.show(start, chunk["char_end"]).text
    redacted = {**hit, "chunk": {**chunk, "chunk_text": text}}
    if "preview" in hit:
        redacted["preview"] = excerpt.show(start, start + len(hit["preview"])).text
    return redacted
