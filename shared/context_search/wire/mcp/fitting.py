"""Results that fit into what MCP clients take from one tool call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_search.wire.mcp.jsonrpc import to_bytes

# Claude Code, for one, cuts off a result of 25,000 tokens. Three bytes of UTF-8 are about a token
# of Chinese and more than half a token of anything else.
MAX_RESULT_BYTES = 60_000


def fitted(answer: Mapping[str, Any], limit: int = MAX_RESULT_BYTES) -> dict[str, Any]:
    """Returns a search's answer without the last hits that do not fit into ``limit`` bytes of JSON.

    ``omitted`` then counts them. The best hit always stays, whatever its size.
    """
    results: list[Any] = answer["results"]
    room = limit - len(to_bytes({**answer, "results": [], "omitted": len(results)}))
    kept = 0
    for hit in results:
        room -= len(to_bytes(hit)) + 1  # and the comma
        if room < 0 and kept:
            break
        kept += 1
    if kept == len(results):
        return dict(answer)
    return {**answer, "results": results[:kept], "omitted": len(results) - kept}
