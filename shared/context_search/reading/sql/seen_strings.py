"""Strings of an index that a Search Tool can return, and their texts, in Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from context_search.core.ids import pointer_sha256
from context_search.core.model import SearchTool
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import TABLE_IS_THERE
from context_search.postgres.visible_strings import (
    FIELDS_ARE_KNOWN,
    filter_parameters,
    in_scope,
)
from context_search.reading.rules.narrowing import Narrowing
from context_search.reading.rules.seen_strings import SeenNode, SeenTable

# The comparison knows the document as it is now, in this scope, with the fields of the filter.
_IS_KNOWN = f"""
    comparison.revision = context_table.revision
    AND (CAST(:path AS jsonpath) IS NULL OR {FIELDS_ARE_KNOWN})
    AND EXISTS (SELECT FROM unnest(comparison.scopes) AS known
                WHERE known IN ('', :scope) OR starts_with(:scope, known || '/'))
"""
_NODES = f"""
    SELECT context_table.revision, COALESCE({_IS_KNOWN} AND NOT unnoted, false), nodes
    FROM context_table
    JOIN search_index ON search_index.id = :index
    LEFT JOIN comparison ON comparison.generation_id = search_index.active_generation_id
                        AND comparison.table_id = context_table.id
    CROSS JOIN LATERAL (
        SELECT json_agg(json_build_array(node.id, node.json_pointer, node.char_count)) AS nodes,
               COALESCE(bool_or(CAST(:path AS jsonpath) IS NOT NULL AND fields IS NULL), false)
                   AS unnoted
        FROM node
        WHERE node.generation_id = search_index.active_generation_id
          AND node.table_id = context_table.id AND {in_scope("node.json_pointer")}
          AND (CAST(:path AS jsonpath) IS NULL OR fields IS NULL
               OR fields @@ CAST(:path AS jsonpath))) AS seen
    WHERE context_table.id = :table AND context_table.project_id = :project AND {TABLE_IS_THERE}
"""


def _folded(text: str) -> str:
    """The empty text makes Postgres unpack a text once; lower() of C knows ASCII alone."""
    return f"""
        CASE WHEN :folded THEN lower({text} COLLATE "C") ELSE {text} COLLATE "C" || '' END
    """


def _holds(text: str) -> str:
    return f"""
        (strpos({text}, :piece) > 0 OR CAST(:others AS text[]) <> '{{}}' AND EXISTS (
            SELECT FROM unnest(CAST(:others AS text[])) AS other WHERE strpos({text}, other) > 0))
    """


# The last two bytes: to count characters takes as long as to look for a piece.
_ENDING = "substr(convert_to(folded, 'UTF8'), greatest(1, octet_length(folded) - 1))"
_ENDS_IN_PIECE = f"""
    ({_ENDING} = ANY(CAST(:endings AS bytea[]))
     OR CAST(:beginnings AS bytea[]) <> '{{}}'
        AND substr({_ENDING}, 2) = ANY(CAST(:beginnings AS bytea[])))
"""
_ACROSS = _folded("""(right(chunk.chunk_text, :longest)
    || substr(next.chunk_text, 1 + chunk.char_end - next.char_start, :longest))""")
# A piece that no chunk has whole goes on in the next one. Where that is short it may go on behind.
_HOLDING = f"""
    SELECT id FROM node
    WHERE id = ANY(CAST(:nodes AS bigint[])) AND content IS NOT NULL
      AND {_holds(_folded("content"))}
    UNION
    SELECT node_id FROM (
        SELECT node.id AS node_id, chunks.*, {_folded("chunk_text")} AS folded
        FROM node JOIN chunks ON set_id = active_set_id
        WHERE node.id = ANY(CAST(:nodes AS bigint[])) AND content IS NULL OFFSET 0) AS chunk
    WHERE {_holds("folded")} OR {_ENDS_IN_PIECE} AND EXISTS (
        SELECT FROM chunks AS next
        WHERE next.set_id = chunk.set_id AND next.chunk_index = chunk.chunk_index + 1
          AND (next.char_end - chunk.char_end < :longest OR {_holds(_ACROSS)}))
"""
# To compile such a statement may take longer than to run it. Without rows: it is not NULL.
_NOT_COMPILED = "SELECT WHERE set_config('jit', 'off', true) IS NULL"


@dataclass(frozen=True, slots=True)
class SeenStrings:
    """What of an index's strings a tool's searches can return."""

    tx: Transaction

    def stand_still(self) -> None:
        """Lets everything that the transaction reads be of one moment; the first thing in it."""
        self.tx.queue("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def nodes(self, tool: SearchTool) -> SeenTable | None:
        """Returns the strings of a tool in no order; None when its table is gone.

        ``nodes`` is None when the index does not know the document as it is now.
        """
        rows = self.tx.run(
            _NODES,
            index=tool.index_id,
            table=tool.scope.table_id,
            project=tool.project_id,
            scope=tool.scope.json_pointer,
            **filter_parameters(tool.reach.filter),
        )
        if not rows:
            return None
        [[revision, is_known, listed]] = rows
        nodes = [SeenNode(*each) for each in json.loads(listed or "[]")] if is_known else None
        return SeenTable(revision, nodes)

    def holding(self, node_ids: Sequence[int], narrowing: Narrowing) -> list[int]:
        """Returns those of some strings in which a literal may stand, in no order."""
        first, *others = narrowing.pieces
        self.tx.queue(_NOT_COMPILED)
        rows = self.tx.run(
            _HOLDING,
            nodes=list(node_ids),
            folded=narrowing.is_folded,
            piece=first,
            others=others,
            endings=list(narrowing.endings),
            beginnings=list(narrowing.beginnings),
            longest=narrowing.longest,
        )
        return [node_id for [node_id] in rows]

    def texts(self, node_ids: Sequence[int]) -> dict[int, str]:
        """Returns the texts of strings by id, as they are in the document that was compared.

        Without those that no search returns, as they were skipped.
        """
        rows = self.tx.run(
            """
            SELECT node.id, COALESCE(node.content, whole.text) FROM node
            LEFT JOIN LATERAL (
                SELECT string_agg(substr(chunk_text, 1 + known - char_start), ''
                                  ORDER BY chunk_index) AS text
                FROM (SELECT chunk_text, chunk_index, char_start,
                             COALESCE(lag(char_end) OVER (ORDER BY chunk_index), 0) AS known
                      FROM chunks WHERE set_id = node.active_set_id) AS cut) AS whole
                ON node.content IS NULL
            WHERE node.id = ANY(CAST(:nodes AS bigint[]))
            """,
            nodes=list(node_ids),
        )
        return {node_id: text for node_id, text in rows if text is not None}

    def pointers(self, index_ids: Sequence[int], table_id: int, prefix: bytes) -> list[str]:
        """Returns the pointers of a table's strings in indexes whose sha256 begins so."""
        rows = self.tx.run(
            """
            SELECT DISTINCT json_pointer FROM node
            JOIN search_index ON search_index.active_generation_id = node.generation_id
            WHERE search_index.id = ANY(CAST(:indexes AS bigint[])) AND node.table_id = :table
              AND pointer_sha256 BETWEEN CAST(:prefix AS bytea) AND CAST(:last AS bytea)
            """,
            indexes=list(index_ids),
            table=table_id,
            prefix=prefix,
            last=prefix + b"\xff" * (len(pointer_sha256("")) - len(prefix)),
        )
        return sorted(pointer for [pointer] in rows)
