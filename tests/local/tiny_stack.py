"""``python -m local.serve`` as a child process, with functions of a few lines."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local.options import ROOT
from tests.local.tiny import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPLATE = """
Globals: { Function: { Handler: app.lambda_handler, Timeout: 29, MemorySize: 512 } }
Resources:
  Create:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/create_tool
      Events:
        Projects: { Type: HttpApi, Properties: { Path: /api/v1/projects, Method: POST } }
        Tool: { Type: HttpApi, Properties: { Path: "/api/v1/tools/{tool_id}", Method: GET } }
        Seen: { Type: HttpApi, Properties: { Path: "/environment/{name}", Method: GET } }
  Index:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/index_node
      Events:
        Message: { Type: SQS, Properties: { Queue: !GetAtt Queue.Arn, BatchSize: 1 } }
  Cleanup:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/cleanup
      Events:
        Tick: { Type: ScheduleV2, Properties: { ScheduleExpression: rate(1 minute) } }
  Queue:
    Type: AWS::SQS::Queue
    Properties: { RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2 } }
  Dead: { Type: AWS::SQS::Queue }
"""

CREATE_TOOL = """
import json, os

def lambda_handler(event, context):
    if event["routeKey"] == "POST /api/v1/projects":
        if event["headers"]["x-internal-secret"] != os.environ["INTERNAL_SECRET"]:
            return {"statusCode": 401}
        name = json.loads(event["body"])["name"]
        project = {"id": 7, "name": name, "api_key": os.urandom(9).hex()}
        return {"statusCode": 201, "body": json.dumps(project)}
    if event["routeKey"] == "GET /environment/{name}":
        return {"value": os.environ.get(event["pathParameters"]["name"])}
    return {"statusCode": 404}
"""

PRINTS_EVENT = """
import json

def lambda_handler(event, context):
    print("EVENT", context.function_name, json.dumps(event), flush=True)
"""

# The user's own services: no model is loaded and no turbopuffer server is started.
REAL_SERVICES = {
    "TURBOPUFFER_API_KEY": "tpuf_of_the_user",
    "TURBOPUFFER_REGION": "aws-eu-central-1",
    "EMBEDDING_MODEL": "openai/of-the-user",
    "EMBEDDING_DIMENSIONS": "8",
}


class TinyServe:
    """One checkout with one state folder, on which ``serve`` and ``reset`` run."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        self.state = checkout / "state"
        functions = {
            "create_tool": CREATE_TOOL,
            "index_node": PRINTS_EVENT,
            "cleanup": PRINTS_EVENT,
        }
        for name, code in functions.items():
            self.write_handler(name, code)
        checkout.joinpath("template.yaml").write_text(TEMPLATE)

    def write_handler(self, function: str, code: str) -> None:
        """Replace a function's code."""
        folder = self.checkout / "functions" / function
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath("app.py").write_text(code)

    def start(self, *arguments: str, port: int = 0) -> subprocess.Popen[str]:
        """``python -m local.serve`` in the background; output in pipes."""
        command = [f"--port={port}", f"--state={self.state}"]
        command += [f"--template={self.checkout / 'template.yaml'}", *arguments]
        return subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-m", "local.serve", *command],
            cwd=ROOT,
            env={**os.environ, **REAL_SERVICES},  # noqa: TID251  tests have no settings
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextlib.contextmanager
    def serving(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A serve that has announced itself; ended hard if the test leaves it."""
        with self.start(*arguments) as process:
            try:
                assert eventually(
                    lambda: self.endpoints_file.exists() or process.poll() is not None, 30
                )
                assert process.poll() is None, process.communicate()
                yield process
            finally:
                process.kill()

    def reset(self) -> subprocess.CompletedProcess[str]:
        """``python -m local.reset``, to its end."""
        command = [sys.executable, "-m", "local.reset", f"--state={self.state}"]
        return subprocess.run(  # noqa: S603  our own program
            command, cwd=ROOT, capture_output=True, text=True, check=False
        )

    @property
    def endpoints_file(self) -> Path:
        """Where serve says what is where."""
        return self.state / "endpoints.json"

    def endpoints(self) -> dict[str, Any]:
        """What it says."""
        known: dict[str, Any] = json.loads(self.endpoints_file.read_text())
        return known

    def function_log(self) -> str:
        """What the functions have printed."""
        return self.state.joinpath("logs", "functions.log").read_text()


@contextlib.contextmanager
def tiny_serve() -> Iterator[TinyServe]:
    """A checkout that PostgreSQL's account can reach also when root runs the tests."""
    folder = Path(tempfile.mkdtemp(prefix="tiny-serve-"))
    folder.chmod(0o711)
    serve = TinyServe(folder)
    try:
        yield serve
    finally:
        serve.reset()
        shutil.rmtree(folder)
