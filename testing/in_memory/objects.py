"""An S3 in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from context_search.core.errors import UploadMissingError
from context_search.integrations.ports import SignedPut

PIECE = 65_536


@dataclass(slots=True)
class DictObjects:
    """The port ``Objects``. Whoever has a signed request puts into ``contents`` by its URL."""

    contents: dict[str, bytes] = field(default_factory=dict)

    def sign_put(self, key: str, *, content_type: str, size: int, expires_s: int) -> SignedPut:
        """The URL is the key, and nothing expires."""
        del size, expires_s
        return SignedPut(key, {"Content-Type": content_type})

    def size(self, key: str) -> int | None:
        return len(self.contents[key]) if key in self.contents else None

    def read(self, key: str) -> Iterator[bytes]:
        if key not in self.contents:
            raise UploadMissingError("nothing was uploaded")
        content = self.contents[key]
        yield from (content[at : at + PIECE] for at in range(0, len(content), PIECE))

    def delete(self, key: str) -> None:
        self.contents.pop(key, None)
