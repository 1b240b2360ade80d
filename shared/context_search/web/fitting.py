"""Results that fit into what MCP clients take from one tool call."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from context_search.mcp.jsonrpc import to_bytes

# Claude Code, for one, cuts off a result of 25,000 tokens. Three bytes of UTF-8 are about a token
# of Chinese and more than half a token of anything else.
MAX_RESULT_BYTES = 60_000


def fitted(answer: Mapping[str, Any], limit: int = MAX_RESULT_BYTES) -> dict[str, Any]:
    """Returns a search's answer without the last hits that do not fit into ``limit`` bytes of JSON.

    ``omitted`` then counts them. Of a best hit that is too long by itself the passage is cut, and
    ``char_end`` says where; it is left out only if its place alone is too long.
    """
    results: list[Any] = answer["results"]
    room = limit - len(to_bytes({**answer, "results": [], "omitted": len(results)}))
    kept: list[Any] = []
    for hit in results:
        shown = hit if kept else _shortened(hit, room)
        room -= len(to_bytes(shown)) + 1  # and the comma
        if room < 0:
            break
        kept.append(shown)
        if shown is not hit:
            break
    if len(kept) == len(results):
        return {**answer, "results": kept}
    return {**answer, "results": kept, "omitted": len(results) - len(kept)}


def _shortened(hit: Mapping[str, Any], room: int) -> Mapping[str, Any]:
    """A hit whose passage is as long as it may be; without its preview if that does not fit."""
    if len(to_bytes(hit)) < room:
        return hit
    text, start = hit["chunk"]["chunk_text"], hit["chunk"]["char_start"]

    def cut(length: int) -> dict[str, Any]:
        passage = {"chunk_text": text[:length], "char_end": start + length}
        bare = {name: value for name, value in hit.items() if name != "preview"}
        return {**bare, "chunk": {**hit["chunk"], **passage}}

    fits = bisect_right(range(len(text) + 1), room - 1, key=lambda n: len(to_bytes(cut(n))))
    return cut(max(fits - 1, 0))
