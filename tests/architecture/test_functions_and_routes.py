"""The template, the function folders, the routers, the events and the documents agree."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

import pytest

from context_search.composition.index_node import IndexNodeFunction
from context_search.core.messages import IndexNodes, read_message
from context_search.web.openapi import every_router
from scripts.template_routes import FUNCTIONS, TEMPLATE, served_routes, with_routes
from tests.architecture.project import ROOT, functions, template_routes, triggers
from tests.web.api import LocalParts

API_DOCUMENT = ROOT / "docs" / "api.md"


def event(name: str) -> dict[str, Any]:
    """One of the recorded events."""
    loaded: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text())
    return loaded


def test_every_function_folder_is_a_function_of_the_template() -> None:
    folders = {path.parent.name for path in (ROOT / "functions").glob("*/app.py")}
    assert folders == functions().keys()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_template_routes_to_a_function_exactly_what_it_serves(function: str) -> None:
    assert template_routes(function) == {*served_routes(function)}, "make docs"


def test_only_the_http_functions_have_routes() -> None:
    assert [name for name in functions() if template_routes(name)] == [*FUNCTIONS]


def test_the_routes_of_the_template_are_written_as_they_are_served() -> None:
    template = TEMPLATE.read_text("utf-8")
    assert template == with_routes(template), "make docs"
    # A blank line does not keep what stands behind it.
    parted = template.replace("          /healthz:", "\n          /healthz:")
    assert with_routes(parted) == template


def test_every_router_is_one_of_a_function() -> None:
    served = [*import_module("functions.create_tool.app").ROUTERS]
    served += import_module("functions.search.app").ROUTERS
    assert sorted(map(id, served)) == sorted(map(id, every_router()))


def test_every_kind_of_trigger_has_a_recorded_event() -> None:
    names = {path.stem for path in (ROOT / "events").glob("*.json")}
    assert names == {*functions(), "mcp"}


@pytest.mark.parametrize(
    ("name", "function"), [("create_tool", "create_tool"), ("search", "search"), ("mcp", "search")]
)
def test_a_recorded_request_takes_a_route_of_its_function(name: str, function: str) -> None:
    request = event(name)
    method, template_path = request["routeKey"].split()
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", template_path)
    matched = re.fullmatch(pattern, request["rawPath"])
    assert (method, template_path) in template_routes(function)
    assert matched is not None
    assert matched.groupdict() == request.get("pathParameters", {})


def test_the_recorded_message_is_an_order_to_index_a_node() -> None:
    (record,) = event("index_node")["Records"]
    assert read_message(record["body"]) == (IndexNodes((1,)), 1)


def test_a_worker_makes_no_client_of_s3_before_it_imports_an_upload() -> None:
    parts = LocalParts()
    assert IndexNodeFunction(parts).worker
    assert "objects" not in vars(parts)


def test_the_recorded_schedule_has_the_fields_that_the_template_sends() -> None:
    (schedule,) = triggers("cleanup", "ScheduleV2")
    assert event("cleanup").keys() == json.loads(schedule["Input"]).keys()


def test_the_api_document_names_every_route_and_no_other() -> None:
    pattern = r"\b(GET|POST|PUT|PATCH|DELETE|ANY) (/[^\s`?|]*)"
    written = set(re.findall(pattern, API_DOCUMENT.read_text()))
    assert written == set().union(*(template_routes(name) for name in functions()))
