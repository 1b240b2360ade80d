"""What a database holds before its schema is brought up to date, and whether that fits.

The tables ``project``, ``context_table`` and ``tool`` in ``public`` may be another program's:
they are used as they are, if their types allow it. Nothing here changes anything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from context_search.postgres.connection import quoted
from context_search.postgres.pool import Transaction

_INTEGERS = frozenset({"bigint", "integer"})
_TIMES = frozenset({"timestamp with time zone", "timestamp without time zone"})
_JSONB = frozenset({"jsonb"})
_TEXT = frozenset({"text", "character varying"})


@dataclass(frozen=True, slots=True)
class SharedTable:
    """Types that columns may have, by name; ``needed`` columns are never added."""

    needed: Mapping[str, frozenset[str]]
    added: Mapping[str, frozenset[str]]

    @property
    def columns(self) -> Mapping[str, frozenset[str]]:
        """All columns that we read or write."""
        return {**self.needed, **self.added}


SHARED = {
    "project": SharedTable({"id": _INTEGERS}, {"name": _TEXT}),
    "context_table": SharedTable(
        {"id": _INTEGERS, "project_id": _INTEGERS, "data": _JSONB},
        {
            "name": _TEXT,
            "description": _TEXT,
            "revision": _INTEGERS,
            "updated_at": _TIMES,
            "deleted_at": _TIMES,
            "context_search_remove_at": frozenset({"timestamp with time zone"}),
            "url_template": _TEXT,
        },
    ),
    "tool": SharedTable(
        {"id": _INTEGERS, "table_id": _INTEGERS, "type": _TEXT},
        {
            "project_id": _INTEGERS,
            "json_path": _TEXT,
            "name": _TEXT,
            "alias": _TEXT,
            "description": _TEXT,
            "metadata": _JSONB,
            "search_config": frozenset({"jsonb", "json"}),
            "created_at": _TIMES,
            "deleted_at": _TIMES,
            "context_search_remove_at": frozenset({"timestamp with time zone"}),
        },
    ),
}

_COLUMNS = """
SELECT attname, regexp_replace(format_type(atttypid, atttypmod), '\\(.*?\\)', ''),
       attnotnull AND NOT atthasdef AND attidentity = ''
FROM pg_attribute
WHERE attrelid = to_regclass('public.' || :name) AND attnum > 0 AND NOT attisdropped
"""
_KIND = """
SELECT relkind, pg_has_role(relowner, 'USAGE'), CAST(CAST(relowner AS regrole) AS text),
       quote_ident(current_user),
       EXISTS (
           SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
           WHERE indrelid = pg_class.oid AND attname = 'id' AND indnkeyatts = 1
             AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL)
FROM pg_class WHERE oid = to_regclass('public.' || :name)
"""
_TAKEN = """
SELECT relname FROM pg_class
WHERE relnamespace = to_regnamespace('public') AND relname = ANY(CAST(:names AS text[]))
  AND relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY relname
"""
# What is another table in our transactions than elsewhere: of a name of ours, or before public.
_HIDDEN = """
SELECT DISTINCT relname FROM unnest(CAST(:path AS text[])) WITH ORDINALITY AS own (name, place)
JOIN pg_class ON relnamespace = to_regnamespace(quote_ident(own.name))
WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND own.name <> 'context_search'
  AND own.name NOT LIKE 'pg\\_%'
  AND (relname = ANY(CAST(:names AS text[]))
       OR place < COALESCE(array_position(CAST(:path AS text[]), 'public'), 1000)
          AND to_regclass('public.' || quote_ident(relname)) IS NOT NULL)
ORDER BY relname
"""
# Theirs run in our transactions, where our tables are found first.
_FOREIGN_TRIGGERS = """
SELECT CAST(tgfoid AS regprocedure), CAST(tgrelid AS regclass), prosrc FROM pg_trigger
JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE NOT tgisinternal AND tgrelid = ANY(ARRAY[to_regclass('public.project'),
          to_regclass('public.context_table'), to_regclass('public.tool')])
  AND NOT EXISTS (SELECT FROM unnest(proconfig) AS it WHERE it LIKE 'search_path=%')
ORDER BY 1
"""
_RIGHTS = """
SELECT quote_ident(current_user), quote_ident(current_database()),
       has_database_privilege(current_database(), 'CREATE'),
       COALESCE(has_schema_privilege(to_regnamespace('public'), 'CREATE'), false),
       has_schema_privilege(to_regnamespace('context_search'), 'CREATE')
"""


@dataclass(frozen=True, slots=True)
class AdoptionReport:
    """What is there. ``notes`` say what happens to it, ``problems`` why nothing can happen."""

    notes: list[str]
    problems: list[str]


def look(tx: Transaction, new: Collection[str], *, is_first: bool) -> AdoptionReport:
    """Looks at the shared tables, at the rights of this role, and at names that are taken.

    ``new`` are the names of the tables that are going to be made; ``is_first``: nothing of ours is
    there.
    """
    found = AdoptionReport([], [])
    missing = [name for name in SHARED if not _look_at(tx, name, found, is_first=is_first)]
    _check_rights(tx, found, is_first=is_first, missing=missing)
    if missing:
        found.notes.append(f"makes {_listed(missing)} in the schema public")
    _look_at_names(tx, new, found)
    return found


def _look_at(tx: Transaction, name: str, found: AdoptionReport, *, is_first: bool) -> bool:
    """Notes what is to be said about a shared table; False when it is not there."""
    kinds = tx.run(_KIND, name=name)
    if not kinds:
        return False
    [[kind, is_owner, owner, role, has_key]] = kinds
    if kind != "r":
        found.problems.append(f"public.{name}: found no ordinary table, wanted one")
        return True
    if not is_owner:
        found.problems.append(
            f"public.{name} belongs to {owner}: migrate as that role, or: GRANT {owner} TO {role}"
        )
    if not has_key:
        found.problems.append(
            f"public.{name}.id: found no primary key or unique constraint, wanted one"
        )
    columns = tx.run(_COLUMNS, name=name)
    types = {column: is_found for column, is_found, _ in columns}
    found.problems.extend(_misfits(name, types))
    found.notes.extend(
        f"public.{name}.{column} must have a value, and we give none: rows of this table cannot be"
        " made by our API"
        for column, _, must_be_given in columns
        if must_be_given and (column == "id" or column not in SHARED[name].columns)
    )
    lacking = [column for column in SHARED[name].added if column not in types]
    if is_first:
        gets = f", gets {_listed(lacking)}" if lacking else ""
        found.notes.append(f"public.{name} is there and is used as it is{gets}")
    return True


def _misfits(name: str, types: Mapping[str, str]) -> Iterator[str]:
    table = SHARED[name]
    for column, wanted in table.columns.items():
        if column in types and types[column] not in wanted:
            is_found = types[column]
        elif column in table.needed and column not in types:
            is_found = "no such column"
        else:
            continue
        yield f"public.{name}.{column}: found {is_found}, wanted {' or '.join(sorted(wanted))}"


def _check_rights(
    tx: Transaction, found: AdoptionReport, *, is_first: bool, missing: list[str]
) -> None:
    [[role, database, may_create, in_public, in_ours]] = tx.run(_RIGHTS)
    if in_ours is None and not may_create:
        found.problems.append(
            f"{role} may not create the schema context_search:"
            f" GRANT CREATE ON DATABASE {database} TO {role}"
            f" (or, as an administrator: CREATE SCHEMA context_search AUTHORIZATION {role})"
        )
    if in_ours is False:
        found.problems.append(closed_to(role))
    if (is_first or missing) and not in_public:
        found.problems.append(
            f"{role} may not create tables and indexes in the schema public:"
            f" GRANT USAGE, CREATE ON SCHEMA public TO {role}"
        )


def closed_to(role: str) -> str:
    """The problem of a role that may not work in the schema ``context_search``."""
    return (
        f"{role} may not create tables in the schema context_search:"
        f" GRANT USAGE, CREATE ON SCHEMA context_search TO {role}"
    )


def _look_at_names(tx: Transaction, new: Collection[str], found: AdoptionReport) -> None:
    if taken := [name for [name] in tx.run(_TAKEN, names=list(new))]:
        theirs, same = ("is", "it is") if len(taken) == 1 else ("are", "they are")
        found.notes.append(
            f"{_listed([f'public.{name}' for name in taken])} {theirs} not ours and {theirs} left"
            f" as {same}; ours of the same name lie in the schema context_search"
        )
    hidden = [re.escape(name) for [name] in tx.run(_HIDDEN, names=list(new), path=list(tx.path))]
    named = re.compile(rf'(?<![\w."])"?({"|".join(hidden)})\b')
    for function, table, source in tx.run(_FOREIGN_TRIGGERS) if hidden else ():
        if hit := named.search(source):
            found.problems.append(
                f"a trigger on {table} runs {function}, which names {hit[1]} without its schema;"
                f" in our transactions that would be another table:"
                f" ALTER FUNCTION {function} SET search_path = {', '.join(map(quoted, tx.path))}"
            )


def _listed(names: Collection[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
