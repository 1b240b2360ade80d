"""The row that says which scope of an index a tool needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoverageRow:
    index_id: int
    scope: str
