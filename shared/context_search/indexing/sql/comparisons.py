"""Which indexes were compared with which documents, for which scopes, and how that went."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import ClassVar

from context_search.core.model import Index
from context_search.indexing.rules.comparisons import ComparedSection, Section, SectionChanges
from context_search.postgres.json_text import MAX_NUMBERS_BYTES, NUMBERS_OF_DATA, READABLE, text_of
from context_search.postgres.pool import Transaction, bulk
from context_search.postgres.visible_rows import TABLE_IS_THERE, TABLE_OF_CALLER, TOOL_MAY_RETURN

# What tools need now is not what a generation was compared for: more, or less.
_OTHER_SCOPES = """
    search_index.table_id IS NOT NULL AND comparison.scopes IS DISTINCT FROM ARRAY(
        SELECT scope FROM needed_scope WHERE needed_scope.index_id = search_index.id
        ORDER BY scope COLLATE "C")
    AND (EXISTS (
            SELECT FROM needed_scope WHERE needed_scope.index_id = search_index.id AND NOT EXISTS (
                SELECT FROM unnest(comparison.scopes) AS known
                WHERE known IN ('', scope) OR starts_with(scope, known || '/')))
         OR EXISTS (
            SELECT FROM unnest(comparison.scopes) AS known WHERE NOT EXISTS (
                SELECT FROM needed_scope WHERE needed_scope.index_id = search_index.id
                  AND (scope IN ('', known) OR starts_with(known, scope || '/')))))
"""
_OTHER_FIELDS = """
    search_index.filterable IS NOT NULL
    AND NOT COALESCE(comparison.fields, '{}') @> search_index.filterable
"""
# Of an index that nobody needs, and none may need again: a comparison retires it.
_IS_LEFT = f"""
    search_index.table_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM coverage JOIN tool ON tool.id = coverage.tool_id
        WHERE coverage.index_id = search_index.id AND {TOOL_MAY_RETURN})
"""
# The strings are there, and nobody has counted the short ones of a scope: it is a new one inside of
# another.
_UNCOUNTED = """
    search_index.table_id IS NOT NULL AND comparison.refused IS NULL AND EXISTS (
        SELECT FROM needed_scope WHERE needed_scope.index_id = search_index.id
          AND comparison.short_strings -> scope IS NULL)
"""
_PAIRS = """
    FROM index_generation AS generation
    JOIN search_index ON search_index.id = generation.index_id
    JOIN index_table ON index_table.index_id = generation.index_id
    LEFT JOIN comparison ON comparison.generation_id = generation.id
                        AND comparison.table_id = index_table.table_id
    WHERE generation.state IN ('active', 'building')
"""
_IS_BEHIND = f"""
    comparison.revision IS DISTINCT FROM index_table.revision OR {_OTHER_SCOPES}
    OR {_OTHER_FIELDS} OR {_IS_LEFT}
"""
UNCOMPARED = f"{_PAIRS} AND ({_IS_BEHIND})"
"""Generations that should follow their tables, each with each table that it does not follow."""
BEHIND = f"EXISTS (SELECT {UNCOMPARED} AND generation.id = :generation)"
"""Whether a generation does not follow one of its tables."""
_ORDERED = """
    EXISTS (
        SELECT FROM outbox CROSS JOIN LATERAL (
            SELECT {uncompared} AND generation.id = :generation LIMIT 1) AS lacking
        WHERE body ->> 'kind' = 'enumerate' AND body ->> 'index_id' = CAST(:index AS text)
          AND body ->> 'table_id' IS {given})
"""
_OF_TABLE = f"{UNCOMPARED} AND index_table.table_id = CAST(body ->> 'table_id' AS bigint)"
_ANY_ORDERED = _ORDERED.format(uncompared=UNCOMPARED, given="NULL")
_TABLE_ORDERED = _ORDERED.format(uncompared=_OF_TABLE, given="NOT NULL")
PROJECT_BEHIND = f"""
    ({_ANY_ORDERED} OR {_TABLE_ORDERED}
     OR EXISTS (
        SELECT FROM comparison JOIN context_table ON context_table.id = comparison.table_id
        WHERE comparison.generation_id = :generation AND comparison.revision IS NULL
          AND {TABLE_IS_THERE}))
"""
"""The same of the index of a project, whatever number of tables it has.

What is to be compared has a message, or a gap that somebody made by hand; ``_LAGGING`` has the
rest.
"""
_DUE = f"{_PAIRS} AND ({_IS_BEHIND} OR {_UNCOUNTED})"
# Those that are to be compared: what is evicted waits for a search.
_LAGGING = f"{_DUE} AND (evicted_at IS NULL OR {_IS_LEFT})"
# The caller has it compared; cleanup need not.
_NOTE_ORDER = """
    UPDATE comparison SET ordered_at = clock_timestamp()
    FROM covered JOIN index_generation AS generation ON generation.index_id = covered.index_id
    WHERE comparison.generation_id = generation.id AND generation.state IN ('active', 'building')
"""
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
class Comparisons:
    """What an index was compared with: the scopes that tools need of it, and tables' revisions.

    Of a large document also the sections. How it is cut is the store's own: a document that is
    equal is cut equally.
    """

    DUE: ClassVar = f"SELECT now() WHERE EXISTS (SELECT {_LAGGING})"
    tx: Transaction

    def cover(self, index_id: int, *, tool_id: int, scope: str) -> None:
        """Notes that a tool needs a scope of an index.

        The index has to be compared again, unless it was compared for a scope that contains it.
        Then only the short strings of the scope are yet to be counted.
        """
        self.tx.run(
            f"""
            WITH covered AS (
                INSERT INTO coverage (tool_id, index_id, scope) VALUES (:tool, :index, :scope)
                RETURNING index_id)
            {_NOTE_ORDER}
            """,
            tool=tool_id,
            index=index_id,
            scope=scope,
        )

    def uncover(self, tool_id: int) -> None:
        """Forgets what a tool needed; strings that no other tool needs have to go."""
        self.tx.run(
            f"""
            WITH covered AS (DELETE FROM coverage WHERE tool_id = :tool RETURNING index_id)
            {_NOTE_ORDER}
            """,
            tool=tool_id,
        )

    def scopes(self, index_id: int) -> list[str]:
        """Returns the distinct scopes that live tools need; of a project's index the root."""
        rows = self.tx.run(
            """
            SELECT scope FROM needed_scope WHERE index_id = :index ORDER BY scope COLLATE "C"
            """,
            index=index_id,
        )
        return [scope for [scope] in rows]

    def may_be_needed(self, index_id: int) -> bool:
        """Tells whether a tool needs the index, or may again: one in its owner's trash.

        A project's index is needed until it is switched off.
        """
        rows = self.tx.run(
            f"""
            SELECT FROM search_index WHERE id = :index AND (table_id IS NULL OR EXISTS (
                SELECT FROM coverage JOIN tool ON tool.id = coverage.tool_id
                WHERE coverage.index_id = search_index.id AND {TOOL_MAY_RETURN}))
            """,
            index=index_id,
        )
        return bool(rows)

    def note_failed(self, index_id: int, error: Mapping[str, object]) -> None:
        """Notes why a message to compare an index failed, until one succeeds; adds ``at``.

        Not for an index that follows all of its tables by now.
        """
        self.tx.run(
            f"""
            UPDATE search_index SET order_error = CAST(:error AS jsonb)
                || jsonb_build_object('at', clock_timestamp())
            WHERE id = :index AND EXISTS (  -- or somebody else has compared it meanwhile
                SELECT {UNCOMPARED} AND generation.index_id = :index)
            """,
            index=index_id,
            error=json.dumps(error),
        )

    def note_refused(self, index_id: int, table_id: int, error: Mapping[str, object]) -> None:
        """Notes why the document of a table cannot be indexed as it is; adds ``at``.

        Each table has a reason of its own, until it is compared again or is gone.
        """
        self.tx.run(
            """
            INSERT INTO comparison (generation_id, table_id, refused)
            SELECT id, :table, CAST(:error AS jsonb) || jsonb_build_object(
                'table_id', CAST(:table AS bigint), 'at', clock_timestamp())
            FROM index_generation WHERE index_id = :index AND state IN ('active', 'building')
            ON CONFLICT (generation_id, table_id) DO UPDATE SET refused = excluded.refused
            """,
            index=index_id,
            table=table_id,
            error=json.dumps(error),
        )

    def note_compared(
        self,
        index: Index,
        table_id: int,
        revision: int,
        scopes: Sequence[str],
        short_strings: Sequence[int] = (),
    ) -> None:
        """Notes which revision of a table, and which scopes, the nodes of a generation are of.

        Their fields are those that the index names. ``short_strings``: how many strings of each
        scope are too short for it; left out where nobody knows.
        Why the table was refused is forgotten, and so is a failure that ``note_failed`` noted.
        """
        counted = dict(zip(scopes, short_strings, strict=True)) if short_strings else None
        self.tx.run(
            """
            INSERT INTO comparison
                (generation_id, table_id, revision, scopes, fields, short_strings)
            VALUES (:generation, :table, :revision, CAST(:scopes AS text[]),
                    CAST(:fields AS text[]), CAST(:short AS jsonb))
            ON CONFLICT (generation_id, table_id)
            DO UPDATE SET revision = excluded.revision, scopes = excluded.scopes, refused = NULL,
                fields = excluded.fields, short_strings = excluded.short_strings,
                sections = NULL  -- until somebody says that they are of these strings
            """,
            generation=index.generation.id,
            table=table_id,
            revision=revision,
            scopes=list(scopes),
            fields=list(index.fields),
            short=None if counted is None else json.dumps(counted),
        )
        self.tx.run(
            """
            UPDATE search_index SET order_error = NULL
            WHERE id = :index AND order_error IS NOT NULL
            """,
            index=index.id,
        )

    def follows(self, index_id: int, table_id: int | None = None) -> bool:
        """Tells whether each live generation follows a table, or all, in one small statement.

        False as well where somebody has yet to count the short strings of a scope.
        Then the failure that ``note_failed`` noted is over, and forgotten.
        """
        [[follows]] = self.tx.run(
            f"""
            WITH asked AS (
                SELECT NOT EXISTS (
                    SELECT {_DUE} AND search_index.id = :index
                    AND (CAST(:table AS bigint) IS NULL OR index_table.table_id = :table)
                ) AS follows),
            forgotten AS (
                UPDATE search_index SET order_error = NULL FROM asked
                WHERE id = :index AND follows AND order_error IS NOT NULL)
            SELECT follows FROM asked
            """,
            index=index_id,
            table=table_id,
        )
        return bool(follows)

    def uncompared(self, index_id: int) -> list[int]:
        """Returns the live tables of an index that a live generation does not follow by now.

        It follows one when it was compared with its revision, for what live tools need of it and
        for nothing else. Whoever deletes a tool, by whatever way, need not say so.
        """
        rows = self.tx.run(
            f"""
            SELECT DISTINCT index_table.table_id {UNCOMPARED} AND search_index.id = :index
            ORDER BY 1
            """,
            index=index_id,
        )
        return [table_id for [table_id] in rows]

    def is_compared(self, index: Index) -> bool:
        """Tells whether a generation was compared with its tables as they are now."""
        [[behind]] = self.tx.run(f"SELECT {BEHIND}", generation=index.generation.id)
        return not behind

    def behind(self, *, silent_s: float, limit: int) -> list[tuple[int, int]]:
        """Returns pairs of index and table that nobody compared for ``silent_s``.

        Those as well where somebody has yet to count the short strings of a scope.
        The time counts from the last change, message or take. Each pair is taken once in that time.
        Left out are evicted indexes, deleted tables, and pairs that the outbox has a message
        for.
        """
        rows = self.tx.run(
            f"""
            WITH due AS (
                SELECT generation.id, index_table.index_id, index_table.table_id {_LAGGING}
                  AND GREATEST(index_table.updated_at, generation.created_at, ordered_at)
                      < statement_timestamp() - make_interval(secs => :silent)
                  AND NOT EXISTS (  -- a message that is in the outbox is not lost
                      SELECT FROM outbox WHERE key = format(
                          'enumerate:%s:%s', index_table.index_id, index_table.table_id))
                ORDER BY generation.id, index_table.table_id LIMIT :limit),
            taken AS (
                INSERT INTO comparison (generation_id, table_id, ordered_at)
                SELECT id, table_id, clock_timestamp() FROM due
                ON CONFLICT (generation_id, table_id) DO UPDATE SET ordered_at = excluded.ordered_at
            )
            SELECT DISTINCT index_id, table_id FROM due ORDER BY index_id, table_id
            """,
            silent=silent_s,
            limit=limit,
        )
        return [(index_id, table_id) for index_id, table_id in rows]

    def small_document(self, table_id: int) -> tuple[int, str] | None:
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

    def changed_sections(
        self, index: Index, table_id: int, scopes: Sequence[str]
    ) -> SectionChanges | None:
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

    def note_sections(
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
