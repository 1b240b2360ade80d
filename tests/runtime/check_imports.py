"""A large document of small values is imported in the memory that ``index_node`` reckons with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import boto3
import httpx2
import pytest

from context_search.catalog.rules.uploads import import_memory
from local.lambda_jail import LambdaEnvironment
from tests.functions.deployment import Deployment
from tests.functions.test_rotation import Rotating
from tests.runtime.built import BuiltFunctions
from tests.runtime.check_budgets import show

MEGABYTES = int(os.environ.get("IMPORT_MB", "60"))  # noqa: TID251 - tests have no settings
"""Of the document; the template's limit is 250."""
FIT_MB = 150
"""More of these values may be over what Postgres takes as one object."""
SENT_S = 120.0


def records(size: int) -> Iterator[bytes]:
    """A document of about so many bytes, in pieces: records in arrays of ten thousand."""
    written, number = 0, count()
    yield b"{"
    for array in count():
        rows = [
            {
                "id": each,
                "name": f"spare part {each:015}",
                "price": each / 8,
                "tags": ["a"],
                "on": True,
            }
            for each in (next(number) for _ in range(10_000))
        ]
        piece = f'{"," if array else ""}"{array}":{json.dumps(rows)}'.encode()
        written += len(piece)
        yield piece
        if written >= size:
            break
    yield b"}"


def upload(deployed: Deployment, content: bytes) -> tuple[str, str]:
    """The path of an upload that waits for its import, and the key to it."""
    project_id, key = deployed.project()
    body = {"project_id": project_id, "name": "table", "data": {}}
    table = deployed.http("POST", "/api/v1/tables", body, key=key)["json"]
    path = f"/api/v1/tables/{table['id']}/uploads"
    made = deployed.http("POST", path, {"format": "json", "size": len(content)}, key=key)["json"]
    sent = httpx2.request(
        made["method"], made["url"], headers=made["headers"], content=content, timeout=SENT_S
    )
    assert sent.status_code == 200, sent.text
    path = f"{path}/{made['upload_id']}"
    assert deployed.http("POST", f"{path}/complete", key=key)["statusCode"] == 202
    return path, key


def spent(index_node: LambdaEnvironment, deployed: Deployment) -> float:
    """CPU seconds of the work that waits."""
    before = index_node.cpu_s
    deployed.drain()
    return index_node.cpu_s - before


def test_small_values_are_imported_in_the_memory_that_is_reckoned_with(
    rotating: tuple[BuiltFunctions, Rotating], capsys: pytest.CaptureFixture[str]
) -> None:
    built, rotation = rotating
    s3 = boto3.client(
        "s3",
        endpoint_url=built.aws["AWS_ENDPOINT_URL"],
        region_name=built.aws["AWS_DEFAULT_REGION"],
        aws_access_key_id=built.aws["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=built.aws["AWS_SECRET_ACCESS_KEY"],
    )
    s3.create_bucket(Bucket="uploads")
    content = b"".join(records(MEGABYTES * 1_000_000))
    memory_mb = -(-import_memory(len(content)) >> 20)
    functions = dict(built.functions)
    functions["index_node"] = replace(functions["index_node"], memory_mb=memory_mb)
    built = replace(built, functions=functions)
    with built.cold("create_tool") as create_tool, built.cold("index_node") as index_node:
        environments: dict[str, Any] = {"create_tool": create_tool, "index_node": index_node}
        deployed = replace(rotation.deployed, functions=environments)
        path, key = upload(deployed, content)
        cpu_s = spent(index_node, deployed)
        said = deployed.http("GET", path, key=key)["json"]
        show(
            capsys,
            f"index_node   {len(content) / 1e6:.0f} MB of small values imported: {said['status']}, "
            f"{index_node.peak_mb:.0f} MB of {memory_mb}, "
            f"{index_node.peak_mb * 2**20 / len(content):.1f} bytes a byte, {cpu_s:.1f} s of CPU",
        )
    assert said["bytes"] == len(content)
    if said["status"] != "done":
        assert MEGABYTES > FIT_MB, said
        assert said["last_error"]["code"] == "DOCUMENT_TOO_LARGE", said
