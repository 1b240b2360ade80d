"""Each part twice: as the model or fake of the tests, and as the real one.

A test runs on both, unless it is marked ``only_postgres`` (``bench.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import boto3
import pytest

from context_search.integrations.ports import Objects, Queue, VectorStore
from context_search.integrations.s3 import S3Objects, s3_client
from context_search.integrations.sqs import SqsQueue
from context_search.integrations.turbopuffer import TurbopufferVectors
from testing.in_memory.objects import DictObjects
from testing.in_memory.queue import ListQueue
from testing.in_memory.vectors import DictVectors
from tests.builders import aws_server
from tests.contract.store.bench import Bench, ModelBench, PostgresBench
from tests.contract.turbopuffer.targets import KEY


@pytest.fixture(params=["model", pytest.param("postgres", marks=pytest.mark.stack)])
def bench(request: pytest.FixtureRequest) -> Bench:
    """An empty store."""
    if request.param == "model":
        return ModelBench()
    return PostgresBench(request.getfixturevalue("module_database"))


@pytest.fixture(params=["memory", pytest.param("turbopuffer", marks=pytest.mark.stack)])
def vectors(request: pytest.FixtureRequest) -> VectorStore:
    """A vector store; tests take namespaces of their own."""
    if request.param == "memory":
        return DictVectors()
    return TurbopufferVectors(api_key=KEY, base_url=request.getfixturevalue("turbopuffer_url"))


@pytest.fixture
def namespace() -> str:
    """A name that nobody uses."""
    return f"project_1_table_{uuid4().int % 10**12}"


@pytest.fixture(scope="session")
def aws() -> Iterator[dict[str, str]]:
    """An SQS."""
    with aws_server() as environment:
        yield environment


@pytest.fixture(params=["memory", pytest.param("sqs", marks=pytest.mark.stack)])
def queue(request: pytest.FixtureRequest) -> Queue:
    """An empty queue."""
    if request.param == "memory":
        return ListQueue()
    environment = request.getfixturevalue("aws")
    client = boto3.client(
        "sqs",
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        region_name=environment["AWS_DEFAULT_REGION"],
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
    )
    return SqsQueue(client.create_queue(QueueName=uuid4().hex)["QueueUrl"], client=client)


@pytest.fixture(params=["memory", pytest.param("s3", marks=pytest.mark.stack)])
def objects(request: pytest.FixtureRequest) -> Iterator[Objects]:
    """An empty bucket."""
    if request.param == "memory":
        yield DictObjects()
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, value in request.getfixturevalue("aws").items():
            patch.setenv(name, value)
        client, bucket = s3_client(), uuid4().hex
        client.create_bucket(Bucket=bucket)
        yield S3Objects(client, bucket)
