"""Everything that a catalogue says about a schema, as sets that can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from secrets import token_hex

from context_search.postgres.connection import Connection
from context_search.postgres.url import DatabaseUrl

_OURS = "CAST(CAST(relnamespace AS regnamespace) AS text) IN ('public', 'context_search')"
_FACTS = {
    "relations": f"""
        SELECT CAST(CAST(pg_class.oid AS regclass) AS text), relkind, relpersistence,
               relrowsecurity, relforcerowsecurity, CAST(reloptions AS text),
               obj_description(pg_class.oid, 'pg_class'),
               CASE WHEN relkind = 'v' THEN pg_get_viewdef(pg_class.oid) END
        FROM pg_class WHERE {_OURS}""",
    "columns": f"""
        SELECT CAST(CAST(attrelid AS regclass) AS text), attname,
               format_type(atttypid, atttypmod), attnotnull, attidentity, attcollation,
               pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE {_OURS} AND relkind IN ('r', 'v') AND attnum > 0 AND NOT attisdropped""",
    "indexes": f"""
        SELECT pg_get_indexdef(indexrelid), indisvalid FROM pg_index
        JOIN pg_class ON pg_class.oid = indrelid WHERE {_OURS}""",
    "constraints": f"""
        SELECT CAST(CAST(conrelid AS regclass) AS text), conname, convalidated,
               pg_get_constraintdef(pg_constraint.oid)
        FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid WHERE {_OURS}""",
    "triggers": f"""
        SELECT pg_get_triggerdef(pg_trigger.oid), tgenabled FROM pg_trigger
        JOIN pg_class ON pg_class.oid = tgrelid WHERE {_OURS} AND NOT tgisinternal""",
    "policies": f"""
        SELECT CAST(CAST(polrelid AS regclass) AS text), polname, polcmd, polpermissive,
               CAST(polroles AS text), pg_get_expr(polqual, polrelid)
        FROM pg_policy JOIN pg_class ON pg_class.oid = polrelid WHERE {_OURS}""",
    "functions": """
        SELECT pg_get_functiondef(pg_proc.oid) FROM pg_proc
        WHERE CAST(CAST(pronamespace AS regnamespace) AS text) IN ('public', 'context_search')""",
    "schemas": """
        SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace
        WHERE nspname NOT LIKE 'pg\\_%'""",
}
Catalogue = dict[str, set[tuple[object, ...]]]


def catalogue(url: DatabaseUrl) -> Catalogue:
    """What is in the schemas public and context_search."""
    with closing(Connection(url, timeout_s=60.0)) as connection:
        return {name: {*map(tuple, connection.query(sql).rows)} for name, sql in _FACTS.items()}


def run(url: DatabaseUrl, *statements: str) -> list[list[object]]:
    """Runs statements as the owner, with the path of any program; returns the last one's rows."""
    rows: list[list[object]] = []
    with closing(Connection(url, timeout_s=60.0)) as connection:
        for statement in statements:
            rows = connection.query(statement).rows
    return rows


@contextmanager
def role(url: DatabaseUrl) -> Iterator[DatabaseUrl]:
    """The URL of a role that may log in, and no more."""
    name = f"cs_role_{token_hex(8)}"
    run(url, f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    try:
        yield replace(url, user=name, password="x")
    finally:
        run(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")
