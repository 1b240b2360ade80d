"""What a row of turbopuffer looks like."""

from __future__ import annotations

from context_search.domain.config import IndexConfig
from context_search.ports.outside import VectorRow

_FILTERABLE = {"filterable": True}
_STORED = {"filterable": False}
_SCHEMA = {
    "ancestors": {"type": "[]string", **_FILTERABLE},
    "table_id": {"type": "int", **_FILTERABLE},
    "set_id": {"type": "int", **_FILTERABLE},
    "chunk_id": {"type": "int", **_FILTERABLE},
    "updated_at": {"type": "datetime", **_FILTERABLE},
    "json_pointer": {"type": "string", **_STORED},
    "chunk_index": {"type": "int", **_STORED},
    "total_chunks": {"type": "int", **_STORED},
    "content_hash": {"type": "string", **_STORED},
}
# Our own tokens, matched as they are: docs/decisions/0007-keyword-analysis.md.
_CONTENT = {
    "type": "[]string",
    # The default length of 39 would drop longer identifiers and paths without a word.
    "full_text_search": {"tokenizer": "pre_tokenized_array", "max_token_length": 254},
}


def schema_of(config: IndexConfig) -> dict[str, object]:
    """Returns the schema of a namespace. Lean storage has no tokens."""
    every: dict[str, object] = {
        **_SCHEMA,
        "vector": {"type": f"[{config.dimensions}]f32", "ann": True},
    }
    if config.storage == "full":
        every["content"] = _CONTENT
    return every


def columns_of(row: VectorRow) -> dict[str, object]:
    """Returns the columns of a row as it is written."""
    columns: dict[str, object] = {
        "id": row.id,
        "vector": row.vector,
        "ancestors": row.ancestors,
        "table_id": row.table_id,
        "set_id": row.set_id,
        "chunk_id": row.chunk_id,
        "updated_at": row.updated_at,
        "json_pointer": row.json_pointer,
        "chunk_index": row.chunk_index,
        "total_chunks": row.total_chunks,
        "content_hash": row.content_hash,
    }
    if row.tokens is not None:
        columns["content"] = row.tokens
    return columns
