"""What a Search Tool takes and gives, as JSON Schema 2020-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from context_search.domain.model import SearchTool
from context_search.domain.progress import IndexStatus
from context_search.domain.search import Hint
from context_search.domain.text.plain_text import without_hidden_characters
from context_search.mcp.contract import ToolDescription

MAX_QUERY_CHARS = 2_000
MAX_TOP_K = 20
DEFAULT_TOP_K = 5
MAX_TITLE_CHARS = 200
MAX_DESCRIPTION_CHARS = 4_000


def _input_schema(top_k: int) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_QUERY_CHARS,
                "description": "What to look for: a question, key words or an exact phrase, "
                "in any language.",
            },
            "top_k": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TOP_K,
                "default": top_k,
                "description": "How many passages to return, best first.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    }


SEARCH_INPUT_SCHEMA: Mapping[str, object] = _input_schema(DEFAULT_TOP_K)

_STRING = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_MODE = {"type": "string", "enum": ["hybrid", "semantic", "keyword"]}

_CHUNK: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "table_id": {"type": "integer"},
        "json_pointer": {
            "type": "string",
            "description": "Where the string is in the table's document (RFC 6901, absolute).",
        },
        "chunk_index": _COUNT,
        "total_chunks": {"type": "integer", "minimum": 1},
        "chunk_text": {"type": "string", "description": "The passage, unchanged."},
        "char_start": {**_COUNT, "description": "First code point of the passage in the string."},
        "char_end": {**_COUNT, "description": "One past its last code point."},
        "content_hash": _STRING,
        "turbopuffer_namespace": _STRING,
        "turbopuffer_doc_id": _STRING,
    },
    "required": [
        "id",
        "table_id",
        "json_pointer",
        "chunk_index",
        "total_chunks",
        "chunk_text",
        "char_start",
        "char_end",
    ],
}

_HIT: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "score": {"type": "number", "description": "Fused rank score; compare within one answer."},
        "relevance": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "Calibrated, comparable between answers; cut thresholds on this.",
        },
        "json_path": {
            "type": "string",
            "description": "json_pointer relative to the tool's scope.",
        },
        "preview": {"type": "string", "description": "The passage's beginning, if so configured."},
        "stale": {"type": "boolean", "description": "The string has changed since it was indexed."},
        "chunk": _CHUNK,
    },
    "required": ["score", "relevance", "json_path", "chunk"],
}

SEARCH_OUTPUT_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "query": _STRING,
        "results": {"type": "array", "items": _HIT, "maxItems": MAX_TOP_K},
        "omitted": {
            "type": "integer",
            "minimum": 1,
            "description": "Hits left out at the end because the result would be too long.",
        },
        "hint": {
            "type": "string",
            "enum": list(get_args(Hint)),
            "description": "Why there are no results. With scope_missing, no_long_strings and "
            "nothing_indexed this tool never has any: tell whoever set it up.",
        },
        "retrieval": {
            "type": "object",
            "properties": {
                "mode_requested": _MODE,
                "mode_used": _MODE,
                "legs": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["vector", "keyword"]},
                },
                "degraded": {
                    "type": "array",
                    "items": _STRING,
                    "description": "Why the answer is not what was asked for; empty if it is.",
                },
                "warning": {
                    "type": "object",
                    "properties": {"code": _STRING, "fallback": {"type": "string", "const": "fts"}},
                    "required": ["code", "fallback"],
                },
            },
            "required": ["mode_requested", "mode_used", "legs", "degraded"],
        },
        "index": {
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": list(get_args(IndexStatus))},
            },
            "required": ["status"],
        },
    },
    "required": ["query", "results", "retrieval", "index"],
}

_READ_ONLY: Mapping[str, object] = {
    "readOnlyHint": True,
    "idempotentHint": True,
    "openWorldHint": False,
}


def search_tool(
    *, name: str, title: str, description: str, table_name: str, top_k: int = DEFAULT_TOP_K
) -> ToolDescription:
    """Describe one Search Tool; ``top_k`` is the number of passages it gives by itself.

    ``description`` is shown as its owner wrote it, braces and all; a blank one is replaced by a
    sentence about the table. ``name``: see ToolDescription.
    """
    default = (
        f"Searches the long texts of “{table_name}” by meaning and by key words and returns the "
        "best passages, each with the exact place it comes from."
    )
    return ToolDescription(
        name=name,
        title=title,
        description=description.strip() or default,
        input_schema=_input_schema(top_k),
        output_schema=SEARCH_OUTPUT_SCHEMA,
        annotations=_READ_ONLY,
    )


def described_tool(name: str, tool: SearchTool) -> ToolDescription:
    """Describe a stored tool; rows of an adopter may be longer and stranger than ours."""
    table_name = tool.table_name or f"table {tool.scope.table_id}"
    return search_tool(
        name=name,
        title=without_hidden_characters(tool.name)[:MAX_TITLE_CHARS],
        description=without_hidden_characters(tool.description or "")[:MAX_DESCRIPTION_CHARS],
        table_name=without_hidden_characters(table_name)[:MAX_TITLE_CHARS],
        top_k=tool.search.top_k,
    )
