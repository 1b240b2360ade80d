"""Results of MCP tools: their schemas, and what of them fits into an agent's context."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from context_search.core.cites import Cite
from context_search.mcp.jsonrpc import to_bytes

if TYPE_CHECKING:
    from context_search.text.redaction import Excerpt

_NOT_SHOWN = {"title", "default"}


def flat_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the JSON Schema of what a model gives, with every part in its place."""
    schema = model.model_json_schema(mode="serialization")
    return _flat(schema, schema.pop("$defs", {}))


def _flat(part: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    flat = {key: value for key, value in part.items() if key not in _NOT_SHOWN}
    if "$ref" in flat:
        flat = {**_flat(parts[flat.pop("$ref").rpartition("/")[2]], parts), **flat}
    elif "properties" in flat:
        flat.pop("description", None)
        members = flat["properties"].items()
        flat["properties"] = {name: _flat(member, parts) for name, member in members}
    if "items" in flat:
        flat["items"] = _flat(flat["items"], parts)
    return flat


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


def trimmed(
    answer: Mapping[str, Any], *names: str, limit: int = MAX_RESULT_BYTES
) -> dict[str, Any]:
    """Returns an answer without the last members of its lists that do not fit into ``limit`` bytes.

    The lists by those names are cut in that order, each only where that before is empty already.
    """
    cut = dict(answer)
    for name in names:
        if len(to_bytes(cut)) <= limit:
            break
        if isinstance(cut[name], list):
            cut[name] = _fitting(cut, name, limit)
    return cut


def _fitting(answer: Mapping[str, Any], name: str, limit: int) -> list[Any]:
    rows: list[Any] = answer[name]

    def size(count: int) -> int:
        return len(to_bytes({**answer, name: rows[:count]}))

    return rows[: max(bisect_right(range(len(rows) + 1), limit, key=size) - 1, 0)]


def _shortened(hit: Mapping[str, Any], room: int) -> Mapping[str, Any]:
    """A hit whose passage is as long as it may be; without its preview if that does not fit."""
    if len(to_bytes(hit)) < room:
        return hit
    text, start = hit["chunk"]["chunk_text"], hit["chunk"]["char_start"]
    cite = Cite.parse(hit["cite"])

    def cut(length: int) -> dict[str, Any]:
        passage = {"chunk_text": text[:length], "char_end": start + length}
        bare = {name: value for name, value in hit.items() if name != "preview"}
        chunk = {**hit["chunk"], **passage}
        return {**bare, "cite": str(cite.beginning(text[:length])), "chunk": chunk}

    fits = bisect_right(range(len(text) + 1), room - 1, key=lambda n: len(to_bytes(cut(n))))
    return cut(max(fits - 1, 0))


def fitted_and_redacted(
    answer: Mapping[str, Any], excerpts: Mapping[int, Excerpt]
) -> dict[str, Any]:
    """Returns what ``fitted`` does, with placeholders in the texts of hits, and no digests.

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
    cite = str(Cite.parse(hit["cite"]).shown_as(text))
    shown = {name: value for name, value in chunk.items() if name != "content_hash"}
    redacted = {**hit, "cite": cite, "chunk": {**shown, "chunk_text": text}}
    if "preview" in hit:
        redacted["preview"] = excerpt.show(start, start + len(hit["preview"])).text
    return redacted
