"""The shapes of answers, the same over HTTP and MCP."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from context_search.domain.model import HydratedChunk, Table
from context_search.domain.search import Answer, Degradation, Hit
from context_search.services.indexing.status import ToolStatus, shown_error, summary


def search_answer(
    answer: Answer, hits: Sequence[Hit] | None = None, *, with_hints: bool = False
) -> dict[str, object]:
    """Returns the body of a search, design: ``{query, results, retrieval, index}``.

    ``hits`` None are all of the answer. Hints tell a person's program where to read on; an
    agent's result has none.
    """
    shown = answer.hits if hits is None else hits
    results = [_result(hit, answer) for hit in shown]
    if with_hints:
        for hit, result in zip(shown, results, strict=True):
            result["context_hint"] = context_hint(hit.chunk)
    body: dict[str, object] = {
        "query": answer.query,
        "results": results,
        "retrieval": retrieval(answer),
        "index": {"status": answer.target.status},
    }
    if answer.hint is not None:
        body["hint"] = answer.hint
    return body


def retrieval(answer: Answer) -> dict[str, object]:
    """Returns how an answer was found; with a ``warning`` when keywords stand in for meaning."""
    said: dict[str, object] = {
        "mode_requested": answer.mode_requested,
        "mode_used": answer.mode_used,
        "legs": list(answer.found.legs),
        "degraded": list(answer.degraded),
    }
    code = next((_WARNINGS[name] for name in answer.degraded if name in _WARNINGS), None)
    if code is not None:
        said["warning"] = {"code": code, "fallback": "fts"}
    return said


_WARNINGS: Mapping[Degradation, str] = {
    "embed_timeout": "SEARCH_TIMEOUT",
    "embed_unavailable": "EMBEDDING_UNAVAILABLE",
    "backend_unavailable": "VECTOR_STORE_UNAVAILABLE",
    "backend_busy": "VECTOR_STORE_UNAVAILABLE",
    "namespace_missing": "NAMESPACE_MISSING",
}


def _result(hit: Hit, answer: Answer) -> dict[str, object]:
    result: dict[str, object] = {
        "score": round(hit.score, 6),
        "relevance": round(hit.relevance, 4),
        "json_path": hit.json_path,
        "chunk": chunk_answer(hit.chunk, with_metadata=answer.target.search.include_metadata),
    }
    if hit.chunk.stale:
        result["stale"] = True
    if answer.target.search.max_chunk_preview is not None:
        result["preview"] = hit.chunk.chunk_text[: answer.target.search.max_chunk_preview]
    return result


def context_hint(chunk: HydratedChunk) -> str:
    """Returns which piece of its string a chunk is, and how to read all of it, in Chinese."""
    pointer = json.dumps(chunk.json_pointer, ensure_ascii=False)
    return (
        f"这是第 {chunk.chunk_index + 1}/{chunk.total_chunks} 段内容。如需查看完整内容，"
        f"请使用 get_all_data 工具，参数: table_id={chunk.table_id}, json_pointer={pointer}"
    )


_METADATA = ("content_hash", "turbopuffer_namespace", "turbopuffer_doc_id")


def chunk_answer(chunk: HydratedChunk, *, with_metadata: bool) -> dict[str, object]:
    """Returns a chunk; metadata are its hash and where it is stored."""
    shown = asdict(chunk)
    del shown["changed_at"], shown["stale"]
    if not with_metadata:
        for name in _METADATA:
            del shown[name]
    return shown


def table_answer(table: Table) -> dict[str, object]:
    """Returns a table without its document."""
    return {**asdict(table), "updated_at": _time(table.updated_at)}


def created_tool_answer(status: ToolStatus) -> dict[str, object]:
    """Returns the answer of ``POST /tools/search``; counts are null until they are known."""
    is_ready = status.progress.status == "ready"
    return {
        "tool_id": status.tool.id,
        "name": status.tool.name,
        "status": status.progress.status,
        "chunks_created": status.progress.chunks_count if is_ready else None,
        "namespace": status.index.namespace,
        "large_nodes_detected": [
            {
                "json_pointer": node.json_pointer,
                "char_count": node.char_count,
                "chunks_count": node.chunks_count,
            }
            for node in status.nodes
        ],
        **_empty(status),
    }


def _empty(status: ToolStatus) -> dict[str, object]:
    """Why nothing will be found, and how long the longest string is where that is known."""
    if status.empty is None:
        return {}
    longest = status.empty.longest
    measured = {} if longest is None else {"longest_string": longest}
    return {"hint": status.empty.hint, **measured}


def tool_answer(status: ToolStatus) -> dict[str, object]:
    """Returns a Search Tool with the summary of its index."""
    tool = status.tool
    return {
        "id": tool.id,
        "project_id": tool.project_id,
        "table_id": tool.scope.table_id,
        "type": "search",
        "name": tool.name,
        "description": tool.description,
        "json_path": tool.scope.json_pointer,
        "search_config": _settings(status),
        "metadata": {"search_index": summary(status.progress, tool.created_at)},
        "created_at": _time(tool.created_at),
    }


def _settings(status: ToolStatus) -> dict[str, object]:
    """Returns every setting that a create takes, as ``SearchConfigBody`` names them."""
    index = status.index.config
    return {
        **asdict(status.tool.search),
        "storage": index.storage,
        "chunk_threshold": index.threshold,
        "chunk_size": index.chunk_size,
        "chunk_overlap": index.chunk_overlap,
    }


def search_index_answer(status: ToolStatus) -> dict[str, object]:
    """Returns the state of a tool's index: counters, errors, and what is not indexed."""
    return {
        "tool_id": status.tool.id,
        "namespace": status.index.namespace,
        **summary(status.progress, status.tool.created_at),
        "nodes": status.progress.states,
        "integrity": status.integrity,
        "next_attempt_at": _time(status.progress.next_attempt_at),
        "not_indexed_count": status.progress.nodes_count - status.progress.states.get("indexed", 0),
        "not_indexed": [
            {
                "json_pointer": node.json_pointer,
                "char_count": node.char_count,
                "state": node.state,
                "attempts": node.attempts,
                "next_attempt_at": _time(node.next_attempt_at),
                "last_error": shown_error(node.last_error),
            }
            for node in status.not_indexed
        ],
        **_empty(status),
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
