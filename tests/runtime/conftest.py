"""The built functions in a jail like Lambda's, on real parts; not part of ``make test``."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import boto3
import pytest

from context_search.postgres.connection import Connection
from local.lambda_jail import Arm64, FunctionError, Jail, Means
from local.options import ROOT
from scripts.package import LAMBDA_PLATFORM, lambda_python
from scripts.prove_layers import HOST, install_runtime
from tests.builders import aws_server
from tests.contract.turbopuffer.targets import running
from tests.functions.deployment import DIMENSIONS, FOR_ALL, FOR_CALLERS, FOR_MODELS, Deployment
from tests.functions.test_rotation import Rotating
from tests.runtime.built import BuiltFunctions, WordServer, built_functions, is_as_written
from tests.stack import DatabaseFactory

ARM64 = ROOT / ".build" / "arm64"


def pytest_addoption(parser: pytest.Parser) -> None:
    """For ``make prove-arm64``."""
    parser.addoption("--arm64", action="store_true", help="run what is shipped, emulated")


def pytest_configure(config: pytest.Config) -> None:
    """Says which tests the emulated functions have the time for."""
    config.addinivalue_line("markers", "arm64: runs in make prove-arm64 as well")


@pytest.fixture(scope="session")
def jail(request: pytest.FixtureRequest) -> Jail:
    """Lambda's Python where there is one, in as much of a jail as this machine allows."""
    if not is_as_written():
        pytest.exit("the build is missing or older than the code: make build", returncode=1)
    if request.config.getoption("--arm64"):
        return arm64_jail()
    python = Path(lambda_python() or sys.executable).resolve()
    return Jail(python, HOST / "runtime", Means.of_this_machine())


def arm64_jail() -> Jail:
    """With Lambda's own processor."""
    means = Means.of_this_machine()
    if not means.unshare:
        pytest.exit("needs root or user namespaces, for a system of its own", returncode=1)
    try:
        arm64 = Arm64.in_folder(ARM64 / "machine")
    except FunctionError as error:
        pytest.exit(str(error).strip(), returncode=1)
    shutil.rmtree(ARM64 / "runtime", ignore_errors=True)
    install_runtime(ARM64 / "runtime", LAMBDA_PLATFORM)
    return Jail(arm64.python, ARM64 / "runtime", means, arm64)


@pytest.fixture(scope="session")
def rotating(
    jail: Jail, databases: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[BuiltFunctions, Rotating]]:
    with ExitStack() as parts:
        aws = parts.enter_context(aws_server())
        model_url = parts.enter_context(WordServer().running())
        vectors = parts.enter_context(running(tmp_path_factory.mktemp("turbopuffer")))
        owner_url = parts.enter_context(databases.migrated())
        owner = Connection(owner_url, timeout_s=60.0)
        parts.callback(owner.close)
        url = parts.enter_context(databases.application_of(owner_url))
        session = boto3.Session(
            aws_access_key_id=aws["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=aws["AWS_SECRET_ACCESS_KEY"],
            region_name=aws["AWS_DEFAULT_REGION"],
        )
        sqs = session.client("sqs", endpoint_url=aws["AWS_ENDPOINT_URL"])
        secrets = session.client("secretsmanager", endpoint_url=aws["AWS_ENDPOINT_URL"])
        queues = [sqs.create_queue(QueueName=f"q{uuid4().hex}")["QueueUrl"] for _ in range(2)]
        deployed = Deployment({"QUEUE_URL": queues[0]}, {}, sqs)
        made = Rotating(deployed, "", url, secrets, owner)
        for_all = {**FOR_ALL, "database_url": made.url_with("choose one")}
        arns = {
            name: secrets.create_secret(Name=name, SecretString=json.dumps(values))["ARN"]
            for name, values in (
                ("SecretsArn", for_all),
                ("ModelSecretsArn", FOR_MODELS),
                ("InternalSecretsArn", FOR_CALLERS),
            )
        }
        made.arn = arns["SecretsArn"]
        references = {
            **arns,
            "Queue": queues[0],
            "DeadLetterQueue": queues[1],
            "UploadBucket": "uploads",
            "EmbeddingApiBase": model_url,
            "EmbeddingDimensions": str(DIMENSIONS),
            "TurbopufferBaseUrl": vectors.url,
        }
        built = BuiltFunctions(
            jail,
            built_functions(ARM64 if jail.arm64 else None),
            references,
            aws,
            tmp_path_factory.mktemp("logs"),
        )
        yield built, made
