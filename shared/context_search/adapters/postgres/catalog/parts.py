"""What is at a place of a document, in Postgres."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.catalog.written import NUMBERS_OF_VALUE
from context_search.adapters.postgres.pool import Transaction
from context_search.ports.catalog import Part, StringsAt

# What C's strtol takes for a number, but no index of RFC 6901 is.
_NO_INDEX = re.compile(r"(?!(?:0|[1-9][0-9]*)\Z)[ \t\n\v\f\r]*[+-]?[0-9]+\Z")
# ``#>`` takes more for an index of an array than a JSON pointer does.
_PART = """
    WITH part AS MATERIALIZED (
        SELECT revision, pg_column_size(data) AS stored,
               COALESCE(data, 'null') #> CAST(:path AS text[]) AS value
        FROM context_table WHERE id = :table
          AND COALESCE(data, 'null') #> CAST(:path AS text[]) IS NOT NULL AND NOT EXISTS (
            SELECT FROM unnest(CAST(:cuts AS int[])) AS cut
            WHERE jsonb_typeof(data #> trim_array(CAST(:path AS text[]), cut)) = 'array'))
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """The part of the port ``Tables`` that looks into documents."""

    tx: Transaction

    def part(self, table_id: int, path: Sequence[str], *, max_bytes: int) -> Part | None:
        rows = self.tx.run(
            f"""
            {_PART},
            sized AS MATERIALIZED (
                SELECT revision, value, {NUMBERS_OF_VALUE} AS numbers FROM part),
            written AS MATERIALIZED (
                SELECT revision, value, numbers,
                       CASE WHEN numbers <= :most THEN CAST(value AS text) END AS text FROM sized)
            SELECT revision, COALESCE(octet_length(text), numbers),
                   CASE WHEN octet_length(text) <= :most THEN text END,
                   jsonb_typeof(value) = 'string'
            FROM written
            """,
            table=table_id,
            path=list(path),
            cuts=_cuts(path),
            most=max_bytes,
        )
        return Part(*rows[0]) if rows else None

    def strings_at(self, table_id: int, path: Sequence[str], *, measured: bool) -> StringsAt | None:
        rows = self.tx.run(
            f"""
            {_PART}
            SELECT CASE WHEN CAST(:measured AS boolean) AND stored <= 5000000 THEN (
                SELECT COALESCE(max(char_length(string)), 0)
                FROM jsonb_array_elements_text(jsonb_path_query_array(
                    value, 'strict $.**{{0 to 5000}} ? (@.type() == "string")')) AS strings (string)) END
            FROM part
            """,
            table=table_id,
            path=list(path),
            cuts=_cuts(path),
            measured=measured,
        )
        return StringsAt(rows[0][0]) if rows else None


def _cuts(path: Sequence[str]) -> list[int]:
    return [len(path) - at for at, token in enumerate(path) if _NO_INDEX.match(token)]
