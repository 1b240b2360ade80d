"""What relevance is measured by, a generation of an index at a time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A searchable chunk: its text, its place, and what turbopuffer calls its vectors."""

    text: str
    table_id: int
    json_pointer: str
    index: int
    doc_id: str
    window_count: int
