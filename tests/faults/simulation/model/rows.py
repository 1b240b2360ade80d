"""The rows of the store in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

from context_search.catalog.rules.settings import StoredSettings
from context_search.catalog.rules.versions import Content, Gap, Origin
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.filters import Fields
from context_search.core.limits import Spent
from context_search.core.model import GenerationState, IndexCalibration, Scope
from context_search.core.progress import EvictionCause, NodeState
from context_search.indexing.rules.comparisons import ComparedSection
from context_search.integrations.ports import MessageBody
from context_search.maintenance.rules.health import CleanupRun
from context_search.maintenance.rules.sweeps import SweepCounts
from context_search_editing.rules.plans import Plan, PlannedString, PlannedTable
from tests.faults.simulation.model.journal import Journal, Journaled


@dataclass(frozen=True, slots=True)
class IndexRow:
    id: int
    project_id: int
    table_id: int | None
    config: IndexConfig
    generation_id: int
    created_at: datetime
    last_searched_at: datetime | None = None
    evicted_at: datetime | None = None
    evicted_by: EvictionCause | None = None
    order_error: Mapping[str, object] | None = None
    summarised_at: datetime | None = None
    fields: tuple[str, ...] = ()

    @property
    def used_at(self) -> datetime:
        """When it was searched last, or else created."""
        return self.last_searched_at or self.created_at


Vectors = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class GenerationRow:
    id: int
    index_id: int | None
    namespace: str
    config: IndexConfig
    created_at: datetime
    number: int = 1
    state: GenerationState = "active"
    switched_at: datetime | None = None
    retired_at: datetime | None = None
    sweep_after: str = ""
    sweep_counts: SweepCounts = field(default_factory=SweepCounts)
    swept_at: datetime | None = None
    integrity: Mapping[str, object] | None = None
    calibration: IndexCalibration | None = None


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
    fields: Fields | None = None


@dataclass(frozen=True, slots=True)
class SetRow:
    id: int
    node_id: int
    content_hash: str
    state: Literal["partial", "active"]
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
    rows_hash: bytes
    window_count: int = 1
    present: bool = False
    tokens: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TombstoneRow:
    namespace: str
    doc_id: str
    window_count: int
    created_at: datetime
    deleted_at: datetime | None = None


DEPLOYMENT = "local00000"
"""The id of the deployment in memory."""


class Rows:
    """All tables, by key. Rows are immutable; ``version`` grows with each commit that wrote."""

    def __init__(self) -> None:
        self.journal = journal = Journal()
        self.projects: Journaled[int, str] = Journaled(journal)
        self.cleanup_runs: Journaled[int, CleanupRun] = Journaled(journal)
        self.project_removals: Journaled[int, datetime] = Journaled(journal)
        self.tables: Journaled[int, TableRow] = Journaled(journal)
        self.tools: Journaled[int, ToolRow] = Journaled(journal)
        self.indexes: Journaled[int, IndexRow] = Journaled(journal)
        self.generations: Journaled[int, GenerationRow] = Journaled(journal)
        self.compared: Journaled[tuple[int, int], tuple[int, tuple[str, ...]]] = Journaled(journal)
        self.fielded: Journaled[tuple[int, int], tuple[str, ...]] = Journaled(journal)
        self.sections: Journaled[
            tuple[int, int],
            tuple[tuple[int, tuple[str, ...]] | None, Mapping[bytes, ComparedSection]],
        ] = Journaled(journal)
        self.short_strings: Journaled[tuple[int, int], Mapping[str, int]] = Journaled(journal)
        self.refused: Journaled[tuple[int, int], Mapping[str, object]] = Journaled(journal)
        self.ordered: Journaled[tuple[int, int], datetime] = Journaled(journal)
        self.of_comparisons: tuple[Journaled[tuple[int, int], Any], ...] = (
            self.compared,
            self.fielded,
            self.sections,
            self.short_strings,
            self.refused,
            self.ordered,
        )
        self.coverage: Journaled[int, CoverageRow] = Journaled(journal)
        self.nodes: Journaled[int, NodeRow] = Journaled(journal)
        self.sets: Journaled[int, SetRow] = Journaled(journal)
        self.chunks: Journaled[int, ChunkRow] = Journaled(journal)
        self.words_backlog: Journaled[int, datetime] = Journaled(journal)
        self.tombstones: Journaled[tuple[str, str], TombstoneRow] = Journaled(journal)
        self.outbox: Journaled[int, OutboxRow] = Journaled(journal)
        self.permits: Journaled[tuple[str, int], PermitRow] = Journaled(journal)
        self.project_settings: Journaled[tuple[int, str], StoredSettings[Any]] = Journaled(journal)
        self.versions: Journaled[tuple[int, int, int], VersionRow] = Journaled(journal)
        self.pieces: Journaled[tuple[int, int, bytes], bytes] = Journaled(journal)
        self.histories: Journaled[tuple[int, int], datetime] = Journaled(journal)
        self.asked: Journaled[tuple[str, int, bytes], Vectors] = Journaled(journal)
        self.plans: Journaled[int, PlanRow] = Journaled(journal)
        self.planned_tables: Journaled[tuple[int, int], PlannedTable] = Journaled(journal)
        self.planned_strings: Journaled[tuple[int, int, int], PlannedString] = Journaled(journal)
        self.ledger: Journaled[tuple[int, date], Spent] = Journaled(journal)
        self._last_id = self.version = 0

    def commit(self) -> None:
        """Keeps what was written since the last commit."""
        if self.journal.commit():
            self.version += 1

    def roll_back(self) -> None:
        """Forgets what was written since the last commit."""
        self.journal.roll_back()

    def new_id(self) -> int:
        """Returns a number never given before (not even by a transaction that was rolled back)."""
        self._last_id += 1
        return self._last_id

    def change(self, table: Journaled[Any, Any], row_id: object, **values: object) -> None:
        """Overwrites columns of a row; does nothing when the row is gone."""
        if row_id in table:
            table[row_id] = replace(table[row_id], **values)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleRows:
    """``deleted``: in its owner's trash; ``remove_at``: deleted by our API, and removed then."""

    deleted: bool = False
    remove_at: datetime | None = None

    @property
    def is_there(self) -> bool:
        """Whether anybody sees it."""
        return not self.deleted and self.remove_at is None


@dataclass(frozen=True, slots=True)
class TableRow(VisibleRows):
    id: int
    project_id: int
    name: str | None
    description: str | None
    data_json: str
    revision: int
    updated_at: datetime
    url_template: str | None = None


@dataclass(frozen=True, slots=True)
class ToolRow(VisibleRows):
    id: int
    project_id: int
    name: str
    description: str | None
    scope: Scope
    search: SearchConfig
    created_at: datetime
    summary: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class CoverageRow:
    index_id: int
    scope: str


@dataclass(frozen=True, slots=True)
class OutboxRow:
    id: int
    body: MessageBody
    created_at: datetime
    project_id: int
    key: str | None
    is_long: bool = False
    claimed_until: datetime | None = None
    claimed_at: datetime | None = None
    sent_at: datetime | None = None
    begun_at: datetime | None = None
    due_at: datetime | None = None
    times_lost: int = 0


@dataclass(frozen=True, slots=True)
class PermitRow:
    holder: str | None
    lease_until: datetime


@dataclass(frozen=True, slots=True)
class VersionRow:
    """``origin`` None: from before versions were recorded."""

    revision: int
    origin: Origin | None = None
    label: str | None = None
    content: Content | None = None
    gap: Gap | None = None
    created_at: datetime | None = None
    overwritten_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PlanRow:
    plan: Plan
    saved_at: datetime
    texts_until: datetime | None
    kept_until: datetime
