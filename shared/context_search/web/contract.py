"""The OpenAPI document of the whole HTTP API, whichever function serves a route."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from context_search.web.app import http_app
from context_search.web.documented import documented
from context_search.web.routes import health
from context_search.web.routes.access import keys, mcps, protected_resource
from context_search.web.routes.catalog import adopt, tables, tools, uploads
from context_search.web.routes.indexing import project_index
from context_search.web.routes.searching import project_search, retrieval_settings, retrieve, search
from context_search.web.routes.upkeep import rebuilds


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
