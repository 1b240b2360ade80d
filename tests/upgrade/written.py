"""Whether today's functions have written to everything that the schema has since the release."""

from __future__ import annotations

from tests.upgrade.shared_parts import SharedParts
from tests.upgrade.versions import UpgradeError

# Tables and columns since the release that the walk leaves empty → why.
UNWRITTEN: dict[str, str] = {}
# Table, column, default in SQL.
Column = tuple[str, str, str]

_COLUMNS = """
    SELECT CAST(CAST(attrelid AS regclass) AS text), attname,
           COALESCE(pg_get_expr(adbin, adrelid), 'NULL')
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE CAST(CAST(relnamespace AS regnamespace) AS text) IN ('public', 'context_search')
      AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
"""


def columns(shared: SharedParts) -> set[Column]:
    """What the schema has."""
    return {(table, column, default) for table, column, default in shared.sql(_COLUMNS)}


def written(shared: SharedParts, before: set[Column]) -> int:
    """How many tables and columns are new since ``before``.

    Raises UpgradeError when one of them has no row, or none that differs from its default.
    """
    old_tables, known = {each[0] for each in before}, {each[:2] for each in before}
    wheres: dict[str, str] = {}
    for table, column, default in columns(shared):
        if table not in old_tables:
            wheres[table] = table
        elif (table, column) not in known:
            wheres[f"{table}.{column}"] = f"{table} WHERE {column} IS DISTINCT FROM {default}"
    empty = [
        name
        for name, where in sorted(wheres.items())
        if name not in UNWRITTEN and shared.sql(f"SELECT EXISTS (SELECT FROM {where})") == [[False]]
    ]
    if empty:
        raise UpgradeError(
            f"today's functions wrote nothing to {', '.join(empty)}: so nothing is proved of it."
            " Let tests/upgrade/walk.py do what writes there, or name a reason in UNWRITTEN"
        )
    return len(wheres)
