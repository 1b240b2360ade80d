"""Management over HTTP: projects, tables, Search Tools and the state of their indexes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from context_search.access.routes import keys, sign_in, whoami
from context_search.catalog.routes import (
    adopt,
    history_settings,
    judged_sets,
    outline,
    tables,
    tools,
    uploads,
    versions,
)
from context_search.composition.create_tool import CreateToolFunction
from context_search.composition.parts import parts
from context_search.indexing.routes import project_index, rebuilds, search_index, strings
from context_search.maintenance.routes import deployment, health, operations, project_health
from context_search.searching.routes import measures, retrieval_settings
from context_search.web import console
from context_search.web.app import LambdaHandler, counting_requests, http_app, lambda_handler_of
from context_search.web.logs import function_logger
from context_search.web.openapi import contract
from context_search_editing.routes import executing, matches, replacing

logger = function_logger("create-tool")


@lru_cache(maxsize=1)
def _handler() -> LambdaHandler:
    catalog = [tables, outline, uploads, tools, judged_sets, adopt]
    editing = [versions, history_settings, replacing, matches, executing]
    indexing = [search_index, strings, project_index, rebuilds]
    maintenance = [health, operations, project_health, deployment]
    access = [keys, whoami, sign_in, console]
    searching = [measures, retrieval_settings]
    modules = [*catalog, *editing, *indexing, *maintenance, *access, *searching]
    routers, use_cases = [module.router for module in modules], CreateToolFunction(parts())
    app = http_app(routers, use_cases, contract=contract, log=logger)
    return counting_requests(lambda_handler_of(app), parts().clock)


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers one request of API Gateway."""
    return _handler()(event, context)
