"""Uploads through the deployed functions: moto's S3 and SQS, PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import httpx2
import pytest

from tests.builders import english
from tests.functions.deployment import CANARY, Deployment

pytestmark = [pytest.mark.stack, pytest.mark.usefixtures("words", "bucket")]

LIMIT = 50_000


@pytest.fixture(scope="module")
def bucket(deployed: Deployment) -> Iterator[Any]:
    """A bucket of its own, and a limit that is easy to reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UPLOAD_BUCKET", "canaries")
        patch.setenv("UPLOAD_MAX_BYTES", str(LIMIT))
        deployed.restart()
        s3 = boto3.resource("s3")
        s3.create_bucket(Bucket="canaries")
        yield s3.Bucket("canaries")
        deployed.restart()


def begin(deployed: Deployment, tool: dict[str, Any], size: int) -> dict[str, Any]:
    path = f"/api/v1/tables/{tool['table_id']}/uploads"
    made = deployed.http("POST", path, {"format": "json", "size": size}, key=tool["key"])
    assert made["statusCode"] == 201, made
    return {**made["json"], "path": f"{path}/{made['json']['upload_id']}"}


def send(deployed: Deployment, tool: dict[str, Any], upload: dict[str, Any], content: bytes) -> int:
    """Puts the document where the answer said, and says that it is there."""
    reply = httpx2.request(
        upload["method"], upload["url"], headers=upload["headers"], content=content
    )
    assert reply.status_code == 200, reply.text
    answer = deployed.http("POST", f"{upload['path']}/complete", key=tool["key"])
    return int(answer["statusCode"])


def state(deployed: Deployment, tool: dict[str, Any], upload: dict[str, Any]) -> dict[str, Any]:
    reported: dict[str, Any] = deployed.http("GET", upload["path"], key=tool["key"])["json"]
    return reported


def test_a_document_is_imported_indexed_and_removed_from_s3(
    deployed: Deployment, bucket: Any, log: list[str]
) -> None:
    tool = deployed.tool({})
    deployed.drain()
    content = json.dumps({"a": english(400), "canary": CANARY}).encode()
    upload = begin(deployed, tool, len(content))
    assert "content-length" in httpx2.URL(upload["url"]).params["X-Amz-SignedHeaders"]
    assert send(deployed, tool, upload, content) == 202
    number = upload["upload_id"]
    [[project_id]] = deployed.sql("SELECT project_id FROM upload WHERE id = :id", id=number)
    assert [each.key for each in bucket.objects.all()] == [f"uploads/{project_id}/{number}"]
    deployed.drain()
    reported = state(deployed, tool, upload)
    assert (reported["status"], reported["revision"], reported["bytes"]) == (
        "done",
        2,
        len(content),
    )
    assert list(bucket.objects.all()) == []
    assert deployed.documents(tool["namespace"])
    assert any('"outcome":"done"' in line.replace(" ", "") for line in log)


def test_an_import_waits_for_s3_and_comes_back(deployed: Deployment, log: list[str]) -> None:
    tool = deployed.tool({})
    deployed.drain()
    upload = begin(deployed, tool, 3)
    assert send(deployed, tool, upload, b"[1]") == 202
    messages = deployed.receive()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9")
        deployed.restart()
        assert deployed.index(messages) == {message["MessageId"] for message in messages}
    deployed.restart()
    assert state(deployed, tool, upload)["status"] == "importing"
    assert deployed.index(messages) == set()
    assert state(deployed, tool, upload)["status"] == "done"
    assert deployed.index(messages) == set()
    assert state(deployed, tool, upload)["revision"] == 2


def test_cleanup_forgets_what_nobody_completed(deployed: Deployment, bucket: Any) -> None:
    tool = deployed.tool({})
    deployed.drain()
    upload = begin(deployed, tool, 3)
    reply = httpx2.put(upload["url"], headers=upload["headers"], content=b"[1]")
    assert reply.status_code == 200
    deployed.sql("UPDATE upload SET created_at = created_at - interval '25 hours'")
    assert deployed.clean_up()["uploads_forgotten"] >= 1
    assert list(bucket.objects.all()) == []
    assert deployed.http("GET", upload["path"], key=tool["key"])["statusCode"] == 404
