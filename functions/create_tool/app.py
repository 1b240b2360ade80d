"""Management over HTTP: projects, tables, Search Tools and the state of their indexes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import context_search_editing
from context_search import access, catalog, indexing, maintenance
from context_search.composition.create_tool import CreateToolFunction
from context_search.composition.parts import parts
from context_search.searching.routes import measures, retrieval_settings
from context_search.web import console
from context_search.web.app import LambdaHandler, counting_requests, http_app, lambda_handler_of
from context_search.web.logs import function_logger
from context_search.web.openapi import contract
from context_search.web.routers import routers_of

logger = function_logger("create-tool")

FEATURES = [access, catalog, indexing, maintenance, context_search_editing]
_OTHERS = [measures, retrieval_settings, console]
ROUTERS = [*routers_of(FEATURES), *(module.router for module in _OTHERS)]


@lru_cache(maxsize=1)
def _handler() -> LambdaHandler:
    app = http_app(ROUTERS, CreateToolFunction(parts()), contract=contract, log=logger)
    return counting_requests(lambda_handler_of(app), parts().clock)


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers one request of API Gateway."""
    return _handler()(event, context)
