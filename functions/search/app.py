"""Search over HTTP and MCP, and the MCP instances that agents connect to."""

from __future__ import annotations

import gc
from functools import lru_cache
from typing import Any

from context_search import agents, reading
from context_search.agents.routes import mcps
from context_search.composition.parts import parts
from context_search.composition.search import SearchFunction
from context_search.searching.routes import explain, project_search, retrieve, search
from context_search.web.app import LambdaHandler, counting_requests, http_app, lambda_handler_of
from context_search.web.logs import function_logger
from context_search.web.metrics import SEARCH, emit_billed
from context_search.web.routers import routers_of

logger = function_logger("search")
# A search makes thousands of objects and leaves few. To look through them each 2,000, as Python
# does, took up to 6 % of its CPU.
gc.set_threshold(20_000, 10, 10)

_SEARCHES = [search, explain, retrieve, project_search]
ROUTERS = [*(module.router for module in _SEARCHES), *routers_of([agents, reading])]


@lru_cache(maxsize=1)
def _handler() -> LambdaHandler:
    app = http_app(ROUTERS, SearchFunction(parts()), log=logger)
    # Searches have metrics of their own.
    return counting_requests(lambda_handler_of(app), parts().clock, [mcps.router])


@logger.inject_lambda_context(clear_state=True)
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answers one request of API Gateway."""
    handler, meter = _handler(), parts().meter
    try:
        return handler(event, context)
    finally:
        emit_billed(SEARCH, meter.take())
