"""The OpenAPI document of the whole HTTP API, whichever function serves a route."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from context_search.wire.http import (
    adopt,
    health,
    keys,
    mcps,
    project_index,
    project_search,
    protected_resource,
    rebuilds,
    retrieval_settings,
    retrieve,
    search,
    tables,
    tools,
    uploads,
)
from context_search.wire.http.app import http_app
from context_search.wire.http.documented import documented


@lru_cache(maxsize=1)
def contract() -> dict[str, Any]:
    """Returns the OpenAPI 3.1 document."""
    modules = [
        health,
        tables,
        uploads,
        tools,
        keys,
        mcps,
        project_index,
        rebuilds,
        adopt,
        retrieval_settings,
        search,
        retrieve,
        project_search,
        protected_resource,
    ]
    return documented(http_app([module.router for module in modules], None).openapi())
