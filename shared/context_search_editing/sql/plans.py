"""Plans to replace in Postgres: their rows, what is JSON in them, and what is compressed."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeVar

from context_search.core.json_text import to_json
from context_search.postgres.pool import Transaction, bulk, json_text
from context_search_editing.rules.edits import Edit, LeftOut
from context_search_editing.rules.plans import (
    EXPIRED,
    PLAN_KEPT_S,
    TEXTS_OUTLIVE_S,
    Choice,
    NewPlan,
    OpenPlans,
    Plan,
    PlanCounts,
    PlannedString,
    PlannedTable,
    PlannedTableState,
    ReplaceScope,
)
from context_search_editing.rules.replacing import ReplaceRequest

_PLAN = """
    plan.id, plan.project_id, plan.state, plan.request, plan.scope, plan.request_hmac, plan.engine,
    plan.created_at, plan.expires_at, plan.mcp_id, plan.undoes,
    (SELECT id FROM replace_plan AS later WHERE later.undoes = plan.id
     AND later.state NOT IN ('failed', 'cancelled', 'expired')),
    plan.after_table, plan.digest, plan.counts, plan.choice, plan.previewed_by, plan.executed_by,
    plan.executed_at, plan.undo_until, plan.request_id, plan.runs, plan.last_error
"""
_TABLE = """table_id, revision_seen, matches, bytes, state, reason, revision_before, revision_after,
           replaced, kept, runs"""
_STRING = """table_id, position, json_pointer, first_match, matches, before_hash, after_hash,
            final_hash, is_only"""
_Part = TypeVar("_Part", ReplaceRequest, ReplaceScope, PlanCounts, Choice, LeftOut)

_IS_OPEN = "state IN ('previewing', 'ready')"
_ENDED = "state NOT IN ('previewing', 'ready', 'executing')"

_TABLES = """
    jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
        table_id bigint, revision_seen bigint, matches int, bytes bigint, state text, reason text,
        revision_before bigint, revision_after bigint, replaced int, kept int, runs int)
"""
_IS_LAST = "NOT EXISTS (SELECT FROM replace_plan AS undo WHERE undo.undoes = replace_plan.id)"


@dataclass(frozen=True, slots=True)
class Plans:
    """Plans to replace, their tables and their strings.

    A plan is changed by who has locked it. Tables are in the order of their ids, strings in that
    of the document.
    """

    DUE: ClassVar = """
        SELECT saved_at + make_interval(secs => :silent) FROM replace_plan
        WHERE state IN ('previewing', 'executing')
        UNION ALL SELECT min(expires_at) FROM replace_plan WHERE state IN ('previewing', 'ready')
        UNION ALL SELECT min(texts_until) FROM replace_plan WHERE texts_until IS NOT NULL
        UNION ALL (
            SELECT kept_until FROM replace_plan AS plan
            WHERE NOT EXISTS (SELECT FROM replace_plan WHERE undoes = plan.id)
            ORDER BY kept_until LIMIT 1)
    """
    tx: Transaction

    def open(self, project_id: int) -> OpenPlans:
        """Counts plans that are neither executed nor expired, unless they have nothing to do.

        Others who ask the same wait until the transaction ends, so that none is made uncounted.
        """
        self.tx.run(
            "SELECT pg_advisory_xact_lock(hashtextextended('context_search.plans', :project))",
            project=project_id,
        )
        [[plans, previews]] = self.tx.run(
            f"""
            SELECT count(*), count(*) FILTER (WHERE state = 'previewing') FROM replace_plan
            WHERE project_id = :project AND {_IS_OPEN} AND expires_at > clock_timestamp()
                  AND NOT (state = 'ready' AND counts ->> 'matches' = '0')
            """,
            project=project_id,
        )
        return OpenPlans(plans, previews)

    def add(self, new: NewPlan) -> Plan | None:
        """Creates a plan in its first state.

        None: the other one is undone already, or is just being undone.
        """
        rows = self.tx.run(
            f"""
            INSERT INTO replace_plan AS plan (
                project_id, mcp_id, undoes, state, request, scope, request_hmac, engine,
                previewed_by, request_id, expires_at, texts_until, kept_until)
            VALUES (:project, :mcp, :undoes, :state, CAST(:request AS jsonb),
                    CAST(:scope AS jsonb), :hmac, :engine, :actor, :request_id,
                    now() + make_interval(secs => :lifetime),
                    now() + make_interval(secs => :lifetime + :outlive),
                    now() + make_interval(secs => :kept))
            ON CONFLICT (undoes) WHERE state NOT IN ('failed', 'cancelled', 'expired') DO NOTHING
            RETURNING {_PLAN}
            """,
            project=new.project_id,
            mcp=new.mcp_id,
            undoes=new.undoes,
            state=new.state,
            request=_optional_json(new.request),
            scope=_optional_json(new.scope),
            hmac=new.request_hmac,
            engine=new.engine,
            actor=new.actor,
            request_id=new.request_id,
            lifetime=new.lifetime_s,
            outlive=TEXTS_OUTLIVE_S,
            kept=PLAN_KEPT_S,
        )
        return _plan_of(rows[0]) if rows else None

    def find(self, plan_id: int, *, project_id: int) -> Plan | None:
        """Returns a plan of that project."""
        rows = self.tx.run(
            f"SELECT {_PLAN} FROM replace_plan AS plan WHERE id = :id AND project_id = :project",
            id=plan_id,
            project=project_id,
        )
        return _plan_of(rows[0]) if rows else None

    def lock(self, plan_id: int) -> Plan | None:
        """Returns a plan and keeps others from changing it until the transaction ends."""
        # First the lock: who waited for it must not see the plan as it was before.
        self.tx.run("SELECT FROM replace_plan WHERE id = :id FOR UPDATE", id=plan_id)
        rows = self.tx.run(f"SELECT {_PLAN} FROM replace_plan AS plan WHERE id = :id", id=plan_id)
        return _plan_of(rows[0]) if rows else None

    def page(self, project_id: int, *, below: int | None, limit: int) -> list[Plan]:
        """Returns plans with lower ids, the newest first."""
        rows = self.tx.run(
            f"""
            SELECT {_PLAN} FROM replace_plan AS plan
            WHERE project_id = :project AND (CAST(:below AS bigint) IS NULL OR plan.id < :below)
            ORDER BY plan.id DESC LIMIT :limit
            """,
            project=project_id,
            below=below,
            limit=limit,
        )
        return [_plan_of(row) for row in rows]

    def save(self, plan: Plan) -> None:
        """Writes what may change of a plan; and that it lives."""
        self.tx.run(
            """
            UPDATE replace_plan SET state = :state, after_table = :after, digest = :digest,
                counts = CAST(:counts AS jsonb), choice = CAST(:choice AS jsonb),
                executed_by = :executor, executed_at = :executed, undo_until = :undo,
                request_id = :request_id, runs = :runs, last_error = CAST(:error AS jsonb),
                saved_at = clock_timestamp(),
                texts_until = CASE WHEN texts_until IS NOT NULL THEN
                    COALESCE(:undo, expires_at + make_interval(secs => :outlive)) END
            WHERE id = :id
            """,
            id=plan.id,
            state=plan.state,
            after=plan.after_table,
            digest=plan.digest,
            counts=_optional_json(plan.counts),
            choice=_optional_json(plan.choice),
            executor=plan.executed_by,
            executed=plan.executed_at,
            undo=plan.undo_until,
            outlive=TEXTS_OUTLIVE_S,
            request_id=plan.request_id,
            runs=plan.runs,
            error=None if plan.last_error is None else json_text(dict(plan.last_error)),
        )

    def begin(self, plan: Plan) -> bool:
        """Writes the state of a plan that has begun; False while its project executes another one.

        Nobody waits: of two at the same time, one is refused.
        """
        # A unique index alone would let the second one wait for the first.
        [[is_free]] = self.tx.run(
            """
            SELECT pg_try_advisory_xact_lock(hashtextextended('context_search.executing', :project))
            """,
            project=plan.project_id,
        )
        return bool(is_free) and bool(
            self.tx.execute(
                """
                UPDATE replace_plan SET state = :state, saved_at = clock_timestamp()
                WHERE id = :id AND NOT EXISTS (
                    SELECT FROM replace_plan
                    WHERE project_id = :project AND state = 'executing' AND id <> :id)
                """,
                id=plan.id,
                state=plan.state,
                project=plan.project_id,
            )
        )

    def remove(self, plan_id: int) -> None:
        """Deletes a plan with its tables and strings, and the plans that undid it."""
        self.tx.run("DELETE FROM replace_plan WHERE id = :id", id=plan_id)

    def purge_texts(self, plan_id: int) -> None:
        """Deletes the request of a plan and its strings, for good; it cannot be undone then.

        Its counts and its tables stay.
        """
        self.tx.run(
            """
            WITH strings AS (DELETE FROM replace_string WHERE plan_id = :id)
            UPDATE replace_plan SET request = NULL, undo_until = NULL, texts_until = NULL
            WHERE id = :id
            """,
            id=plan_id,
        )

    def add_tables(
        self, plan_id: int, tables: Sequence[PlannedTable], strings: Sequence[PlannedString] = ()
    ) -> None:
        """Adds documents, and strings of them; some thousand in a statement."""
        bulk(
            self.tx,
            f"""
            INSERT INTO replace_table (plan_id, {_TABLE})
            SELECT :plan, {_TABLE} FROM {_TABLES}
            """,
            (asdict(table) for table in tables),
            plan=plan_id,
        )
        self.write_strings(plan_id, strings)

    def tables(
        self, plan_id: int, *, after: int = 0, limit: int, state: PlannedTableState | None = None
    ) -> list[PlannedTable]:
        """Returns documents with ids above ``after``, ascending; of one state."""
        rows = self.tx.run(
            f"""
            SELECT {_TABLE} FROM replace_table
            WHERE plan_id = :plan AND table_id > :after
              AND (CAST(:state AS text) IS NULL OR state = :state)
            ORDER BY table_id LIMIT :limit
            """,
            plan=plan_id,
            after=after,
            state=state,
            limit=limit,
        )
        return [_table_of(row) for row in rows]

    def replaced(self, plan_ids: Sequence[int]) -> dict[int, int]:
        """Returns how many matches were replaced, by plan; those without tables are left out."""
        rows = self.tx.run(
            """
            SELECT plan_id, CAST(sum(replaced) AS bigint) FROM replace_table
            WHERE plan_id = ANY(CAST(:plans AS bigint[])) GROUP BY plan_id
            """,
            plans=list(plan_ids),
        )
        return dict(rows)

    def lock_table(self, plan_id: int, table_id: int) -> PlannedTable | None:
        """Returns a document of a plan; others cannot change it until the transaction ends."""
        rows = self.tx.run(
            f"""
            SELECT {_TABLE} FROM replace_table
            WHERE plan_id = :plan AND table_id = :table FOR UPDATE
            """,
            plan=plan_id,
            table=table_id,
        )
        return _table_of(rows[0]) if rows else None

    def save_tables(self, plan_id: int, tables: Sequence[PlannedTable]) -> None:
        """Writes what may change of documents; and that their plan lives."""
        bulk(
            self.tx,
            f"""
            WITH living AS (
                UPDATE replace_plan SET saved_at = clock_timestamp() WHERE id = :plan)
            UPDATE replace_table SET state = row.state, reason = row.reason,
                revision_before = row.revision_before, revision_after = row.revision_after,
                replaced = row.replaced, kept = row.kept, runs = row.runs
            FROM {_TABLES} WHERE plan_id = :plan AND replace_table.table_id = row.table_id
            """,
            (asdict(table) for table in tables),
            plan=plan_id,
        )

    def strings(self, plan_id: int, table_id: int) -> list[PlannedString]:
        """Returns all strings of one document, with their edits."""
        rows = self.tx.run(
            f"""
            SELECT {_STRING}, edits FROM replace_string
            WHERE plan_id = :plan AND table_id = :table ORDER BY position
            """,
            plan=plan_id,
            table=table_id,
        )
        return [_string_of(row) for row in rows]

    def write_strings(self, plan_id: int, strings: Sequence[PlannedString]) -> None:
        """Writes what was executed of strings, or adds those that are not there."""
        bulk(
            self.tx,
            f"""
            INSERT INTO replace_string (plan_id, {_STRING}, edits)
            SELECT :plan, table_id, position, json_pointer, first_match, matches,
                decode(before_hash, 'base64'), decode(after_hash, 'base64'),
                decode(final_hash, 'base64'), is_only, decode(edits, 'base64')
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                table_id bigint, position int, json_pointer text, first_match int, matches int,
                before_hash text, after_hash text, final_hash text,
                is_only boolean, edits text)
            ON CONFLICT (plan_id, table_id, position) DO UPDATE SET
                final_hash = excluded.final_hash, is_only = excluded.is_only,
                edits = excluded.edits
            """,
            (_string_row(string) for string in strings),
            plan=plan_id,
        )

    def strings_of_matches(
        self, plan_id: int, *, after: int, limit: int, table_id: int | None = None
    ) -> list[PlannedString]:
        """Returns strings with a match above number ``after``, by their first match; no edits."""
        # The string that holds match ``after + 1`` is the last one that begins there or before.
        rows = self.tx.run(
            f"""
            SELECT {_STRING}, NULL FROM replace_string
            WHERE plan_id = :plan AND matches > 0
              AND first_match + matches - 1 > CAST(:after AS bigint)
              AND (CAST(:table AS bigint) IS NULL OR table_id = :table)
              AND first_match >= COALESCE((
                SELECT max(first_match) FROM replace_string
                WHERE plan_id = :plan
                  AND first_match <= LEAST(CAST(:after AS bigint), 2147483646) + 1), 0)
            ORDER BY first_match LIMIT :limit
            """,
            plan=plan_id,
            after=after,
            table=table_id,
            limit=limit,
        )
        return [_string_of(row) for row in rows]

    def expire(self, *, limit: int) -> int:
        """Makes plans ``expired`` that were not executed in their time; returns how many."""
        return self.tx.execute(
            f"""
            WITH found AS (
                SELECT id FROM replace_plan WHERE {_IS_OPEN} AND expires_at <= clock_timestamp()
                ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED)
            UPDATE replace_plan SET state = :expired FROM found WHERE replace_plan.id = found.id
            """,
            limit=limit,
            expired=EXPIRED,
        )

    def outlived(self, *, limit: int) -> list[int]:
        """Returns plans whose texts are there still, but not needed any more.

        The time to undo them has ended, or they were never executed and expired an hour ago. One
        that is being executed or undone needs its texts.
        """
        rows = self.tx.run(
            f"""
            SELECT id FROM replace_plan AS plan
            WHERE texts_until <= clock_timestamp() AND {_ENDED} AND NOT EXISTS (
                SELECT FROM replace_plan WHERE undoes = plan.id AND state IN ('ready', 'executing'))
            ORDER BY texts_until LIMIT :limit
            """,
            limit=limit,
        )
        return _ids(rows)

    def purge_strings(self, *, limit: int) -> int:
        """Deletes strings of tables that our API deleted; returns how many."""
        return self.tx.execute(
            """
            DELETE FROM replace_string WHERE (plan_id, table_id, position) IN (
                SELECT string.plan_id, string.table_id, string.position FROM context_table
                JOIN replace_table ON replace_table.table_id = context_table.id
                JOIN replace_string AS string ON string.plan_id = replace_table.plan_id
                    AND string.table_id = replace_table.table_id
                WHERE context_table.context_search_remove_at IS NOT NULL LIMIT :limit)
            """,
            limit=limit,
        )

    def purgeable(self, *, limit: int) -> list[int]:
        """Returns plans that have ended and are a year old, and those of deleted projects.

        One that was undone follows when its undo is gone.
        """
        rows = self.tx.run(
            f"""
            SELECT id FROM (
                (SELECT id FROM replace_plan
                 WHERE kept_until <= clock_timestamp() AND {_ENDED} AND {_IS_LAST}
                 ORDER BY kept_until LIMIT :limit)
                UNION
                (SELECT id FROM replace_plan JOIN project_removal USING (project_id)
                 WHERE {_IS_LAST} LIMIT :limit)) AS plan
            LIMIT :limit
            """,
            limit=limit,
        )
        return _ids(rows)

    def silent(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns plans that a worker has to go on with, but that were not saved for that long.

        Each is returned once in that time.
        """
        rows = self.tx.run(
            """
            WITH found AS (
                SELECT id FROM replace_plan WHERE state IN ('previewing', 'executing')
                    AND saved_at < clock_timestamp() - make_interval(secs => :silent)
                ORDER BY saved_at LIMIT :limit FOR UPDATE SKIP LOCKED)
            UPDATE replace_plan SET saved_at = clock_timestamp()
            FROM found WHERE replace_plan.id = found.id RETURNING replace_plan.id
            """,
            silent=silent_s,
            limit=limit,
        )
        return _ids(rows)


def _ids(rows: list[list[Any]]) -> list[int]:
    return sorted(row[0] for row in rows)


def _optional_json(value: ReplaceRequest | ReplaceScope | PlanCounts | Choice | None) -> str | None:
    """Returns the JSON text of a part of a plan."""
    if value is None:
        return None
    parts = asdict(value).items()
    return json_text({name: sorted(p) if isinstance(p, frozenset) else p for name, p in parts})


def _plan_of(row: Sequence[Any]) -> Plan:
    """Reads the columns ``_PLAN``."""
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


def _table_of(row: Sequence[Any]) -> PlannedTable:
    """Reads the columns ``_TABLE``."""
    return PlannedTable(*row)


def _string_of(row: Sequence[Any]) -> PlannedString:
    """Reads the columns ``_STRING`` and the edits."""
    *values, edits = row
    return PlannedString(*[*values, None if edits is None else _edits(edits)])


def _string_row(string: PlannedString) -> dict[str, object]:
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
