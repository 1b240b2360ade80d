"""Which route answers what: the name of a schema by path and method; 204 has no body."""

from __future__ import annotations

from collections.abc import Mapping

from context_search.web.routes.access.protected_resource import MCP, WELL_KNOWN

_TOOL = "/api/v1/tools/{tool_id}"
_PROJECT = "/api/v1/projects/{project_id}"
_TABLE = "/api/v1/tables/{table_id}"
_MCP = "/api/v1/mcps/{mcp_id}"
_OPERATED_TOOL = "/internal/tools/{tool_id}"
_OPERATED_PROJECT = "/internal/projects/{project_id}/search-index"
DRY_RUN = f"{_OPERATED_TOOL}/chunks/rebuild"
"""The one route with two kinds of answers: 202 ``Generation``, and 200 ``Estimate``."""

ANSWERS: Mapping[str, Mapping[str, str]] = {
    "/healthz": {"get": "Health"},
    "/readyz": {"get": "Health"},
    WELL_KNOWN: {"get": "ProtectedResource"},
    f"{WELL_KNOWN}{MCP}": {"get": "ProtectedResource"},
    "/api/v1/projects": {"post": "NewProject"},
    "/api/v1/tables": {"post": "Table"},
    _TABLE: {"get": "Table"},
    f"{_TABLE}/data": {"get": "Document", "put": "Table", "patch": "Table", "delete": "Table"},
    f"{_TABLE}/uploads": {"post": "NewUpload"},
    f"{_TABLE}/uploads/{{upload_id}}": {"get": "Upload"},
    f"{_TABLE}/uploads/{{upload_id}}/complete": {"post": "Upload"},
    "/api/v1/tools/search": {"post": "NewSearchTool"},
    _TOOL: {"get": "SearchTool"},
    f"{_TOOL}/search-index": {"get": "SearchIndex"},
    f"{_TOOL}/search": {"post": "SearchAnswer"},
    f"{_TOOL}/search/explain": {"post": "ExplainedAnswer"},
    f"{_TOOL}/retrieve": {"post": "RetrieveAnswer"},
    f"{_PROJECT}/search": {"post": "ProjectSearchAnswer"},
    f"{_PROJECT}/search/explain": {"post": "ExplainedProjectAnswer"},
    f"{_PROJECT}/retrieve": {"post": "RetrieveAnswer"},
    f"{_PROJECT}/retrieval-settings": {"get": "RetrievalSettings", "patch": "RetrievalSettings"},
    f"{_PROJECT}/search-index": {"post": "ProjectIndex", "get": "ProjectIndex"},
    f"{_PROJECT}/reindex": {"post": "Generations"},
    f"{_PROJECT}/keys": {"post": "NewKey", "get": "Keys"},
    f"{_PROJECT}/keys/{{key_id}}/rotate": {"post": "NewKey"},
    "/api/v1/mcps": {"post": "NewMcp", "get": "Mcps"},
    _MCP: {"get": "Mcp", "patch": "Mcp"},
    f"{_MCP}/bindings": {"post": "Binding", "get": "Bindings"},
    f"{_MCP}/bindings/{{tool_id}}": {"patch": "Binding"},
    f"{_MCP}/keys": {"post": "NewKey", "get": "Keys"},
    f"{_MCP}/keys/{{key_id}}/rotate": {"post": "NewKey"},
    "/internal/mcp-v2/{api_key}": {"get": "McpRpc"},
    f"{_OPERATED_TOOL}/search": {"post": "SearchAnswer"},
    f"{_OPERATED_TOOL}/retrieve": {"post": "RetrieveAnswer"},
    f"{_OPERATED_TOOL}/chunks/stats": {"get": "SearchIndex"},
    f"{_OPERATED_TOOL}/chunks/rollback": {"post": "Generation"},
    f"{_OPERATED_TOOL}/chunks": {"delete": "EmptiedIndex"},
    DRY_RUN: {"post": "Generation"},
    f"{_OPERATED_PROJECT}/rebuild": {"post": "Generation"},
    f"{_OPERATED_PROJECT}/rollback": {"post": "Generation"},
    "/internal/projects/{project_id}/adopt": {"post": "Adoption"},
    "/internal/integrity": {"get": "Integrity"},
    "/internal/index/redrive": {"post": "Redriven"},
}
