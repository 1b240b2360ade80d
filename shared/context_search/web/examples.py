"""One example of every body, for the OpenAPI document; ids are those of the first thing made."""

from __future__ import annotations

from collections.abc import Mapping

_QUESTION = "Who counted comets?"
BODY_EXAMPLES: Mapping[str, object] = {
    "BindingBody": {"tool_id": 1},
    "ChangeBindingBody": {"status": False},
    "ChangeMcpBody": {"name": "support"},
    "CreateKeyBody": {"name": "ci", "scopes": ["search"], "expires_in": 7_776_000},
    "CreateMcpBody": {"project_id": 1, "name": "support", "bindings": [{"tool_id": 1}]},
    "CreateMcpKeyBody": {"name": "desk"},
    "CreateProjectBody": {"name": "acme"},
    "CreateSearchToolBody": {
        "project_id": 1,
        "table_id": 1,
        "name": "search_library",
        "json_path": "/letters",
        "search_config": {"chunk_threshold": 1_000},
    },
    "CreateTableBody": {"project_id": 1, "name": "library", "data": {"letters": ["Nine comets."]}},
    "CreateUploadBody": {"format": "json", "size": 20_481_234},
    "ExplainBody": {"query": _QUESTION, "top_k": 3},
    "ProjectExplainBody": {"query": _QUESTION, "strategy": "keyword", "tables": [1]},
    "ProjectSearchBody": {"query": _QUESTION, "strategy": "keyword", "tables": [1]},
    "RedactionBody": {"enabled": True, "kinds": ["email", "key"]},
    "RetrieveBody": {"query": _QUESTION, "maxTokens": 600},
    "RotateKeyBody": {"old_expires_in": 3_600},
    "SearchBody": {"query": _QUESTION, "top_k": 3},
    "SearchConfigBody": {"strategy": "hybrid", "chunk_threshold": 1_000},
    "SettingsBody": {"maxTokens": 3_000, "redaction": {"kinds": ["email", "key"]}},
}
PROBLEM_EXAMPLE: Mapping[str, object] = {
    "type": "about:blank",
    "title": "Not found",
    "status": 404,
    "code": "NOT_FOUND",
    "detail": "there is no such table",
    "retryable": False,
    "requestId": "9f0c2b4e7a0d4c1b8e55f3a2d6c7b801",
}
