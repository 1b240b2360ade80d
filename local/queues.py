"""The template's queues and the bucket of uploads, through the real boto3."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

from local.emulator import CREDENTIALS, UPLOAD_BUCKET
from local.invocation import ACCOUNT, REGION
from local.template import QueueSpec, Template

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

LONG_POLL_S = 20
# The emulator's; real SQS is reached with what the environment says.
_emulator = boto3.Session(
    aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
    aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    region_name=REGION,
)


def sqs_client(endpoint: str | None, connections: int = 10) -> SQSClient:
    """A client for the emulator at ``endpoint``, or for SQS as the environment says if None."""
    config = Config(
        max_pool_connections=connections,
        connect_timeout=5,
        read_timeout=LONG_POLL_S + 10,
        retries={"total_max_attempts": 2},
    )
    if endpoint is None:
        return boto3.client("sqs", config=config)
    return _emulator.client("sqs", endpoint_url=endpoint, config=config)


def create_queues(client: SQSClient, template: Template) -> dict[str, str]:
    """Create the template's queues with its properties; URLs by logical id."""
    urls: dict[str, str] = {}
    # Dead-letter queues first: a redrive policy must name a queue that exists.
    for spec in sorted(
        template.queues.values(), key=lambda queue: queue.dead_letter_id is not None
    ):
        attributes = {**spec.attributes, **_redrive(spec, template.queues)}
        reply = client.create_queue(
            QueueName=spec.name,
            Attributes=cast("Mapping[QueueAttributeNameType, str]", attributes),
        )
        urls[spec.logical_id] = reply["QueueUrl"]
    return urls


def put_upload(endpoint: str, url: str, content: bytes) -> None:
    """Puts an upload of any size where a signed ``url`` of the emulator leads, in parts.

    The emulator takes time with the square of the size of one request.
    """
    _, bucket, key = urlsplit(url).path.split("/", maxsplit=2)
    _s3_client(endpoint).upload_fileobj(io.BytesIO(content), bucket, key)


def create_bucket(endpoint: str) -> None:
    """Create the bucket at the emulator; its objects of earlier runs stay."""
    _s3_client(endpoint).create_bucket(Bucket=UPLOAD_BUCKET)


def _s3_client(endpoint: str) -> S3Client:
    config = Config(s3={"addressing_style": "path"})
    return _emulator.client("s3", endpoint_url=endpoint, config=config)


def _redrive(spec: QueueSpec, queues: Mapping[str, QueueSpec]) -> dict[str, str]:
    if spec.dead_letter_id is None:
        return {}
    target = queues[spec.dead_letter_id].name
    policy = {
        "deadLetterTargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{target}",
        "maxReceiveCount": spec.max_receive_count,
    }
    return {"RedrivePolicy": json.dumps(policy)}
