"""The schemas of what routes answer, by name; `ANSWERS` says which route answers what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from context_search.domain.config import Fusion, Storage, Strategy
from context_search.domain.progress import IndexStatus
from context_search.domain.search import EmptyHint
from context_search.domain.text.sensitive import SENSITIVE_KINDS
from context_search.web.catalog_schemas import CATALOG_SCHEMAS
from context_search.web.search_schemas import SEARCH_SCHEMAS, SETTINGS_NUMBERS
from context_search.web.shapes import (
    COUNT,
    FREE,
    ID,
    NUMBER,
    SHARE,
    TEXT,
    TIME,
    TRUTH,
    Schema,
    many,
    maybe,
    obj,
    one_of,
    ref,
)

_ERROR = maybe(obj(code=TEXT, message=TEXT, retryable=TRUTH, at=TIME))
_STATUS = one_of(*get_args(IndexStatus))
_INTEGRITY = obj(
    namespace=TEXT, at=TIME, checked=COUNT, missing=COUNT, orphans=COUNT, repaired=COUNT
)
_EMPTY = {"hint": one_of(*get_args(EmptyHint)), "longest_string": COUNT}
_STATES = {"type": "object", "additionalProperties": COUNT}
_COUNTERS = {
    "nodes_count": COUNT,
    "chunks_count": COUNT,
    "indexed_chunks_count": COUNT,
    "last_error": _ERROR,
}
_SUMMARY = {"status": _STATUS, "configured_at": maybe(TIME), "indexed_at": maybe(TIME), **_COUNTERS}
_NODE = obj(
    json_pointer=TEXT,
    char_count=COUNT,
    state=one_of("queued", "claimed", "indexed", "quarantined", "skipped"),
    attempts=COUNT,
    next_attempt_at=maybe(TIME),
    last_error=_ERROR,
)
_SCOPE = one_of("search", "manage", "replace")
_KEY = {
    "id": ID,
    "name": maybe(TEXT),
    "prefix": TEXT,
    "scopes": many(_SCOPE),
    "created_at": TIME,
    "expires_at": maybe(TIME),
    "last_used_at": maybe(TIME),
    "revoked_at": maybe(TIME),
}
_MCP = {"id": ID, "project_id": ID, "name": TEXT, "status": TRUTH, "created_at": TIME}
_BINDING = {"id": ID, "tool_id": ID, "status": TRUTH, "name": TEXT, "title": TEXT, "table_id": ID}
_CONFIG = obj(
    top_k=ID,
    strategy=one_of(*get_args(Strategy)),
    fusion=one_of(*get_args(Fusion)),
    vector_weight=SHARE,
    bm25_weight=SHARE,
    recency_weight=SHARE,
    include_metadata=TRUTH,
    max_chunk_preview=maybe(ID),
    storage=one_of(*get_args(Storage)),
    chunk_threshold=ID,
    chunk_size=ID,
    chunk_overlap=COUNT,
)
_RPC_MCP = obj(id=ID, api_key=TEXT, user_id=TEXT, project_id=ID, name=TEXT, status=TRUTH)
_RPC_TOOL = obj(
    user_id=TEXT,
    id=ID,
    project_id=ID,
    name=TEXT,
    title=TEXT,
    alias=maybe(TEXT),
    type=one_of("search"),
    table_id=ID,
    json_path=TEXT,
    description=TEXT,
    input_schema=FREE,
    output_schema=FREE,
    metadata=maybe({"type": "object"}),
    created_at=maybe(TIME),
)


def _page(name: str, row: str) -> Schema:
    return obj(**{name: many(ref(row)), "cursor": maybe({"type": "string", "pattern": "^[0-9]+$"})})


SCHEMAS: Mapping[str, Schema] = {
    **CATALOG_SCHEMAS,
    **SEARCH_SCHEMAS,
    "Health": obj(status=one_of("ok", "ready")),
    "ProtectedResource": obj(
        resource=TEXT,
        authorization_servers=many(TEXT),
        scopes_supported=many(_SCOPE),
        bearer_methods_supported=many(one_of("header")),
    ),
    "NewSearchTool": obj(
        _EMPTY,
        tool_id=ID,
        name=TEXT,
        status=_STATUS,
        chunks_created=maybe(COUNT),
        namespace=TEXT,
        large_nodes_detected=many(
            obj(json_pointer=TEXT, char_count=COUNT, chunks_count=maybe(COUNT))
        ),
    ),
    "SearchTool": obj(
        id=ID,
        project_id=ID,
        table_id=ID,
        type=one_of("search"),
        name=TEXT,
        description=maybe(TEXT),
        json_path=TEXT,
        search_config=_CONFIG,
        metadata=obj(search_index=obj(**_SUMMARY)),
        created_at=maybe(TIME),
    ),
    "SearchIndex": obj(
        _EMPTY,
        tool_id=ID,
        namespace=TEXT,
        **_SUMMARY,
        nodes=_STATES,
        integrity=maybe(_INTEGRITY),
        next_attempt_at=maybe(TIME),
        not_indexed_count=COUNT,
        not_indexed=many(_NODE),
    ),
    "ProjectIndex": obj(
        project_id=ID,
        namespace=TEXT,
        status=_STATUS,
        indexed_at=maybe(TIME),
        **_COUNTERS,
        refused=many(obj(table_id=ID, code=TEXT, message=TEXT, retryable=TRUTH, at=TIME)),
        nodes=_STATES,
        integrity=maybe(_INTEGRITY),
    ),
    "Key": obj(**_KEY),
    "NewKey": obj(**_KEY, api_key=TEXT),
    "Keys": _page("keys", "Key"),
    "Mcp": obj(**_MCP),
    "NewMcp": obj(**_MCP, tool_ids=many(ID), api_key=TEXT),
    "Mcps": _page("mcps", "Mcp"),
    "Binding": obj(**_BINDING),
    "Bindings": _page("bindings", "Binding"),
    "McpRpc": obj(
        mcp_v2=_RPC_MCP, bound_tools=many(obj(tool=_RPC_TOOL, binding=obj(id=ID, status=TRUTH)))
    ),
    "Generation": obj(
        index_id=ID,
        generation=ID,
        namespace=TEXT,
        state=one_of("queued", "building", "active", "previous", "retired"),
    ),
    "Generations": obj(generations=many(ref("Generation"))),
    "Estimate": obj(nodes=COUNT, chunks=COUNT, tokens=COUNT, cost=maybe(NUMBER), seconds=COUNT),
    "EmptiedIndex": obj(index_id=ID, namespace=TEXT, chunks=COUNT, tools=many(ID)),
    "Integrity": obj(namespaces=many(_INTEGRITY)),
    "Redriven": obj(messages=COUNT, nodes=COUNT),
    "RetrievalSettings": obj(
        project_id=ID,
        version=COUNT,
        **SETTINGS_NUMBERS,
        redaction=obj(enabled=TRUTH, kinds=many(one_of(*SENSITIVE_KINDS))),
    ),
}
