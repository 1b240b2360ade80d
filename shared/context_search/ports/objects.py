"""S3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SignedPut:
    """A request that stores an object: the only thing that its bearer may do with the bucket."""

    url: str
    headers: Mapping[str, str]
    method: str = "PUT"


class Objects(Protocol):
    """S3. Raises ObjectsUnavailableError when it does not answer."""

    def sign_put(
        self, key: str, *, content_type: str, size: int | None, expires_s: int
    ) -> SignedPut:
        """Returns a request that stores an object; with ``size``, one of exactly so many bytes."""
        ...

    def size(self, key: str) -> int | None:
        """Returns the length of an object in bytes, None without one."""
        ...

    def read(self, key: str) -> Iterator[bytes]:
        """Yields an object piece by piece. Raises UploadMissingError without one."""
        ...

    def delete(self, key: str) -> None:
        """Deletes an object, or nothing when there is none."""
        ...
