"""MiniStack as the local stack starts it: where it listens, what it keeps, how it dies."""

from __future__ import annotations

import json
import os
import signal
import socket
from typing import TYPE_CHECKING, Any

import boto3
import httpx2
import pytest

from local.emulator import queue_url
from local.options import ROOT
from local.queues import create_bucket, create_queues, sqs_client
from local.template import TemplateError, read_template
from tests.local.tiny import PAGES, listening_addresses, running_emulator
from tests.stack import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from local.processes import Child

pytestmark = pytest.mark.stack

TEMPLATE = """
Parameters:
  Seconds: { Type: Number, Default: 1 }
Resources:
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/worker
      Handler: app.lambda_handler
      Events:
        Message: { Type: SQS, Properties: { Queue: !GetAtt Work.Arn, BatchSize: 5 } }
  Work:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: !Ref Seconds
      MessageRetentionPeriod: 3600
      SqsManagedSseEnabled: true
      RedrivePolicy: { deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 2 }
  Dead:
    Type: AWS::SQS::Queue
    Properties: { QueueName: dead-letters, MessageRetentionPeriod: 7200 }
"""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def emulator(state: Path) -> Iterator[tuple[str, Child]]:
    with running_emulator(state) as running:
        yield running


def test_it_listens_on_one_port_of_the_loopback_address_only(emulator: tuple[str, Child]) -> None:
    endpoint, child = emulator
    [(address, port)] = listening_addresses(child.pid)
    assert address == "127.0.0.1"
    assert endpoint == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "rebound.example"}, 400),
        ({"Host": "127.0.0.1.rebound.example"}, 400),
        ({"Origin": "https://page.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/_ministack/health"), ("OPTIONS", "/uploads")]
)
def test_no_web_page_reaches_it(
    emulator: tuple[str, Child], headers: dict[str, str], status: int, method: str, path: str
) -> None:
    reply = httpx2.request(method, f"{emulator[0]}{path}", headers=headers)
    assert reply.status_code == status


@pytest.mark.parametrize(
    ("origin", "method", "path", "allowed"),
    [
        (PAGES[0], "OPTIONS", "/uploads/x.json", True),
        (PAGES[1], "PUT", "/uploads/x.json", True),
        (PAGES[0], "GET", "/uploads/x.json", False),
        (PAGES[0], "DELETE", "/uploads/x.json", False),
        (PAGES[0], "PUT", "/uploads", False),
        (PAGES[0], "PUT", "/others/x.json", False),
        (PAGES[0], "PUT", "/uploads/%2e%2e/others/x.json", False),
        (PAGES[0], "OPTIONS", "/_ministack/health", False),
        ("http://127.0.0.1:18787", "PUT", "/uploads/x.json", False),
        ("http://rebound.example:8787", "PUT", "/uploads/x.json", False),
    ],
)
def test_only_pages_of_the_own_server_put_uploads_and_nothing_else(
    emulator: tuple[str, Child], origin: str, method: str, path: str, *, allowed: bool
) -> None:
    create_bucket(emulator[0])
    headers = {"origin": origin}
    reply = httpx2.request(method, f"{emulator[0]}{path}", headers=headers, content=b"{}")
    is_refused = (reply.status_code, reply.text) == (403, "no web page is served here")
    assert is_refused is not allowed
    if allowed and method == "OPTIONS":
        assert reply.headers["access-control-allow-origin"] in (origin, "*")
        assert reply.status_code in (200, 204)


def test_queues_have_the_templates_properties(emulator: tuple[str, Child], tmp_path: Path) -> None:
    endpoint, _ = emulator
    path = tmp_path / "template.yaml"
    path.write_text(TEMPLATE)
    template = read_template(path)
    client = sqs_client(endpoint)
    urls = create_queues(client, template)
    assert urls == {
        "Work": queue_url(endpoint, template.work_queue),
        "Dead": f"{endpoint}/000000000000/dead-letters",
    }
    attributes: Any = client.get_queue_attributes(QueueUrl=urls["Work"], AttributeNames=["All"])
    assert attributes["Attributes"]["VisibilityTimeout"] == "1"
    assert attributes["Attributes"]["MessageRetentionPeriod"] == "3600"
    assert json.loads(attributes["Attributes"]["RedrivePolicy"]) == {
        "deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead-letters",
        "maxReceiveCount": 2,
    }


def test_a_message_received_too_often_goes_to_the_dead_letter_queue(
    emulator: tuple[str, Child], tmp_path: Path
) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(TEMPLATE)
    client = sqs_client(emulator[0])
    urls = create_queues(client, read_template(path))
    client.send_message(QueueUrl=urls["Work"], MessageBody="poison")

    def is_dead() -> bool:
        client.receive_message(QueueUrl=urls["Work"], WaitTimeSeconds=1)
        reply = client.receive_message(QueueUrl=urls["Dead"])
        return [m["Body"] for m in reply.get("Messages", [])] == ["poison"]

    assert eventually(is_dead)


def s3(endpoint: str) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )


def test_an_upload_that_is_cut_in_the_middle_is_not_kept(emulator: tuple[str, Child]) -> None:
    endpoint, _ = emulator
    create_bucket(endpoint)
    url = httpx2.URL(endpoint)
    with socket.create_connection((url.host, url.port), timeout=10) as connection:
        connection.sendall(
            b"PUT /uploads/cut.json HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n"
            b'{"half": '
        )
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass
    assert s3(endpoint).list_objects_v2(Bucket="uploads", Prefix="cut")["KeyCount"] == 0


def test_uploaded_objects_survive_a_kill(tmp_path: Path) -> None:
    with running_emulator(tmp_path) as (endpoint, child):
        s3(endpoint).create_bucket(Bucket="uploads")
        s3(endpoint).put_object(Bucket="uploads", Key="a/b", Body=b"document")
        os.kill(child.pid, signal.SIGKILL)
    with running_emulator(tmp_path) as (endpoint, _):
        reply = s3(endpoint).get_object(Bucket="uploads", Key="a/b")
        assert reply["Body"].read() == b"document"


def test_the_projects_own_template_can_be_followed() -> None:
    template = read_template(ROOT / "template.yaml")
    [mapping] = [mapping for spec in template.functions for mapping in spec.queues]
    assert mapping.reports_item_failures
    assert mapping.maximum_concurrency
    queue = template.work_queue
    assert queue.dead_letter_id in template.queues
    [indexer] = [spec for spec in template.functions if spec.queues]
    # AWS' rule: at least six times the function's timeout.
    assert int(queue.attributes["VisibilityTimeout"]) >= 6 * indexer.timeout_s
    assert [spec.name for spec in template.functions if spec.schedules]
    keys = [route.key for spec in template.functions for route in spec.routes]
    assert len(keys) == len(set(keys))


def test_a_template_with_two_work_queues_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    second = "        Other: { Type: SQS, Properties: { Queue: !GetAtt Dead.Arn } }\n"
    path.write_text(TEMPLATE.replace("  Work:\n", second + "  Work:\n", 1))
    with pytest.raises(TemplateError, match=r"Dead.*Work"):
        _ = read_template(path).work_queue


def test_a_number_that_is_no_number_is_named(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(TEMPLATE.replace("!Ref Seconds", "!Ref Unknown"))
    with pytest.raises(TemplateError, match=r"Work\.VisibilityTimeout"):
        read_template(path)
