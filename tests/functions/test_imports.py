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
answer = function.invoke(json.loads(sys.argv[3]))
packages = {module.partition(".")[0] for module in sys.modules}
print(json.dumps([answer, sorted(packages)]))
"""


def request(method: str, path: str) -> dict[str, object]:
    recorded = json.loads((ROOT / "events" / "create_tool.json").read_text())
    recorded |= {"rawPath": path, "routeKey": f"{method} {path}", "body": "{}"}
    recorded["requestContext"]["http"] |= {"method": method, "path": path}
    return dict(recorded)


def after(function: str, event: object, **variables: str) -> tuple[dict[str, object], set[str]]:
    """The answer of a function that has just started, and the packages it has loaded by then."""
    environment = {**os.environ, **ENVIRONMENT, **variables}  # noqa: TID251 - tests have no settings
    environment.pop("SECRETS_ARN", None)
    environment["PYTHONPATH"] = f"{ROOT}:{ROOT / 'shared'}"
    command = [sys.executable, "-c", PROGRAM, str(ROOT), function, json.dumps(event)]
    ended = subprocess.run(  # noqa: S603 - our own program
        command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT
    )
    answer, modules = json.loads(ended.stdout.splitlines()[-1])
    return answer, set(modules)


def test_create_tool_loads_neither_litellm_nor_turbopuffer() -> None:
    answer, modules = after("create_tool", request("GET", "/healthz"))
    assert answer["statusCode"] == 200
    heavy = {"litellm", "turbopuffer", "openai", "pyfastcdc", "re2", "local"}
    assert heavy & modules == {"local"}
    answer, modules = after("create_tool", request("POST", "/api/v1/tools/search"))
    assert answer["statusCode"] == 503  # the database is away
    assert "litellm" not in modules


def test_cleanup_never_embeds_nor_cuts_documents() -> None:
    report, modules = after("cleanup", {"scheduled_time": "2026-11-22T12:00:00Z"})
    assert report["errors"]
    assert not {"litellm", "pyfastcdc", "re2"} & modules


@pytest.mark.parametrize("path", ["/api/v1/tools/1/search", "/mcp"])
def test_search_refuses_a_stranger_before_it_loads_a_model(path: str) -> None:
    answer, modules = after("search", request("POST", path))
    assert answer["statusCode"] in (401, 503)
    assert "litellm" not in modules


def test_index_node_refuses_a_bad_message_before_it_loads_a_model() -> None:
    batch = json.loads((ROOT / "events" / "index_node.json").read_text())
    batch["Records"][0]["body"] = "{}"
    answer, modules = after("index_node", batch)
    assert len(answer["batchItemFailures"]) == 1  # type: ignore[arg-type]
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
    event: dict[str, Any] = request(method, path)
    for credential, variables, is_loaded in (
        ("cs_key", TOKENS, False),
        ("e30.e30.e30", {}, False),
        ("e30.e30.e30", TOKENS, True),
    ):
        event["headers"] = {"authorization": f"Bearer {credential}"}
        answer, modules = after(function, event, **variables)
        assert answer["statusCode"] == (401 if is_loaded else 503)  # the database is away
        assert CRYPTOGRAPHY & modules == (CRYPTOGRAPHY if is_loaded else set())
