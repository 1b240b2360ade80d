"""Rows of turbopuffer that are to be deleted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A vector row that must leave turbopuffer."""

    namespace: str
    doc_id: str
    window_count: int
