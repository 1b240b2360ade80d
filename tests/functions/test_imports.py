"""What a function does not need is not loaded: litellm alone takes seconds of a cold start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from local.options import ROOT
from tests.builders import english
from tests.functions.deployment import Deployment

pytestmark = pytest.mark.stack
ENVIRONMENT = {
    "DATABASE_URL": "postgresql://u@127.0.0.1:9/d",
    "QUEUE_URL": "http://127.0.0.1:9/q",
    "DEAD_LETTER_QUEUE_URL": "http://127.0.0.1:9/d",
    "TURBOPUFFER_API_KEY": "k",
    "TURBOPUFFER_BASE_URL": "http://127.0.0.1:9",
    "EMBEDDING_MODEL": "m",
    "EMBEDDING_DIMENSIONS": "8",
    "INTERNAL_SECRET": "s" * 32,
    "QUERY_HASH_KEY": "h" * 32,
    "AWS_DEFAULT_REGION": "us-east-1",
}
PROGRAM = """
import json, sys
from pathlib import Path
from local.invocation import LambdaFunction
from local.template import read_template

root = Path(sys.argv[1])
[spec] = [spec for spec in read_template(root / "template.yaml").functions
          if spec.code.name == sys.argv[2]]
function = LambdaFunction.load(spec)
for event in map(json.loads, sys.argv[3:]):
    answer = function.invoke(event)
    packages = {module.partition(".")[0] for module in sys.modules}
    print("answered", json.dumps([answer, sorted(packages)]))
"""


def request(method: str, path: str) -> dict[str, object]:
    recorded = json.loads((ROOT / "events" / "create_tool.json").read_text())
    recorded |= {"rawPath": path, "routeKey": f"{method} {path}", "body": "{}"}
    recorded["requestContext"]["http"] |= {"method": method, "path": path}
    return dict(recorded)


Answered = tuple[dict[str, Any], set[str]]


def answers(function: str, *events: object, **variables: str) -> list[Answered]:
    """What a function that has just started answers to each, and what it has loaded by then."""
    environment = {**os.environ, **ENVIRONMENT, **variables}  # noqa: TID251 - tests have no settings
    environment.pop("SECRETS_ARN", None)
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'shared'}"
    command = [sys.executable, "-c", PROGRAM, str(ROOT), function, *map(json.dumps, events)]
    ended = subprocess.run(  # noqa: S603 - our own program
        command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT
    )
    lines = ended.stdout.splitlines()
    pairs = [json.loads(line[9:]) for line in lines if line.startswith("answered ")]
    return [(answer, set(modules)) for answer, modules in pairs]


def after(function: str, event: object, **variables: str) -> Answered:
    """The same of one event."""
    [only] = answers(function, event, **variables)
    return only


def test_create_tool_loads_neither_litellm_nor_turbopuffer() -> None:
    well, away = answers(
        "create_tool", request("GET", "/healthz"), request("POST", "/api/v1/tools/search")
    )
    assert well[0]["statusCode"] == 200
    heavy = {"litellm", "turbopuffer", "openai", "pyfastcdc", "re2", "local"}
    assert heavy & well[1] == {"local"}
    assert away[0]["statusCode"] == 503  # the database is away
    assert "litellm" not in away[1]


def test_cleanup_never_embeds_nor_cuts_documents() -> None:
    report, modules = after("cleanup", {"scheduled_time": "2026-11-22T12:00:00Z"})
    assert report["errors"]
    assert not {"litellm", "pyfastcdc", "re2"} & modules


def test_search_refuses_a_stranger_before_it_loads_a_model() -> None:
    events = [request("POST", path) for path in ("/api/v1/tools/1/search", "/mcp")]
    for answer, modules in answers("search", *events):
        assert answer["statusCode"] in (401, 503)
        assert "litellm" not in modules


def test_index_node_refuses_a_bad_message_before_it_loads_a_model() -> None:
    batch = json.loads((ROOT / "events" / "index_node.json").read_text())
    batch["Records"][0]["body"] = "{}"
    answer, modules = after("index_node", batch)
    assert len(answer["batchItemFailures"]) == 1
    assert not {"litellm", "pyfastcdc", "re2"} & modules


def test_a_search_makes_no_client_of_the_queue(deployed: Deployment) -> None:
    tool = deployed.tool({"a": english(500, 1)}, strategy="keyword")
    deployed.drain()
    event: dict[str, Any] = request("POST", f"/api/v1/tools/{tool['tool_id']}/search")
    event["headers"] |= {"authorization": f"Bearer {tool['key']}"}
    event["body"] = json.dumps({"query": "harbour winter ledger"})
    answer, modules = after("search", event, **deployed.environment)
    assert json.loads(str(answer["body"]))["results"]
    assert not {"boto3", "pyfastcdc", "re2"} & modules

    event |= request("PUT", f"/api/v1/tables/{tool['table_id']}/data")
    event["headers"] |= {"authorization": f"Bearer {tool['key']}"}
    event["body"] = json.dumps({"a": english(500, 2)})
    answer, modules = after("create_tool", event, **deployed.environment)
    assert answer["statusCode"] == 200
    assert {"boto3", "pyfastcdc"} <= modules  # what is overwritten is cut into pieces
    assert "re2" not in modules


CRYPTOGRAPHY = {"jwt", "cryptography", "_cffi_backend"}
TOKENS = {"JWT_ISSUER": "http://127.0.0.1:9", "JWT_AUDIENCE": "a"}


@pytest.mark.parametrize(
    ("function", "method", "path"),
    [("create_tool", "GET", "/api/v1/tables/1"), ("search", "POST", "/mcp")],
)
def test_what_checks_tokens_is_loaded_at_the_first_one(
    function: str, method: str, path: str
) -> None:
    key, token = (
        {**request(method, path), "headers": {"authorization": f"Bearer {credential}"}}
        for credential in ("cs_key", "e30.e30.e30")
    )
    [none_taken] = answers(function, token)
    of_key, of_token = answers(function, key, token, **TOKENS)
    for answer, modules in (none_taken, of_key):
        assert answer["statusCode"] == 503  # the database is away
        assert CRYPTOGRAPHY & modules == set()
    assert of_token[0]["statusCode"] == 401
    assert of_token[1] >= CRYPTOGRAPHY
