"""A document's JSON text as pieces that are named by their content.

Content-defined chunking (FastCDC: Xia et al., USENIX ATC 2016) cuts where the text says so, not at
fixed offsets. An edit changes the pieces that it touches; all others of the next version are there
already. Where the cuts are is no contract: old pieces are joined again whoever cut them.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from context_search.catalog.rules.versions import Content
from context_search.core.errors import VersionDamagedError

AVERAGE_BYTES = 32_768
MIN_BYTES = 8_192
MAX_BYTES = 131_072
_LEVEL = 1
"""Of zlib: 100 MB a second, and JSON becomes a third."""


@dataclass(frozen=True, slots=True)
class CutText:
    """A text with its pieces: what is recorded, and the bytes of each piece by its hash."""

    content: Content
    pieces: Mapping[bytes, memoryview]


def cut(text: str) -> CutText:
    """Returns the pieces of a text, and what joins them again."""
    # At the first change: it takes 30 ms. Not from pyfastcdc, which falls back to Python, a hundred
    # times slower, with a warning only.
    from pyfastcdc.cy import FastCDC  # noqa: PLC0415

    encoded = text.encode()
    # One for each text: it is not safe for two threads.
    cutter = FastCDC(AVERAGE_BYTES, min_size=MIN_BYTES, max_size=MAX_BYTES)
    pieces: dict[bytes, memoryview] = {}
    names = []
    for chunk in cutter.cut_buf(encoded):
        name = hashlib.sha256(chunk.data).digest()
        pieces[name] = chunk.data
        names.append(name)
    sha256 = hashlib.sha256(encoded).digest()
    return CutText(Content(len(encoded), sha256, tuple(names)), pieces)


def packed(piece: memoryview) -> bytes:
    """Returns a piece as it is stored."""
    return zlib.compress(piece, _LEVEL)


def joined(stored: Iterable[bytes], sha256: bytes) -> str:
    """Returns the text of stored pieces in order.

    Raises VersionDamagedError when it is not the text that was recorded.
    """
    try:
        encoded = b"".join(map(zlib.decompress, stored))
    except zlib.error:
        raise VersionDamagedError("a piece of the version cannot be read") from None
    if hashlib.sha256(encoded).digest() != sha256:
        raise VersionDamagedError("the pieces of the version are not those that were recorded")
    return encoded.decode()
