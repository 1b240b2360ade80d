"""The states of generations, in memory: what writes one is here."""

from __future__ import annotations

from collections.abc import Callable

from context_search.core.config import IndexConfig
from context_search.core.ids import generation_namespace
from context_search.core.model import GenerationState
from context_search.integrations.ports import Clock
from tests.faults.simulation.model.rows import DEPLOYMENT, GenerationRow, IndexRow, Rows


def add(
    rows: Rows,
    clock: Clock,
    index: IndexRow,
    config: IndexConfig,
    state: GenerationState,
    namespace: str | None = None,
) -> GenerationRow:
    """Adds the next generation of an index, with a namespace of its own if none is given."""
    numbers = [row.number for row in rows.generations.values() if row.index_id == index.id]
    number = 1 + max(numbers, default=0)
    name = namespace or generation_namespace(
        DEPLOYMENT,
        project_id=index.project_id,
        table_id=index.table_id,
        index_id=index.id,
        number=number,
    )
    row = GenerationRow(rows.new_id(), index.id, name, config, clock.now(), number, state)
    rows.generations[row.id] = row
    return row


def retire(rows: Rows, clock: Clock, which: Callable[[GenerationRow], bool]) -> bool:
    """Retires the generations that meet a condition; says whether there were any."""
    found = [row for row in rows.generations.values() if row.state != "retired" and which(row)]
    for row in found:
        rows.change(rows.generations, row.id, state="retired", retired_at=clock.now())
    return bool(found)
