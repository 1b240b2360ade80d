"""The shapes of answers, the same over HTTP and MCP."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from context_search.domain.model import HydratedChunk, Table
from context_search.services.searching.ranking import Hit
from context_search.services.searching.search_tool import Answer
from context_search.services.status import ToolStatus, shown_error, summary


def search_answer(answer: Answer) -> dict[str, object]:
    """Returns the body of a search, design: ``{query, results, retrieval, index}``."""
    return {
        "query": answer.query,
        "results": [_result(hit, answer) for hit in answer.hits],
        "retrieval": {
            "mode_requested": answer.mode_requested,
            "mode_used": answer.mode_used,
            "legs": answer.legs,
            "degraded": answer.degraded,
        },
        "index": {"status": answer.index_status},
    }


def _result(hit: Hit, answer: Answer) -> dict[str, object]:
    result: dict[str, object] = {
        "score": round(hit.score, 6),
        "relevance": round(hit.relevance, 4),
        "json_path": hit.json_path,
        "chunk": _chunk(hit.chunk, with_metadata=answer.include_metadata),
    }
    if hit.chunk.stale:
        result["stale"] = True
    if answer.max_chunk_preview is not None:
        result["preview"] = hit.chunk.chunk_text[: answer.max_chunk_preview]
    return result


_METADATA = ("content_hash", "turbopuffer_namespace", "turbopuffer_doc_id")


def _chunk(chunk: HydratedChunk, *, with_metadata: bool) -> dict[str, object]:
    shown = asdict(chunk)
    del shown["changed_at"], shown["stale"]
    if not with_metadata:
        for name in _METADATA:
            del shown[name]
    return shown


def table_answer(table: Table) -> dict[str, object]:
    """Returns a table without its document."""
    return {**asdict(table), "updated_at": table.updated_at.isoformat()}


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
    }


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
        "search_config": asdict(tool.search),
        "metadata": {"search_index": summary(status.progress, tool.created_at)},
        "created_at": tool.created_at.isoformat(),
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
    }


def _time(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
