"""The rows of tables and tools, and whether they are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from context_search.domain.config import SearchConfig
from context_search.domain.model import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """``deleted``: in its owner's trash; ``remove_at``: deleted by our API, and removed then."""

    deleted: bool = False
    remove_at: datetime | None = None

    @property
    def is_there(self) -> bool:
        """Whether anybody sees it."""
        return not self.deleted and self.remove_at is None


@dataclass(frozen=True, slots=True)
class TableRow(Presence):
    id: int
    project_id: int
    name: str | None
    description: str | None
    data_json: str
    revision: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ToolRow(Presence):
    id: int
    project_id: int
    name: str
    description: str | None
    scope: Scope
    search: SearchConfig
    created_at: datetime
    summary: Mapping[str, object] | None = None
