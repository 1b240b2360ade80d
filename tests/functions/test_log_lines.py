"""Every line that a function writes is JSON, above all when something goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from local.options import ROOT
from tests.functions.deployment import CANARY
from tests.functions.test_imports import ENVIRONMENT, request

pytestmark = pytest.mark.slow
# As Lambda's runtime does with LogFormat JSON and ApplicationLogLevel INFO.
PROGRAM = """
import json, logging, sys, warnings
from pathlib import Path

class AsJson(logging.Formatter):
    def format(self, record):
        return json.dumps({"level": record.levelname, "runtime": record.getMessage()})

runtime = logging.StreamHandler(sys.stdout)
runtime.setFormatter(AsJson())
logging.getLogger().addHandler(runtime)
logging.getLogger().setLevel("INFO")

from local.invocation import LambdaFunction
from local.template import read_template

root = Path(sys.argv[1])
[spec] = [spec for spec in read_template(root / "template.yaml").functions
          if spec.code.name == sys.argv[2]]
LambdaFunction.load(spec).invoke(json.loads(sys.argv[3]))
logging.getLogger("library").info(sys.argv[4])
logging.getLogger("library").warning("a library warns")
warnings.warn(sys.argv[4])
"""


def lines_of(function: str, event: object) -> list[dict[str, Any]]:
    """What a function writes whose database is away, and libraries of its process."""
    environment = {**os.environ, **ENVIRONMENT}  # noqa: TID251 - tests have no settings
    environment |= {"PYTHONPATH": f"{ROOT}:{ROOT / 'shared'}", "SECRETS_ARN": ""}
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM, str(ROOT), function, json.dumps(event), CANARY],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    written = ended.stdout + ended.stderr
    assert CANARY not in written
    assert "u@127.0.0.1" not in written
    return [json.loads(line) for line in written.splitlines()]


def asked(method: str, path: str, body: object) -> dict[str, Any]:
    headers = {"authorization": f"Bearer cs_{CANARY}", "content-type": "application/json"}
    return {**request(method, path), "body": json.dumps(body), "headers": headers}


def orders(*bodies: object) -> dict[str, Any]:
    batch: dict[str, Any] = json.loads((ROOT / "events" / "index_node.json").read_text())
    [record] = batch["Records"]
    batch["Records"] = [{**record, "body": json.dumps(body)} for body in bodies]
    return batch


@pytest.mark.parametrize(
    ("function", "event", "message"),
    [
        (
            "create_tool",
            asked("PUT", "/api/v1/tables/1/data", {CANARY: CANARY}),
            ("request failed", "ERROR", {"code": "DATABASE_UNAVAILABLE"}),
        ),
        (
            "search",
            asked("POST", "/api/v1/tools/1/search", {"query": CANARY}),
            ("request failed", "ERROR", {"code": "DATABASE_UNAVAILABLE"}),
        ),
        (
            "index_node",
            orders({"kind": CANARY}, {"kind": "node", "node_id": 1, "order": 2}),
            ("order failed", "WARNING", {"code": "DATABASE_UNAVAILABLE"}),
        ),
        ("cleanup", {"scheduled_time": CANARY}, ("cleanup", "INFO", {})),
    ],
    ids=["create_tool", "search", "index_node", "cleanup"],
)
def test_a_function_that_fails_writes_json_and_no_text(
    function: str, event: object, message: tuple[str, str, dict[str, str]]
) -> None:
    lines = lines_of(function, event)
    text, level, fields = message
    [line] = [line for line in lines if line.get("message") == text]
    assert line["level"] == level
    assert line["function_request_id"]
    assert fields.items() <= line.items()
    assert "T" in line["timestamp"]  # RFC 3339, or Lambda takes the line for one of INFO
    said = [line["runtime"] for line in lines if "runtime" in line]
    assert said[0] == "a library warns"
    assert said[1].startswith("UserWarning at <string>:")  # and not what it says
