"""Each function has what its own routes find; the other tests of this folder serve all routes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import APIRouter, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from context_search.composition.create_tool import CreateToolFunction
from context_search.composition.search import SearchFunction
from context_search.web.app import http_app
from context_search.web.callers import part
from functions.create_tool import app as create_tool
from functions.search import app as search
from tests.web.api import LocalParts

FIND = part("any").dependency.__code__
# Before any test: a function's logger keeps the stream that is there when it loads.
ROUTERS: dict[type, list[APIRouter]] = {
    CreateToolFunction: create_tool.ROUTERS,
    SearchFunction: search.ROUTERS,
}


def finders(dependant: Dependant) -> Iterator[Any]:
    """What finds use cases for a route."""
    if getattr(dependant.call, "__code__", None) is FIND:
        yield dependant.call
    for each in dependant.dependencies:
        yield from finders(each)


@pytest.mark.parametrize("kind", ROUTERS)
def test_a_function_has_every_use_case_that_its_routes_find(kind: type) -> None:
    app = http_app([], kind(LocalParts()))
    request = Request({"type": "http", "app": app})
    routes = [route for router in ROUTERS[kind] for route in router.routes]
    found = [
        find for route in routes if isinstance(route, APIRoute) for find in finders(route.dependant)
    ]
    assert len(found) >= len(routes) / 2
    for find in found:
        assert asyncio.run(find(request)) is not None
