"""``python -m local.deployed``: a real ``sam deploy`` of what was built, on this machine.

MiniStack is AWS, with IAM enforced (``local.aws``); PostgreSQL, the turbopuffer-compatible server
and the embedding model stand beside it, where a deployment has its own. The template is the built
one, but for the two layers with machine code: those hold wheels for this machine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Self
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

from context_search.postgres import migrations
from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl
from local.embedding import DIMENSIONS, PASSAGE_PARAMS, QUERY_PARAMS
from local.environment import process_environment
from local.invocation import REGION
from local.options import ROOT
from local.postgres import PostgresServer
from local.processes import Child, handed_over
from local.state import DEFAULT_STATE, StackError, State
from scripts.package import lambda_python

STACK = "context-search-local"
BUILT = ROOT / ".aws-sam" / "build"
HOST = ROOT / ".build" / "host"
_EMULATOR_PYTHON = ROOT / ".venv-deploy" / "bin" / "python"
_SAM = (str(ROOT / ".venv-build" / "bin" / "python"), "-m", "samcli")
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local-account", "AWS_SECRET_ACCESS_KEY": "local"}
_PART_DEADLINE_S = 60.0
ROLE = "context_search_app"
_client: Callable[..., Any] = boto3.client  # its types want each service's name written out


class EmulatedAccount:
    """An empty account and the services beside it, while its ``with`` block runs."""

    def __init__(self, state: State, user: Mapping[str, str]) -> None:
        self._state = state
        self._user = user
        self._parts = ExitStack()
        self.decisions_file = state.root / "decisions.jsonl"
        self.internal_secret = ""
        self.endpoint = self.database_url = ""
        self._vectors_url = self._model_url = ""

    def __enter__(self) -> Self:
        """Start every part. Raises StackError when one does not start."""
        try:
            self._parts.enter_context(self._state.locked())
            self._state.wipe()
            self._state.logs.mkdir()
            self._state.clear_temporary()
            self._start()
        except BaseException:
            self._parts.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def _start(self) -> None:
        secrets = self._state.secrets()
        self.internal_secret = secrets["internal_secret"]
        with handed_over() as (self.endpoint, fd):
            functions = [str(self.decisions_file), _python(), str(HOST / "runtime")]
            settings = _emulator_environment(self.endpoint, self._state.root)
            python = str(_EMULATOR_PYTHON)
            emulator = self._child("aws", fd, ["local.aws", str(fd), *functions], settings, python)
        with handed_over() as (self._vectors_url, fd):
            data = str(self._state.root / "turbopuffer")
            where = ["local.turbopuffer", "--fd", str(fd), "--data", data]
            vectors = self._child("turbopuffer", fd, where, {})
        with handed_over() as (self._model_url, fd):
            model = self._child("embedding", fd, ["local.embedding.server", str(fd)], {})
        database = PostgresServer(self._state.postgres, settings={"max_connections": "200"})
        self._parts.callback(database.stop)
        database.start()
        self.database_url = database.url
        migrations.apply(DatabaseUrl.parse(database.url))
        application_url = _with_role(database.url)
        emulator.wait_for_http(f"{self.endpoint}/_ministack/health", _PART_DEADLINE_S)
        vectors.wait_for_http(f"{self._vectors_url}/_admin/health", _PART_DEADLINE_S)
        model.wait_for_http(f"{self._model_url}/health", _PART_DEADLINE_S)
        for_all = {"database_url": application_url, "turbopuffer_api_key": "local"}
        self._secret_arns = {
            "SecretsArn": self._secret("context-search", for_all),
            "ModelSecretsArn": self._secret("models", {"embedding_api_key": "local"}),
            "InternalSecretsArn": self._secret(
                "internal", {**secrets, "internal_secret_previous": ""}
            ),
        }

    def _secret(self, name: str, values: Mapping[str, str]) -> str:
        client = self.client("secretsmanager")
        made = client.create_secret(Name=name, SecretString=json.dumps(values))
        return str(made["ARN"])

    def _child(
        self,
        name: str,
        fd: int,
        arguments: list[str],
        settings: Mapping[str, str],
        python: str = sys.executable,
    ) -> Child:
        environment = {**process_environment(self._user, ROOT), **settings}
        log = self._state.logs / f"{name}.log"
        child = Child(name, ["local.child", *arguments], environment, log, [fd], python)
        self._parts.callback(child.stop, 5.0)
        return child

    def client(self, service: str) -> Any:
        """A boto3 client with the rights of the account itself."""
        return _client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=_CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            config=Config(retries={"total_max_attempts": 2}, s3={"addressing_style": "path"}),
        )

    def sam(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One command of the SAM CLI; its output is in the result, and in ``logs/sam.log``."""
        environment = {
            **process_environment(self._user, ROOT),
            **_CREDENTIALS,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_DEFAULT_REGION": REGION,
            "SAM_CLI_TELEMETRY": "0",
        }
        done = subprocess.run(
            [
                *_SAM,
                *arguments,
                "--config-file",
                str(ROOT / "samconfig.toml"),
                "--config-env",
                "local",
            ],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        with (self._state.logs / "sam.log").open("a", encoding="utf-8") as log:
            log.write(f"$ sam {' '.join(arguments)}\n{done.stdout}{done.stderr}\n")
        return done

    def parameters(self) -> dict[str, str]:
        """What the template must be told to use the parts of this machine."""
        return {
            **self._secret_arns,
            "TurbopufferBaseUrl": self._vectors_url,
            "EmbeddingModel": "openai/use-multilingual-v3",
            "EmbeddingDimensions": str(DIMENSIONS),
            "EmbeddingApiBase": f"{self._model_url}/v1",
            "EmbeddingQueryParams": json.dumps({"extra_body": dict(QUERY_PARAMS)}),
            "EmbeddingPassageParams": json.dumps({"extra_body": dict(PASSAGE_PARAMS)}),
        }

    def deploy(
        self, changed: Mapping[str, str] | None = None, template: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """``sam deploy`` of a template, by default the built one, with changed parameters."""
        values = {**self.parameters(), **(changed or {})}
        overrides = self._state.root / "parameters.yaml"  # JSON is YAML
        overrides.write_text(json.dumps(values), encoding="utf-8")
        given = ["--parameter-overrides", f"file://{overrides}"]
        return self.sam("deploy", "--template-file", str(template or built_for_host()), *given)

    def output(self, name: str) -> str:
        """One of the stack's outputs."""
        [stack] = self.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
        outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
        return str(outputs[name])

    @property
    def base_url(self) -> str:
        """Where this machine finds what the stack's ``ApiUrl`` names."""
        host = self.output("ApiUrl").removeprefix("https://")
        return f"{self.endpoint}/_aws/execute-api/{host.partition('.')[0]}"

    def decisions(self) -> list[dict[str, Any]]:
        """What IAM has decided about roles up to now, see ``local.aws``."""
        if not self.decisions_file.exists():
            return []
        lines = self.decisions_file.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]


def roles_of(page: str) -> str:
    """The statements with which docs/deploy.md makes the role of the functions."""
    [statements] = re.findall(r"```sql\n(CREATE ROLE .*?)```", page, re.DOTALL)
    return str(statements)


def _with_role(owner_url: str) -> str:
    """Makes that role. Returns the address of the database for it."""
    url = DatabaseUrl.parse(owner_url)
    password = token_urlsafe()
    statements = roles_of((ROOT / "docs/deploy.md").read_text(encoding="utf-8"))
    with closing(Connection(url, timeout_s=10.0)) as database:
        database.query(statements.replace("choose one", password))
    parts = urlsplit(owner_url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{ROLE}:{password}@{host}").geturl()


def _emulator_environment(url: str, state: Path) -> dict[str, str]:
    return {
        "GATEWAY_PORT": url.rpartition(":")[2],
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "AUTH": "true",
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "DOCKER_HOST": f"unix://{state / 'no-docker.sock'}",
        "PERSIST_STATE": "0",
        "TMPDIR": str(state / "tmp"),
        "LOG_LEVEL": "INFO",
        **_CREDENTIALS,
    }


def _python() -> str:
    """The interpreter that the host's wheels are for, outside of any environment."""
    return str(Path(lambda_python() or sys.executable).resolve())


def built_for_host() -> Path:
    """The built template with layers for this machine. Raises StackError without ``make build``."""
    built = BUILT / "template.yaml"
    if not (built.exists() and HOST.exists()):
        raise StackError("nothing is built: make build")
    text = built.read_text(encoding="utf-8")
    for layer in ("Core", "Embedding"):
        text = text.replace(f"ContentUri: {layer}Layer\n", f"ContentUri: {HOST / layer.lower()}\n")
    target = BUILT / "template-host.yaml"  # beside what it names
    target.write_text(text, encoding="utf-8")
    return target


@contextmanager
def deployed(state: State, user: Mapping[str, str]) -> Iterator[EmulatedAccount]:
    """An account with the stack in it. Raises StackError with the end of what SAM said."""
    with EmulatedAccount(state, user) as account:
        done = account.deploy()
        if done.returncode:
            raise StackError(f"sam deploy failed:\n{(done.stdout + done.stderr)[-3000:]}")
        yield account


def main() -> int:
    """Deploys, says where everything is, and keeps it until Ctrl-C."""
    state = State(DEFAULT_STATE / "deployed")
    try:
        with deployed(state, dict(os.environ)) as account:  # noqa: TID251 - handed on
            print(f"  API     {account.base_url}")
            print(f"  secret  {account.internal_secret}")
            print(f"  AWS     {account.endpoint}")
            print(f"  logs    {state.logs}")
            print("Ctrl-C stops it, and nothing is kept", flush=True)
            threading.Event().wait()
    except KeyboardInterrupt:
        print("stopped")
    except StackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
