"""What the local stack needs to know from ``template.yaml``: functions, routes, queues, variables.

The template stays the one place that says which function serves which route, in which environment
it runs, how queues are tuned and how the event source mapping batches. SAM reference:
https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.cloudformation import Node, load

# Lambda's defaults where the template is silent.
_DEFAULT_TIMEOUT_S = 3
_DEFAULT_MEMORY_MB = 128
_DEFAULT_BATCH_SIZE = 10
_QUEUE_ATTRIBUTES = (
    "DelaySeconds",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "VisibilityTimeout",
)


# API Gateway's extensions of OpenAPI.
ANY_METHOD = "x-amazon-apigateway-any-method"
INTEGRATION = "x-amazon-apigateway-integration"
INTEGRATIONS = "x-amazon-apigateway-integrations"


class TemplateError(Exception):
    """The template says something the local stack cannot follow; the message names the place."""


@dataclass(frozen=True, slots=True)
class RouteSpec:
    """One HTTP API route: ``method`` in capitals or ``ANY``, ``path`` as in the template."""

    method: str
    path: str

    @property
    def key(self) -> str:
        """API Gateway's route key: ``GET /tools/{id}``."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class QueueMapping:
    """An SQS event source mapping. ``maximum_concurrency`` None: no limit is set."""

    queue_id: str
    batch_size: int
    maximum_concurrency: int | None
    reports_item_failures: bool


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """An EventBridge Scheduler schedule. ``payload`` is its ``Input``, a JSON text."""

    name: str
    payload: str


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """One function: where its handler is and what invokes it. Timeout in seconds, memory in MB."""

    name: str
    code: Path
    handler: str
    timeout_s: int
    memory_mb: int
    routes: tuple[RouteSpec, ...]
    queues: tuple[QueueMapping, ...]
    schedules: tuple[ScheduleSpec, ...]


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """One SQS queue. ``attributes`` as SQS takes them; the redrive target by logical id."""

    logical_id: str
    name: str
    attributes: Mapping[str, str]
    dead_letter_id: str | None
    max_receive_count: int | None


@dataclass(frozen=True, slots=True)
class Template:
    """Everything read from one template; queues by logical id."""

    functions: tuple[FunctionSpec, ...]
    queues: Mapping[str, QueueSpec]

    @property
    def work_queue(self) -> QueueSpec:
        """The queue whose messages a function takes. TemplateError unless there is just one."""
        mapped = {mapping.queue_id for spec in self.functions for mapping in spec.queues}
        if len(mapped) != 1:
            raise TemplateError(f"expected one queue with an SQS event, found {sorted(mapped)}")
        return self.queues[mapped.pop()]


def read_template(path: Path) -> Template:
    """Read a SAM template. ``CodeUri`` is taken relative to the template's folder.

    Raises TemplateError when a needed value is missing or is not a plain value.
    """
    document = load(path)
    resources: Node = document["Resources"]
    shared: Node = document.get("Globals", {}).get("Function", {})
    routes = routes_of(resources)
    return Template(
        functions=tuple(
            _function(name, {**shared, **resource["Properties"]}, routes.get(name, ()), path.parent)
            for name, resource in resources.items()
            if resource["Type"] == "AWS::Serverless::Function"
        ),
        queues={
            name: _queue(name, resource.get("Properties", {}))
            for name, resource in resources.items()
            if resource["Type"] == "AWS::SQS::Queue"
        },
    )


def routes_of(resources: Node) -> dict[str, tuple[RouteSpec, ...]]:
    """A function's logical id → the routes that the HTTP API's definition sends to it.

    Raises TemplateError for a route whose integration is not one of the definition's own.
    """
    found: dict[str, tuple[RouteSpec, ...]] = {}
    for resource in resources.values():
        if resource["Type"] != "AWS::Serverless::HttpApi":
            continue
        definition = resource["Properties"]["DefinitionBody"]
        for path, operations in definition.get("paths", {}).items():
            for method, operation in operations.items():
                spec = RouteSpec("ANY" if method == ANY_METHOD else method.upper(), path)
                function = _invoked(integration_of(operation, definition), spec)
                found[function] = (*found.get(function, ()), spec)
    return found


def integration_of(operation: Node, definition: Node) -> Node:
    """What an operation's ``$ref`` names among the definition's integrations.

    Raises TemplateError for another form.
    """
    reference = operation.get(INTEGRATION, {}).get("$ref", "")
    prefix, _, name = reference.rpartition("/")
    known = definition.get("components", {}).get(INTEGRATIONS, {})
    if prefix != f"#/components/{INTEGRATIONS}" or name not in known:
        raise TemplateError(f"an operation's integration must be one of {sorted(known)}")
    integration: Node = known[name]
    return integration


def _invoked(integration: Node, route: RouteSpec) -> str:
    """The logical id of the function whose alias an integration's address has as ``Function``."""
    match integration.get("uri"):
        case {"Fn::Sub": [str(), {"Function": {"Ref": str(alias)}}]}:
            return alias.removesuffix(".Alias")
    raise TemplateError(f"{route.key} invokes no function of the template")


def _number(value: Any, where: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise TemplateError(f"{where} must be a number, not {value!r}") from None


def _target(value: Any, where: str) -> str:
    """The logical id behind ``!Ref x`` or ``!GetAtt x.Arn``."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            return name
    raise TemplateError(f"{where} must be a !Ref or !GetAtt, not {value!r}")


def _function(
    logical_id: str, properties: Node, routes: tuple[RouteSpec, ...], root: Path
) -> FunctionSpec:
    events = properties.get("Events", {})

    def of_type(wanted: str) -> list[tuple[str, Node]]:
        return [(n, e.get("Properties", {})) for n, e in events.items() if e["Type"] == wanted]

    return FunctionSpec(
        name=logical_id,
        code=root / properties["CodeUri"],
        handler=properties["Handler"],
        timeout_s=_number(properties.get("Timeout", _DEFAULT_TIMEOUT_S), f"{logical_id}.Timeout"),
        memory_mb=_number(
            properties.get("MemorySize", _DEFAULT_MEMORY_MB), f"{logical_id}.MemorySize"
        ),
        routes=routes,
        queues=tuple(_mapping(f"{logical_id}.{n}", event) for n, event in of_type("SQS")),
        schedules=tuple(
            ScheduleSpec(name, event["Input"]) for name, event in of_type("ScheduleV2")
        ),
    )


def _mapping(where: str, event: Node) -> QueueMapping:
    maximum = event.get("ScalingConfig", {}).get("MaximumConcurrency")
    return QueueMapping(
        queue_id=_target(event["Queue"], f"{where}.Queue"),
        batch_size=_number(event.get("BatchSize", _DEFAULT_BATCH_SIZE), f"{where}.BatchSize"),
        maximum_concurrency=None
        if maximum is None
        else _number(maximum, f"{where}.MaximumConcurrency"),
        reports_item_failures="ReportBatchItemFailures" in event.get("FunctionResponseTypes", []),
    )


def _queue(logical_id: str, properties: Node) -> QueueSpec:
    redrive = properties.get("RedrivePolicy")
    where = f"{logical_id}.RedrivePolicy"
    name = properties.get("QueueName")
    return QueueSpec(
        logical_id=logical_id,
        # A computed name (!Sub with the stack's name) means nothing here.
        name=name if isinstance(name, str) else logical_id,
        attributes={
            key: str(_number(properties[key], f"{logical_id}.{key}"))
            for key in _QUEUE_ATTRIBUTES
            if key in properties
        },
        dead_letter_id=redrive and _target(redrive["deadLetterTargetArn"], where),
        max_receive_count=redrive and _number(redrive["maxReceiveCount"], where),
    )
