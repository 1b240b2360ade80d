"""Sections of documents in Postgres, which cuts them and computes their digests.

Only sections that changed leave the database. How documents are cut may change with any release:
the next comparison finds all sections new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub

from context_search.core.model import Index
from context_search.indexing.rules.sections import ComparedSection, Section, SectionChanges
from context_search.postgres.json_text import MAX_NUMBERS_BYTES, NUMBERS_OF_DATA, READABLE, text_of
from context_search.postgres.pool import Transaction, bulk
from context_search.postgres.visible_rows import TABLE_OF_CALLER

SMALL_BYTES = 32_000
"""Documents that take at most as many bytes, compressed, are compared as a whole."""
_BYTES = 8_192
_LEVELS = 12  # each one copies what is below it
_POINTER_BYTES = 1_000  # each section has its pointer; a key may have megabytes
_IS_OPEN = f"""
    (item.level < {_LEVELS} AND pg_column_size(item.value) > {_BYTES}
     AND octet_length(item.pointer) <= {_POINTER_BYTES})
"""
_IS_LARGE_CONTAINER = f"""
    jsonb_typeof(member.value) IN ('object', 'array') AND pg_column_size(member.value) > {_BYTES}
"""
# Powers of two, so that elements and members stay together when others come or go.
_STEP = f"""
    1 << CAST(floor(ln(greatest(1, least(
        count / 2, CAST(count AS float8) * {_BYTES} / bytes))) / ln(2)) AS int)
"""
_BUCKETS = f"1 << CAST(ceil(ln(CAST(pg_column_size(value) AS float8) / {_BYTES}) / ln(2)) AS int)"
# An item is a value of the document, or elements of an array as an array of their own. One that is
# large is cut: an array into runs of elements, an object into its large members, and into groups
# of the others by a hash of their keys.
_SECTIONS = f"""
    document AS MATERIALIZED (
        SELECT revision, data FROM context_table
        WHERE id = :table AND {TABLE_OF_CALLER}
          AND {NUMBERS_OF_DATA} <= {MAX_NUMBERS_BYTES}),
    item (pointer, first, level, value) AS (
        SELECT '', 0, 0, data #> '{{}}' FROM document
        UNION ALL
        SELECT child.pointer, child.first, item.level + 1, child.value
        FROM item CROSS JOIN LATERAL (
            SELECT CASE jsonb_typeof(item.value) WHEN 'object' THEN item.value ELSE '{{}}' END,
                   CASE jsonb_typeof(item.value) WHEN 'array' THEN item.value ELSE '[]' END
        ) AS of (members, elements) CROSS JOIN LATERAL (
            SELECT jsonb_array_length(elements), pg_column_size(elements)
        ) AS sized (count, bytes) CROSS JOIN LATERAL (
            SELECT item.pointer, item.first + start, jsonb_path_query_array(
                elements, '$[$first to $last]',
                jsonb_build_object('first', start, 'last', start + step - 1), true)
            FROM (SELECT {_STEP} WHERE count > 1) AS stepped (step),
                generate_series(0, count - 1, step) AS start
            UNION ALL
            SELECT format('%s/%s', item.pointer, item.first), 0, elements -> 0
            WHERE count = 1 AND jsonb_typeof(elements -> 0) IN ('object', 'array')
            UNION ALL
            SELECT format('%s/%s', item.pointer, replace(replace(key, '~', '~0'), '/', '~1')), 0,
                   member.value
            FROM jsonb_each(members) AS member WHERE {_IS_LARGE_CONTAINER}
        ) AS child (pointer, first, value)
        WHERE {_IS_OPEN}),
    cut (pointer, first, text) AS (
        SELECT pointer, first, CAST(value AS text) FROM item
        WHERE NOT ({_IS_OPEN}) OR CASE jsonb_typeof(value)
            WHEN 'object' THEN false
            WHEN 'array' THEN jsonb_array_length(value) = 1
                              AND jsonb_typeof(value -> 0) NOT IN ('object', 'array')
            ELSE true END
        UNION ALL
        SELECT pointer, hashtext(key) & (buckets - 1), format('{{%s}}', string_agg(
            format('%s:%s', to_json(key), CAST(member.value AS text)), ','))
        FROM (
            SELECT pointer, value AS members, {_BUCKETS} AS buckets FROM item
            WHERE {_IS_OPEN} AND jsonb_typeof(value) = 'object' OFFSET 0
        ) AS large CROSS JOIN LATERAL jsonb_each(members) AS member
        WHERE NOT ({_IS_LARGE_CONTAINER}) GROUP BY 1, 2),
    section AS MATERIALIZED (
        SELECT pointer, first, text, sha256(convert_to(
            format('%s %s %s%s', first, octet_length(pointer), pointer, text), 'UTF8')) AS digest
        FROM cut),
    compared AS MATERIALIZED (
        SELECT digest, keys, pointer_chars, short_strings FROM compared_section
        WHERE generation_id = :generation AND table_id = :table AND CAST(:follows AS boolean))
"""
_OF = "generation_id = :generation AND table_id = :table"
_DIGEST = f"""
    sha256(convert_to(CAST(json_build_array(revision, scopes) AS text), 'UTF8') || COALESCE((
        SELECT string_agg(digest, '' ORDER BY digest) FROM compared_section
        WHERE {_OF}), ''))
"""


@dataclass(frozen=True, slots=True)
class Sections:
    """Large documents in sections, and which of them a generation was compared with.

    How a document is cut is the store's own: a document that is equal is cut equally.
    """

    tx: Transaction

    def small(self, table_id: int) -> tuple[int, str] | None:
        """Returns revision and JSON text of a document that is too small for sections."""
        rows = self.tx.run(
            f"""
            SELECT {READABLE}, revision FROM context_table
            WHERE id = :table AND {TABLE_OF_CALLER}
              AND COALESCE(pg_column_size(data), 0) <= {SMALL_BYTES}
            """,
            table=table_id,
        )
        return (rows[0][2], text_of(*rows[0][:2])) if rows else None

    def basis(self, index: Index, table_id: int, scopes: Sequence[str]) -> bytes | None:
        """Returns the digest of what is kept of a generation's last comparison.

        None where the nodes are not of these sections and scopes: somebody has compared without
        them, the document was refused, or rows of nodes or sections are gone.
        """
        rows = self.tx.run(
            f"""
            SELECT sections FROM comparison
            WHERE {_OF} AND scopes = CAST(:scopes AS text[]) AND sections = {_DIGEST}
              AND refused IS NULL  -- or it has no nodes
            """,
            generation=index.generation.id,
            table=table_id,
            scopes=list(scopes),
        )
        return bytes(rows[0][0]) if rows else None

    def changes(self, index: Index, table_id: int, scopes: Sequence[str]) -> SectionChanges | None:
        """Returns which sections of a document differ from the basis of a generation.

        None when the table is gone, or nobody may write its numbers out (``Tables.read``).
        """
        basis = self.basis(index, table_id, scopes)
        rows = self.tx.run(
            f"""
            WITH RECURSIVE {_SECTIONS}
            SELECT revision, (SELECT CAST(COALESCE(sum(pointer_chars), 0) AS bigint) FROM compared),
                   ARRAY(SELECT CAST(sum(short) AS bigint)
                         FROM compared CROSS JOIN unnest(short_strings) WITH ORDINALITY
                             AS of_scope (short, at)
                         GROUP BY at ORDER BY at),
                   pointer, first, text, section.digest,
                   compared.digest, keys, pointer_chars, short_strings
            FROM document LEFT JOIN (section FULL JOIN compared USING (digest)) ON
                section.digest IS NULL OR compared.digest IS NULL
            """,
            generation=index.generation.id,
            table=table_id,
            follows=basis is not None,
        )
        if not rows:
            return None
        new = [Section(*row[3:7]) for row in rows if row[6] is not None]
        gone = [ComparedSection(*row[7:]) for row in rows if row[7] is not None]
        revision, pointer_chars, short_strings = rows[0][:3]
        kept_chars = pointer_chars - sum(section.pointer_chars for section in gone)
        kept_short = short_strings or [0] * len(scopes)
        for section in gone:
            kept_short = list(map(sub, kept_short, section.short_strings))
        return SectionChanges(revision, tuple(scopes), basis, new, gone, kept_chars, kept_short)

    def note_compared(
        self, index: Index, table_id: int, changes: SectionChanges, new: Sequence[ComparedSection]
    ) -> None:
        """Keeps what a generation has of the new sections, after ``Comparisons.note_compared``."""
        of = {"generation": index.generation.id, "table": table_id}
        self.tx.run(
            f"""
            DELETE FROM compared_section
            WHERE {_OF} AND (CAST(:all AS boolean) OR digest IN (
                SELECT decode(gone, 'hex') FROM unnest(CAST(:gone AS text[])) AS gone))
            """,
            **of,
            all=changes.basis is None,
            gone=[section.digest.hex() for section in changes.gone],
        )
        bulk(
            self.tx,
            """
            INSERT INTO compared_section
                (generation_id, table_id, digest, keys, pointer_chars, short_strings)
            SELECT :generation, :table, decode(digest, 'hex'), decode(keys, 'hex'), pointer_chars,
                   short_strings
            FROM jsonb_to_recordset(CAST(:rows AS jsonb))
                AS row (digest text, keys text, pointer_chars bigint, short_strings int[])
            """,
            [
                {
                    "digest": section.digest.hex(),
                    "keys": section.keys.hex(),
                    "pointer_chars": section.pointer_chars,
                    "short_strings": list(section.short_strings),
                }
                for section in sorted(new, key=lambda section: section.digest)  # and read so
            ],
            **of,
        )
        self.tx.run(f"UPDATE comparison SET sections = {_DIGEST} WHERE {_OF}", **of)
