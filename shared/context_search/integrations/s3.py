"""S3 behind the port ``Objects``."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from context_search.core.errors import ObjectsUnavailableError, UploadMissingError
from context_search.integrations.ports import SignedPut

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PIECE = 1 << 20
# Who may not list a bucket is told 403 for an object that is not there.
_ABSENT = {"404", "403", "NoSuchKey", "AccessDenied"}


def s3_config(known: Container[str] = Config.OPTION_DEFAULTS) -> Config:
    """How S3 is called; ``known`` are the options of this botocore, which on Lambda is AWS's."""
    # The uploading client would have to make a checksum. Before 1.36 botocore asked for none.
    option = "request_checksum_calculation"
    checksums: dict[str, Any] = {option: "when_required"} if option in known else {}
    return Config(
        signature_version="s3v4",
        # Paths, because they lead to the region's own endpoint, which knows a new bucket at once,
        # and to an emulator at an address.
        s3={"addressing_style": "path"},
        connect_timeout=3,
        read_timeout=20,
        retries={"mode": "standard", "max_attempts": 3},
        **checksums,
    )


def s3_client() -> S3Client:
    """Returns a client for the region and endpoint of the environment."""
    return boto3.client("s3", config=s3_config())


@dataclass(frozen=True, slots=True)
class S3Objects:
    """One bucket."""

    client: S3Client
    bucket: str

    def sign_put(self, key: str, *, content_type: str, size: int, expires_s: int) -> SignedPut:
        """The length is signed, so that S3 refuses another one."""
        if not self.bucket:
            raise ObjectsUnavailableError("UPLOAD_BUCKET is not set")
        url = self.client.generate_presigned_url(
            "put_object",
            Params={
                "Bucket": self.bucket,
                "Key": key,
                "ContentType": content_type,
                "ContentLength": size,
            },
            ExpiresIn=expires_s,
        )
        return SignedPut(url, {"Content-Type": content_type})

    def size(self, key: str) -> int | None:
        try:
            return self.client.head_object(Bucket=self.bucket, Key=key)["ContentLength"]
        except (BotoCoreError, ClientError) as error:
            if _code(error) in _ABSENT:
                return None
            _unavailable(error)

    def read(self, key: str) -> Iterator[bytes]:
        try:
            body = self.client.get_object(Bucket=self.bucket, Key=key)["Body"]
            yield from body.iter_chunks(PIECE)
        except (BotoCoreError, ClientError) as error:
            if _code(error) in _ABSENT:
                raise UploadMissingError("nothing was uploaded") from None
            _unavailable(error)

    def delete(self, key: str) -> None:
        try:
            self.client.delete_object(Bucket=self.bucket, Key=key)
        except (BotoCoreError, ClientError) as error:
            _unavailable(error)


def _code(error: Exception) -> str:
    return error.response["Error"].get("Code", "") if isinstance(error, ClientError) else ""


def _unavailable(error: Exception) -> NoReturn:
    # Its text may hold a signature.
    raise ObjectsUnavailableError(f"S3: {type(error).__name__} {_code(error)}".rstrip()) from None
