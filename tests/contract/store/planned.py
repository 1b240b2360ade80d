"""Plans, their documents and their strings, as tests of a store make them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from context_search_editing.rules.edits import string_hash
from context_search_editing.rules.plans import (
    NewPlan,
    Plan,
    PlannedString,
    PlannedTable,
    ReplaceScope,
)
from context_search_editing.rules.replacing import ReplaceRequest
from tests.builders import present
from tests.contract.store.bench import Bench

LATER = datetime(2100, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ASKED = ReplaceRequest(
    '废弃"仓库"\n\\u0041 𠮷👩‍🚒 ', "$1\t", case_sensitive=False, whole_word=True, regex=True
)


def asked(project_id: int, request: ReplaceRequest | None = ASKED, **more: object) -> NewPlan:
    """A plan that is asked for."""
    new = NewPlan(project_id, request, ReplaceScope(), b"\0hmac\xff", "re2 1", 600.0, "key:7")
    return replace(new, **more)  # type: ignore[arg-type]


def added(bench: Bench, project_id: int, **more: object) -> Plan:
    """A plan that is stored."""
    return present(bench.work.plans.add(asked(project_id, **more)))  # type: ignore[arg-type]


def undo_of(bench: Bench, plan: Plan) -> Plan | None:
    """A plan that undoes another, if that may be undone."""
    return bench.work.plans.add(asked(plan.project_id, None, undoes=plan.id))


def saved(bench: Bench, plan: Plan, **changes: object) -> Plan:
    """Changes a plan."""
    bench.work.plans.save(replace(plan, **changes))  # type: ignore[arg-type]
    return read(bench, plan)


def read(bench: Bench, plan: Plan) -> Plan:
    """A plan as it is stored."""
    return present(bench.work.plans.lock(plan.id))


def table(table_id: int, **more: object) -> PlannedTable:
    """A document of a plan."""
    return replace(PlannedTable(table_id, revision_seen=3, matches=1, bytes=9), **more)  # type: ignore[arg-type]


def string(
    table_id: int, position: int, first_match: int, matches: int = 1, **more: object
) -> PlannedString:
    """A string of a document of a plan."""
    before, after = string_hash(f"before {position}"), string_hash(f"after {position}")
    pointer = f"/章/{position}/~1"
    shown = PlannedString(table_id, position, pointer, first_match, matches, before, after)
    return replace(shown, **more)  # type: ignore[arg-type]
