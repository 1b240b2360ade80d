"""Plans as rows of Postgres: what is JSON there, and what is compressed."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

from context_search.core.json_text import to_json
from context_search.postgres.pool import json_text
from context_search_editing.rules.edits import Edit, LeftOut
from context_search_editing.rules.plans import (
    Choice,
    Plan,
    PlanCounts,
    PlannedString,
    PlannedTable,
    ReplaceScope,
)
from context_search_editing.rules.replacing import ReplaceRequest

PLAN = """
    plan.id, plan.project_id, plan.state, plan.request, plan.scope, plan.request_hmac, plan.engine,
    plan.created_at, plan.expires_at, plan.mcp_id, plan.undoes,
    (SELECT id FROM replace_plan AS later WHERE later.undoes = plan.id
     AND later.state NOT IN ('failed', 'cancelled', 'expired')),
    plan.after_table, plan.digest, plan.counts, plan.choice, plan.previewed_by, plan.executed_by,
    plan.executed_at, plan.undo_until, plan.request_id, plan.runs, plan.last_error
"""
TABLE = """table_id, revision_seen, matches, bytes, state, reason, revision_before, revision_after,
           replaced, kept, runs"""
STRING = """table_id, position, json_pointer, first_match, matches, before_hash, after_hash,
            final_hash, is_only"""
_Part = TypeVar("_Part", ReplaceRequest, ReplaceScope, PlanCounts, Choice, LeftOut)


def optional_json(value: ReplaceRequest | ReplaceScope | PlanCounts | Choice | None) -> str | None:
    """Returns the JSON text of a part of a plan."""
    if value is None:
        return None
    parts = asdict(value).items()
    return json_text({name: sorted(p) if isinstance(p, frozenset) else p for name, p in parts})


def plan_of(row: Sequence[Any]) -> Plan:
    """Reads the columns ``PLAN``."""
    (plan_id, project_id, state, request, scope, *same, counts, choice) = row[:16]
    values = [
        plan_id,
        project_id,
        state,
        None if request is None else _read(ReplaceRequest, json.loads(request)),
        _scope(json.loads(scope)),
        *same,
        _counts(json.loads(counts)),
        None if choice is None else _choice(json.loads(choice)),
        *row[16:-1],
        None if row[-1] is None else json.loads(row[-1]),
    ]
    return Plan(*values)


def _read(kind: type[_Part], said: Mapping[str, Any], **parts: Any) -> _Part:
    """What only a later release knows is ignored."""
    known = {field.name: said[field.name] for field in fields(kind) if field.name in said}
    return kind(**{**known, **parts})


def _scope(said: Mapping[str, Any]) -> ReplaceScope:
    tables, places = said.get("table_ids"), said.get("places")
    return _read(
        ReplaceScope,
        said,
        table_ids=None if tables is None else tuple(tables),
        places=None if places is None else tuple((table, pointer) for table, pointer in places),
    )


def _counts(said: Mapping[str, Any]) -> PlanCounts:
    left_out = _read(LeftOut, said.get("left_out", {}))
    return _read(PlanCounts, said, left_out=left_out, warnings=tuple(said.get("warnings", ())))


def _choice(said: Mapping[str, Any]) -> Choice:
    only = said.get("only")
    return _read(
        Choice,
        said,
        leave=frozenset(said.get("leave", ())),
        only=None if only is None else frozenset(only),
        leave_tables=frozenset(said.get("leave_tables", ())),
    )


def table_of(row: Sequence[Any]) -> PlannedTable:
    """Reads the columns ``TABLE``."""
    return PlannedTable(*row)


def string_of(row: Sequence[Any]) -> PlannedString:
    """Reads the columns ``STRING`` and the edits."""
    *values, edits = row
    return PlannedString(*[*values, None if edits is None else _edits(edits)])


def string_row(string: PlannedString) -> dict[str, object]:
    """Returns a string as ``jsonb_to_recordset`` takes it; bytes are in base64."""
    return {
        "table_id": string.table_id,
        "position": string.position,
        "json_pointer": string.json_pointer,
        "first_match": string.first_match,
        "matches": string.matches,
        "before_hash": _base64(string.before_hash),
        "after_hash": _base64(string.after_hash),
        "final_hash": _base64(string.final_hash),
        "is_only": string.is_only,
        "edits": _base64(None if string.edits is None else _packed(string.edits)),
    }


def _base64(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode()


def _packed(edits: Sequence[Edit]) -> bytes:
    text = to_json([(edit.start, edit.found, edit.becomes) for edit in edits])
    return zlib.compress(text.encode(), 1)


def _edits(packed: bytes) -> tuple[Edit, ...]:
    return tuple(Edit(*edit) for edit in json.loads(zlib.decompress(packed)))
