"""How much indexes hold, and how many are built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """How much an index holds; ``bytes`` are of the chunks' text in UTF-8.

    Of a large index ``characters`` and ``bytes`` are estimated, by the texts of 5,000 chunks.
    """

    nodes: int
    chunks: int
    characters: int
    bytes: int


@dataclass(frozen=True, slots=True)
class UnderWay:
    """How many generations are being built, and how many wait until their project has room."""

    building: int
    queued: int


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A searchable chunk: its text, its place, and what turbopuffer calls its vectors."""

    text: str
    table_id: int
    json_pointer: str
    index: int
    doc_id: str
    window_count: int
