"""The rows of the in-memory store. They are immutable, so a snapshot is a shallow copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Literal

from context_search.domain.config import IndexConfig, SearchConfig
from context_search.domain.model import GenerationState, Scope
from context_search.domain.progress import NodeState
from context_search.ports.delivery import SweepCounts
from context_search.ports.queue import Message


@dataclass(frozen=True, slots=True)
class TableRow:
    id: int
    project_id: int
    name: str
    description: str | None
    data_json: str
    revision: int
    updated_at: datetime
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class ToolRow:
    id: int
    project_id: int
    name: str
    description: str | None
    scope: Scope
    search: SearchConfig
    created_at: datetime
    summary: Mapping[str, object] | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class IndexRow:
    id: int
    project_id: int
    table_id: int
    config: IndexConfig
    generation_id: int


@dataclass(frozen=True, slots=True)
class GenerationRow:
    id: int
    index_id: int | None
    namespace: str
    config: IndexConfig
    number: int = 1
    state: GenerationState = "active"
    enumerated_revision: int | None = None
    switched_at: datetime | None = None
    retired_at: datetime | None = None
    sweep_after: str = ""
    sweep_counts: SweepCounts = field(default_factory=SweepCounts)
    swept_at: datetime | None = None
    integrity: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class CoverageRow:
    tool_id: int
    index_id: int
    scope: str


@dataclass(frozen=True, slots=True)
class NodeRow:
    id: int
    generation_id: int
    table_id: int
    json_pointer: str
    content_hash: str
    char_count: int
    content: str | None
    state: NodeState
    next_at: datetime
    changed_at: datetime
    fence: int = 0
    attempt: int = 0
    lease_until: datetime | None = None
    last_error: Mapping[str, object] | None = None
    active_set_id: int | None = None
    indexed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SetRow:
    id: int
    node_id: int
    content_hash: str
    state: Literal["building", "active"]
    chunks_count: int


@dataclass(frozen=True, slots=True)
class ChunkRow:
    id: int
    table_id: int
    set_id: int
    json_pointer: str
    index: int
    total: int
    text: str
    start: int
    end: int
    content_hash: str
    namespace: str
    doc_id: str
    input_hash: bytes
    window_count: int = 1
    present: bool = False


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    namespace: str
    doc_id: str
    window_count: int
    created_at: datetime
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class OutboxRow:
    id: int
    body: Message
    created_at: datetime
    claimed_until: datetime | None = None


@dataclass(slots=True)
class Rows:
    """All tables, by key. ``copy`` is cheap: the rows themselves are shared."""

    projects: dict[int, str] = field(default_factory=dict)
    keys: dict[bytes, int] = field(default_factory=dict)
    tables: dict[int, TableRow] = field(default_factory=dict)
    tools: dict[int, ToolRow] = field(default_factory=dict)
    indexes: dict[int, IndexRow] = field(default_factory=dict)
    generations: dict[int, GenerationRow] = field(default_factory=dict)
    coverage: dict[int, CoverageRow] = field(default_factory=dict)
    nodes: dict[int, NodeRow] = field(default_factory=dict)
    sets: dict[int, SetRow] = field(default_factory=dict)
    chunks: dict[int, ChunkRow] = field(default_factory=dict)
    tombstones: dict[tuple[str, str], TombstoneRow] = field(default_factory=dict)
    outbox: dict[int, OutboxRow] = field(default_factory=dict)
    last_id: int = 0

    def copy(self) -> Rows:
        """Returns a snapshot."""
        copies: dict[str, Any] = {}
        for column in fields(self):
            value = getattr(self, column.name)
            copies[column.name] = dict(value) if isinstance(value, dict) else value
        return Rows(**copies)

    def new_id(self) -> int:
        """Returns a number never given before (not even by a transaction that was rolled back)."""
        self.last_id += 1
        return self.last_id

    def change(self, table: dict[Any, Any], row_id: object, **values: object) -> None:
        """Overwrites columns of a row; does nothing when the row is gone."""
        if row_id in table:
            table[row_id] = replace(table[row_id], **values)
