"""The HTTP API: what it logs and how much it may route."""

from __future__ import annotations

import json
import re
from typing import Any

from local.options import ROOT
from local.template import ANY_METHOD, INTEGRATION, INTEGRATIONS, read_template
from tests.deployment.cloudformation import Resources, of_type

# API Gateway's variables that hold no part of the address; MCP keys travel in paths.
LOGGED = {
    *("$context.requestId", "$context.requestTime", "$context.identity.sourceIp"),
    *("$context.routeKey", "$context.status", "$context.responseLength"),
    *("$context.responseLatency", "$context.integrationLatency"),
    *("$context.error.responseType", "$context.integrationErrorMessage"),
}


def test_the_access_log_is_json_and_never_names_a_path(resources: Resources) -> None:
    (stage,) = of_type(resources, "AWS::ApiGatewayV2::Stage").values()
    log_format = stage["AccessLogSettings"]["Format"]
    assert set(re.findall(r"\$context\.[\w.]+", log_format)) == LOGGED
    assert json.loads(log_format)["route"] == "$context.routeKey"


def test_every_integration_sends_payloads_of_version_two_to_an_alias(resources: Resources) -> None:
    integrations = body(resources)["components"][INTEGRATIONS]
    assert {each["payloadFormatVersion"] for each in integrations.values()} == {"2.0"}
    aliases = of_type(resources, "AWS::Lambda::Alias")
    invoked = [each["uri"]["Fn::Sub"][1]["Function"]["Ref"] for each in integrations.values()]
    assert sorted(invoked) == sorted(aliases)


def test_every_route_goes_where_the_local_stack_sends_it(resources: Resources) -> None:
    definition = body(resources)
    routed: dict[str, set[str]] = {}
    for path, operations in definition["paths"].items():
        for method, operation in operations.items():
            name = operation[INTEGRATION]["$ref"].rpartition("/")[2]
            verb = "ANY" if method == ANY_METHOD else method.upper()
            routed.setdefault(name, set()).add(f"{verb} {path}")
    functions = read_template(ROOT / "template.yaml").functions
    local = {spec.code.name: {route.key for route in spec.routes} for spec in functions}
    assert routed == {name: routes for name, routes in local.items() if routes}
    assert definition["components"][INTEGRATIONS].keys() == routed.keys()


def test_what_has_no_route_starts_no_function(resources: Resources) -> None:
    """``$default`` would, and a greedy variable."""
    paths = body(resources)["paths"]
    assert [path for path in paths if "$" in path or "+" in path] == []


def test_one_permission_of_a_function_is_for_all_its_routes(resources: Resources) -> None:
    """One for each route would fill the 20 KB of a function's resource policy."""
    permissions = of_type(resources, "AWS::Lambda::Permission").values()
    aliases = of_type(resources, "AWS::Lambda::Alias")
    permitted = [permission["FunctionName"]["Ref"] for permission in permissions]
    assert sorted(permitted) == sorted(aliases)
    for permission in permissions:
        assert permission["Principal"] == "apigateway.amazonaws.com"
        assert permission["SourceArn"]["Fn::Sub"].endswith(":${HttpApi}/*")


def body(resources: Resources) -> dict[str, Any]:
    definition: dict[str, Any] = resources["HttpApi"]["Properties"]["Body"]
    return definition
