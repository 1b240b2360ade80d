"""``python -m local.aws FD DECISIONS PYTHON RUNTIME``: MiniStack for ``sam deploy``.

FD is a socket that the parent has bound. It runs in ``.venv-deploy``, with IAM enforced, and is
corrected here where it differs from AWS: the product is not changed for it. Every decision of IAM
about a role becomes a line of the file DECISIONS: ``{"role", "action", "resource", "allowed"}``.
Functions run on the interpreter PYTHON with what the folder RUNTIME holds beside their layers:
boto3, as on Lambda.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

from ministack import app as ministack
from ministack.core import iam_evaluator, lambda_runtime
from ministack.services import apigateway
from ministack.services.cloudformation import provisioners

from local.loopback_only import loopback_only
from local.ministack import serve_on
from local.template import ANY_METHOD, INTEGRATION, INTEGRATIONS

Properties = dict[str, Any]

# AWS asks for the rights to the single calls.
_BATCHES = {
    f"sqs:{name}Batch": f"sqs:{name}"
    for name in ("SendMessage", "DeleteMessage", "ChangeMessageVisibility")
}


def record_decisions(file: Path) -> None:
    """Writes down what IAM decides about roles; what the account itself does is not asked."""
    enforce = iam_evaluator.enforce

    def enforce_and_tell(
        access_key: str,
        action: str,
        service: str,
        region: str,
        resource_arn: str = "*",
        **more: Any,
    ) -> Any:
        action = _BATCHES.get(action, action)
        denied = enforce(access_key, action, service, region, resource_arn, **more)
        who = (iam_evaluator.resolve_caller_identity(access_key) or {}).get("userArn", "")
        if ":assumed-role/" in who:
            decision = {
                "role": who.split("/")[1],
                "action": action,
                "resource": resource_arn,
                "allowed": denied is None,
            }
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(decision) + "\n")
        return denied

    iam_evaluator.enforce = enforce_and_tell


def add_routes(api_id: str, definition: Properties) -> None:
    """Gives an HTTP API the routes and integrations of its OpenAPI ``Body``."""
    integrations = {
        name: {"integrationId": name, **_integration(wanted)}
        for name, wanted in definition.get("components", {}).get(INTEGRATIONS, {}).items()
    }
    routes: Properties = {}
    for path, operations in definition.get("paths", {}).items():
        for method, operation in operations.items():
            verb = "ANY" if method == ANY_METHOD else method.upper()
            target = operation[INTEGRATION]["$ref"].rpartition("/")[2]
            route = {"RouteKey": f"{verb} {path}", "Target": f"integrations/{target}"}
            name = uuid.uuid4().hex[:8]
            routes[name] = {"routeId": name, **provisioners._apigw_v2_route_props(route)}
    apigateway._integrations[api_id] = integrations
    apigateway._routes[api_id] = routes


def _integration(wanted: Properties) -> Properties:
    made: Properties = provisioners._apigw_v2_integration_props(
        {
            "IntegrationType": wanted["type"],
            "IntegrationUri": wanted["uri"],
            "PayloadFormatVersion": wanted["payloadFormatVersion"],
        }
    )
    return made


def _with_routes(make: Callable[..., Any]) -> Callable[..., Any]:
    """The API's create or update, which leave ``Body`` out."""

    def make_with_routes(*arguments: Any, **named: Any) -> Any:
        made = make(*arguments, **named)
        properties = arguments[2] if make is provisioners._apigw_v2_api_update else arguments[1]
        add_routes(made[0], properties.get("Body", {}))
        return made

    return make_with_routes


def _with_numbers(make: Callable[..., Any]) -> Callable[..., Any]:
    """A mapping's create or update, which leave a parameter's value a text."""

    def make_with_numbers(*arguments: Any, **named: Any) -> Any:
        for properties in arguments:
            if isinstance(properties, dict) and (scaling := properties.get("ScalingConfig")):
                scaling["MaximumConcurrency"] = int(scaling["MaximumConcurrency"])
        return make(*arguments, **named)

    return make_with_numbers


def _without_metric_math(make: Callable[..., Any]) -> Callable[..., Any]:
    """An alarm's create or update, which know no expressions: the first metric stands for one."""

    def make_of_one_metric(*arguments: Any, **named: Any) -> Any:
        return make(*map(_of_one_metric, arguments), **named)

    return make_of_one_metric


def _of_one_metric(argument: Any) -> Any:
    if not (isinstance(argument, dict) and "Metrics" in argument):
        return argument
    stats = [each["MetricStat"] for each in argument["Metrics"] if "MetricStat" in each]
    metric = {**stats[0]["Metric"], "Statistic": stats[0]["Stat"], "Period": stats[0]["Period"]}
    return {name: value for name, value in argument.items() if name != "Metrics"} | metric


def _name_only(logical_id: str, _: Properties, stack: str) -> tuple[str, Properties]:
    return f"{stack}-{logical_id}", {}


def _keep(physical_id: str, *_: object) -> tuple[str, Properties]:
    return physical_id, {}


def _forget(*_: object) -> None:
    """Nothing was made."""


def correct_resources(handlers: MutableMapping[str, dict[str, Any]]) -> None:
    """CodeDeploy is unknown to MiniStack: its resources get a name, and aliases move at once."""
    for kind in ("Application", "DeploymentGroup"):
        handlers[f"AWS::CodeDeploy::{kind}"] = {
            "create": _name_only,
            "update": _keep,
            "delete": _forget,
        }
    for kind, corrected in (
        ("AWS::ApiGatewayV2::Api", _with_routes),
        ("AWS::Lambda::EventSourceMapping", _with_numbers),
        ("AWS::CloudWatch::Alarm", _without_metric_math),
    ):
        for operation in ("create", "update"):
            handlers[kind][operation] = corrected(handlers[kind][operation])


def over_tls(app: Callable[..., Any]) -> Callable[..., Any]:
    """Requests count as https, like all to AWS, unless ``X-Forwarded-Proto`` says otherwise."""

    async def serve(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await app({**scope, "scheme": "https"}, receive, send)

    return serve


def run_functions_on(python: str, runtime: str) -> None:
    """Functions find nothing of this environment's packages; MiniStack would give them its own."""
    detect = lambda_runtime._detect_runtime_binary
    lambda_runtime._detect_runtime_binary = lambda name: (python, detect(name)[1])
    # They inherit these.
    os.environ.update(PYTHONPATH=runtime, PYTHONNOUSERSITE="1")  # noqa: TID251


def main() -> None:
    """Serves until it is killed."""
    fd, decisions, python, runtime = sys.argv[1:]
    serve_on(int(fd))
    run_functions_on(python, runtime)
    record_decisions(Path(decisions))
    correct_resources(provisioners._RESOURCE_HANDLERS)
    ministack.app = loopback_only(over_tls(ministack.app))
    sys.argv = sys.argv[:1]
    ministack.main()


if __name__ == "__main__":
    main()
