"""Contract of ``Objects``."""

from __future__ import annotations

import socket

import httpx2
import pytest

from context_search.core.errors import ObjectsUnavailableError, UploadMissingError
from context_search.integrations.ports import Objects, SignedPut
from context_search.integrations.s3 import S3Objects, s3_client
from testing.in_memory.objects import DictObjects

KEY = "uploads/1/2"


def signed(objects: Objects, size: int = 1) -> SignedPut:
    return objects.sign_put(KEY, content_type="application/json", size=size, expires_s=60)


def put(objects: Objects, content: bytes) -> None:
    """Does what the signed request says, as anybody could."""
    request = signed(objects, len(content))
    if isinstance(objects, DictObjects):
        objects.contents[request.url] = content
        return
    reply = httpx2.request(
        request.method, request.url, headers=dict(request.headers), content=content
    )
    assert reply.status_code == 200, reply.text


@pytest.mark.parametrize("length", [1, 7, 3_000_000])
def test_what_was_put_is_read(objects: Objects, length: int) -> None:
    content = bytes(number % 251 for number in range(length))
    put(objects, content)
    assert objects.size(KEY) == length
    assert b"".join(objects.read(KEY)) == content
    put(objects, b"2")
    assert b"".join(objects.read(KEY)) == b"2"


def test_what_is_not_there_has_no_size_and_cannot_be_read(objects: Objects) -> None:
    signed(objects)
    assert objects.size(KEY) is None
    with pytest.raises(UploadMissingError):
        list(objects.read(KEY))
    objects.delete(KEY)


def test_what_is_deleted_is_gone(objects: Objects) -> None:
    put(objects, b"[]")
    objects.delete(KEY)
    assert objects.size(KEY) is None


def test_the_request_says_what_it_is_for(objects: Objects) -> None:
    request = signed(objects)
    assert (request.method, request.headers) == ("PUT", {"Content-Type": "application/json"})


def test_s3_signs_type_and_length_for_the_bucket_and_key_alone(aws: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in aws.items():
            patch.setenv(name, value)
        url = httpx2.URL(signed(S3Objects(s3_client(), "bucket"), 7).url)
    assert url.path == f"/bucket/{KEY}"
    assert url.params["X-Amz-SignedHeaders"] == "content-length;content-type;host"
    assert url.params["X-Amz-Expires"] == "60"
    assert not [name for name in url.params if "checksum" in name.lower()]


def test_the_address_is_that_of_the_region() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ENDPOINT_URL", raising=False)
        patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        patch.setenv("AWS_ACCESS_KEY_ID", "a")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "b")
        url = httpx2.URL(signed(S3Objects(s3_client(), "bucket")).url)
    assert (url.scheme, url.host) == ("https", "s3.eu-west-1.amazonaws.com")


def test_an_s3_that_is_away_or_not_configured_is_unavailable(aws: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch, socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen: every connection is refused
        for name, value in aws.items():
            patch.setenv(name, value)
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        away = S3Objects(s3_client(), "bucket")
        assert_away(away)


def assert_away(away: S3Objects) -> None:
    with pytest.raises(ObjectsUnavailableError):
        away.size(KEY)
    with pytest.raises(ObjectsUnavailableError):
        away.delete(KEY)
    with pytest.raises(ObjectsUnavailableError):
        list(away.read(KEY))
    with pytest.raises(ObjectsUnavailableError):
        signed(S3Objects(away.client, ""))
