"""The bucket of uploads through the real boto3."""

from __future__ import annotations

import boto3
from botocore.config import Config

from local.emulator import CREDENTIALS, UPLOAD_BUCKET
from local.invocation import REGION


def create_bucket(endpoint: str) -> None:
    """Create the bucket at the emulator; its objects of earlier runs stay."""
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(s3={"addressing_style": "path"}),
    )
    client.create_bucket(Bucket=UPLOAD_BUCKET)
