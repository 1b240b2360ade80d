"""What a document of turbopuffer looks like."""

from __future__ import annotations

from context_search.domain.config import IndexConfig
from context_search.ports.outside import VectorDocument

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


def row_of(document: VectorDocument) -> dict[str, object]:
    """Returns a document as it is written."""
    columns: dict[str, object] = {
        "id": document.id,
        "vector": document.vector,
        "ancestors": document.ancestors,
        "table_id": document.table_id,
        "set_id": document.set_id,
        "chunk_id": document.chunk_id,
        "updated_at": document.updated_at,
        "json_pointer": document.json_pointer,
        "chunk_index": document.chunk_index,
        "total_chunks": document.total_chunks,
        "content_hash": document.content_hash,
    }
    if document.tokens is not None:
        columns["content"] = document.tokens
    return columns
