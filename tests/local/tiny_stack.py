"""``python -m local.serve`` as a child process, with functions of a few lines."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local.options import ROOT
from tests.integrations.openai_server import OpenAiServer
from tests.stack import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TEMPLATE = """
Reference: &to_create { $ref: "#/components/x-amazon-apigateway-integrations/create" }
Parameters:
  TurbopufferRegion: { Type: String, Default: aws-us-east-1 }
Globals:
  Function:
    Handler: app.lambda_handler
    Timeout: 29
    MemorySize: 512
    Environment:
      Variables:
        QUEUE_URL: !Ref Queue
        DEAD_LETTER_QUEUE_URL: !Ref DeadLetterQueue
        TURBOPUFFER_REGION: !Ref TurbopufferRegion
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      DefinitionBody:
        components:
          x-amazon-apigateway-integrations:
            create:
              uri: !Sub
                - …/functions/${Function}/invocations
                - Function: !Ref Create.Alias
        paths:
          /api/v1/projects: { post: &create { x-amazon-apigateway-integration: *to_create } }
          "/api/v1/tools/{tool_id}": { get: *create }
          "/environment/{name}": { get: *create }
  Create:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/create_tool
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
        Tick: { Type: ScheduleV2, Properties: { ScheduleExpression: rate(1 minute), Input: "{}" } }
  Queue:
    Type: AWS::SQS::Queue
    Properties: { RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2 } }
  Dead: { Type: AWS::SQS::Queue }
"""

CREATE_TOOL = """
import json, os

def lambda_handler(event, context):
    if event["routeKey"] == "GET /environment/{name}":
        value = os.environ.get(event["pathParameters"]["name"])
        return {"statusCode": 200, "body": json.dumps({"value": value})}
    return {"statusCode": 404}
"""

PRINTS_EVENT = """
import json

def lambda_handler(event, context):
    print("EVENT", context.function_name, json.dumps(event), flush=True)
"""

# Services of the user's own, whose local parts then do not start: a model takes seconds.
REAL_MODEL = {"EMBEDDING_MODEL": "openai/of-the-user", "EMBEDDING_DIMENSIONS": "3"}
REAL_SERVICES = {
    **REAL_MODEL,
    "TURBOPUFFER_API_KEY": "tpuf_of_the_user",
    "TURBOPUFFER_REGION": "aws-eu-central-1",
}


class TinyServe:
    """One checkout with one state folder, on which ``serve`` and ``reset`` run."""

    def __init__(self, checkout: Path, environment: Mapping[str, str]) -> None:
        self.environment = environment
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

    @contextlib.contextmanager
    def start(self, *arguments: str, port: int = 0) -> Iterator[subprocess.Popen[str]]:
        """``python -m local.serve`` in the background, output in pipes; killed at the end."""
        command = [f"--port={port}", f"--state={self.state}"]
        command += [f"--template={self.checkout / 'template.yaml'}", *arguments]
        with subprocess.Popen(  # noqa: S603  our own program
            [sys.executable, "-m", "local.serve", *command],
            cwd=ROOT,
            env={**os.environ, **self.environment},  # noqa: TID251  tests have no settings
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    @contextlib.contextmanager
    def serving(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """The same, once it serves."""
        with self.start(*arguments) as process:
            assert eventually(lambda: self._answers() or process.poll() is not None, 30)
            assert process.poll() is None, process.communicate()
            yield process

    def _answers(self) -> bool:
        """Whether a request is answered: endpoints.json is there before the queues are."""
        try:
            url = f"{self.endpoints()['base_url']}/environment/PATH"
            with urllib.request.urlopen(url, timeout=10):  # noqa: S310  our own server
                return True
        except OSError:
            return False

    def reset(self, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """``python -m local.reset`` on the state folder or another, to its end."""
        command = [sys.executable, "-m", "local.reset", f"--state={folder or self.state}"]
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
def tiny_serve(environment: Mapping[str, str] = REAL_SERVICES) -> Iterator[TinyServe]:
    """A checkout that PostgreSQL's account can reach also when root runs the tests."""
    folder = Path(tempfile.mkdtemp(prefix="tiny-serve-"))
    folder.chmod(0o711)
    with OpenAiServer().running() as url:  # a stack asks the model for a vector when it starts
        model = {"EMBEDDING_API_BASE": url, "EMBEDDING_API_KEY": "k"}
        serve = TinyServe(folder, {**model, **environment})
        try:
            yield serve
        finally:
            serve.reset()
            shutil.rmtree(folder)
