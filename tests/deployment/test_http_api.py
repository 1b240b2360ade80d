"""The HTTP API: what it logs and how much it may route."""

from __future__ import annotations

import json
import re
from collections import Counter

from tests.deployment.cloudformation import Resources, of_type

# API Gateway's variables that hold no part of the address; MCP keys travel in paths.
LOGGED = {
    "$context.requestId",
    "$context.requestTime",
    "$context.routeKey",
    "$context.status",
    "$context.responseLength",
    "$context.responseLatency",
    "$context.integrationLatency",
    "$context.error.responseType",
    "$context.integrationErrorMessage",
}
# A function's resource policy ends at 20 KB and SAM writes about 480 bytes per route into it.
ROUTES_OF_A_FUNCTION = 40


def test_the_access_log_is_json_and_never_names_a_path(resources: Resources) -> None:
    (stage,) = of_type(resources, "AWS::ApiGatewayV2::Stage").values()
    log_format = stage["AccessLogSettings"]["Format"]
    assert set(re.findall(r"\$context\.[\w.]+", log_format)) == LOGGED
    assert json.loads(log_format)["route"] == "$context.routeKey"


def test_every_route_sends_payloads_of_version_two(resources: Resources) -> None:
    body = resources["HttpApi"]["Properties"]["Body"]
    versions = {
        operation["x-amazon-apigateway-integration"]["payloadFormatVersion"]
        for operations in body["paths"].values()
        for operation in operations.values()
    }
    assert versions == {"2.0"}


def test_no_function_has_more_routes_than_its_policy_holds(resources: Resources) -> None:
    permissions = of_type(resources, "AWS::Lambda::Permission").values()
    routes = Counter(permission["FunctionName"]["Ref"] for permission in permissions)
    assert max(routes.values()) <= ROUTES_OF_A_FUNCTION
