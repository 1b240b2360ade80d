"""Strings of an index that a Search Tool can return, and their texts, in Postgres."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.core.ids import pointer_sha256
from context_search.core.json_pointer import split
from context_search.core.model import SearchTool
from context_search.postgres.json_text import PART, cuts_of
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import TABLE_IS_THERE
from context_search.postgres.visible_strings import (
    FIELDS_ARE_KNOWN,
    filter_parameters,
    in_scope,
)
from context_search.reading.rules.narrowing import Narrowing
from context_search.reading.rules.outlines import (
    Described,
    DescribedPlace,
    SeenChild,
    SeenOutline,
    SeenPlace,
)
from context_search.reading.rules.seen_strings import SeenNode, SeenTable

# The comparison knows the document as it is now, in this scope, with the fields of the filter.
_IS_KNOWN = f"""
    comparison.revision = context_table.revision
    AND (CAST(:path AS jsonpath) IS NULL OR {FIELDS_ARE_KNOWN})
    AND EXISTS (SELECT FROM unnest(comparison.scopes) AS known
                WHERE known IN ('', :scope) OR starts_with(:scope, known || '/'))
"""
# Strings whose fields nobody has noted yet may be visible, too: ``unnoted``.
_UNNOTED = "COALESCE(bool_or(CAST(:path AS jsonpath) IS NOT NULL AND fields IS NULL), false)"
_OF_INDEX = f"""
    FROM node
    WHERE node.generation_id = search_index.active_generation_id
      AND node.table_id = context_table.id AND {in_scope("node.json_pointer")}
      AND (CAST(:path AS jsonpath) IS NULL OR fields IS NULL
           OR fields @@ CAST(:path AS jsonpath))
"""


def _seen(column: str, seen: str) -> str:
    """Returns the statement of a column of what a subquery sees of an index."""
    return f"""
        SELECT context_table.revision, COALESCE({_IS_KNOWN} AND NOT seen.unnoted, false),
               seen.{column}
        FROM context_table
        JOIN search_index ON search_index.id = :index
        LEFT JOIN comparison ON comparison.generation_id = search_index.active_generation_id
                            AND comparison.table_id = context_table.id
        CROSS JOIN LATERAL ({seen}) AS seen
        WHERE context_table.id = :table AND context_table.project_id = :project
          AND {TABLE_IS_THERE}
    """


_NODES = _seen(
    "nodes",
    f"""
    SELECT json_agg(json_build_array(node.id, node.json_pointer, node.char_count)) AS nodes,
           {_UNNOTED} AS unnoted
    {_OF_INDEX}
    """,
)
_RETURNS = _seen(
    "is_let_through",
    f"""
    SELECT COALESCE(bool_or(fields @@ CAST(:path AS jsonpath)), false) AS is_let_through,
           {_UNNOTED} AS unnoted
    FROM node
    WHERE node.generation_id = search_index.active_generation_id
      AND node.table_id = context_table.id AND pointer_sha256 = :sha
    """,
)
_COUNT = _seen("strings", f"SELECT count(*) AS strings, {_UNNOTED} AS unnoted {_OF_INDEX}")
# Grouped by the first two tokens below the place, then by the first. Sorted as members of jsonb
# are: by the length of the key, then by its bytes.
_CHILDREN = _seen(
    "place",
    f"""
    WITH below AS (
        SELECT split_part(rest, '/', 1) AS token, split_part(rest, '/', 2) AS inner_token,
               CASE WHEN rest LIKE '%/%/%' THEN 2 WHEN rest LIKE '%/%' THEN 1
                    WHEN rest IS NOT NULL THEN 0 END AS depth,
               count(*) AS strings, max(char_count) AS length, {_UNNOTED} AS unnoted
        FROM (SELECT char_count, fields, CASE WHEN json_pointer <> :scope THEN
                  substr(json_pointer, char_length(:scope) + 2) END AS rest
              {_OF_INDEX}) AS found
        GROUP BY 1, 2, 3),
    child AS (
        SELECT token, CAST(sum(strings) AS bigint) AS strings,
               count(*) FILTER (WHERE depth > 0) AS children,
               max(length) FILTER (WHERE depth = 0) AS length, bool_or(depth = 1) AS names_itself,
               replace(replace(token, '~1', '/'), '~0', '~') COLLATE "C" AS key
        FROM below WHERE token IS NOT NULL GROUP BY token),
    page AS (
        SELECT * FROM child ORDER BY octet_length(key), key OFFSET :after LIMIT :limit)
    SELECT COALESCE(bool_or(unnoted), false) AS unnoted,
           CASE WHEN count(*) > 0 THEN json_build_array(
               CAST(sum(strings) AS bigint), (SELECT count(*) FROM child),
               max(length) FILTER (WHERE token IS NULL), COALESCE(bool_or(depth = 0), false), (
               SELECT json_agg(json_build_array(token, strings, children, length, names_itself)
                               ORDER BY octet_length(key), key) FROM page)) END AS place
    FROM below
    """,
)
# Of an array there are no members.
_TITLE = """
    COALESCE(CASE jsonb_typeof({value} -> 'title') WHEN 'string' THEN
                 NULLIF(left({value} ->> 'title', :chars), '') END,
             CASE jsonb_typeof({value} -> 'name') WHEN 'string' THEN
                 NULLIF(left({value} ->> 'name', :chars), '') END)
"""
_DESCRIBED = f"""
    SELECT revision, jsonb_typeof(value), {_TITLE.format(value="value")}, (
        SELECT json_agg(json_build_array(jsonb_typeof(child), {_TITLE.format(value="child")})
                        ORDER BY number)
        FROM (SELECT number, value #> ARRAY[key] AS child
              FROM unnest(CAST(:keys AS text[])) WITH ORDINALITY AS keys (key, number)
              OFFSET 0) AS found)
    FROM {PART} WHERE value IS NOT NULL
"""


def _holding(texts: Mapping[str, Sequence[str]]) -> str:
    """Returns the condition that a folded text has one of each kind of texts."""
    return " AND ".join(
        "(" + " OR ".join(f"strpos(folded, :{kind}_{n}) > 0" for n in range(len(each))) + ")"
        for kind, each in texts.items()
        if each
    )


def _folded(text: str) -> str:
    """The empty text makes Postgres unpack a text once; lower() of C knows ASCII alone."""
    return f"""
        CASE WHEN :folded THEN lower({text} COLLATE "C") ELSE {text} COLLATE "C" || '' END
    """


# Texts of strings, or of their chunks. In a chunk of ASCII there are as many bytes as characters,
# which Postgres knows of a text without unpacking it. It looks with all its cores where the offset
# keeps a text from being unpacked for each piece: of '0', unlike 0, it knows in time that it is
# none.
_IN_TEXTS = f"""
    SELECT DISTINCT id FROM (
        SELECT node.id, {_folded("chunk_text")} AS folded
        FROM node JOIN chunks ON set_id = active_set_id
        WHERE node.id = ANY(CAST(:nodes AS bigint[])) AND content IS NULL
          AND (:ascii OR octet_length(chunk_text) > char_end - char_start)
        UNION ALL
        SELECT id, {_folded("content")} FROM node
        WHERE id = ANY(CAST(:nodes AS bigint[])) AND content IS NOT NULL
        OFFSET '0') AS text
    WHERE {{holding}}
"""
_AROUND_BORDER = _folded("""(right(chunk.chunk_text, :longest)
    || substr(next.chunk_text, 1 + chunk.char_end - next.char_start, :longest))""")
# A piece that no chunk has whole begins in one and goes on in the next, which shares less with it
# than all but two of the characters of the piece. Where the next is short it may go on behind.
# Texts of other chunks are not read.
_ACROSS = f"""
    SELECT DISTINCT node_id FROM (
        SELECT node.id AS node_id, chunks.id, char_end, lead(chunks.id) OVER later AS next_id,
               lead(char_start) OVER later AS next_start, lead(char_end) OVER later AS next_end
        FROM node JOIN chunks ON set_id = active_set_id
        WHERE node.id = ANY(CAST(:nodes AS bigint[])) AND content IS NULL
        WINDOW later AS (PARTITION BY set_id ORDER BY chunk_index)) AS border
    WHERE char_end - next_start <= :longest - 2 AND (next_end - char_end < :longest OR (
        SELECT {{holding}} FROM (
            SELECT {_AROUND_BORDER} AS folded
            FROM chunks AS chunk, chunks AS next
            WHERE chunk.id = border.id AND next.id = next_id OFFSET 0) AS text))
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
        rows = self.tx.run(_NODES, **_parameters(tool, tool.scope.json_pointer))
        if not rows:
            return None
        [[revision, is_known, listed]] = rows
        nodes = [SeenNode(*each) for each in json.loads(listed or "[]")] if is_known else None
        return SeenTable(revision, nodes)

    def count(self, tool: SearchTool) -> int | None:
        """Returns how many strings a tool can return.

        None when the index does not know the document as it is now, or the table is gone.
        """
        rows = self.tx.run(_COUNT, **_parameters(tool, tool.scope.json_pointer))
        return rows[0][2] if rows and rows[0][1] else None

    def children(
        self, tool: SearchTool, pointer: str, *, after: int, limit: int
    ) -> SeenOutline | None:
        """Returns a place of a tool's scope with the children that its searches reach.

        None when its table is gone.
        """
        rows = self.tx.run(_CHILDREN, after=after, limit=limit, **_parameters(tool, pointer))
        if not rows:
            return None
        [[revision, is_known, found]] = rows
        if not is_known or found is None:
            return SeenOutline(revision, is_known, None)
        strings, children, length, names_itself, page = json.loads(found)
        seen = [SeenChild(*each) for each in page or []]
        return SeenOutline(
            revision, is_known, SeenPlace(strings, children, length, names_itself, seen)
        )

    def described(
        self, table_id: int, pointer: str, keys: Sequence[str], *, chars: int
    ) -> DescribedPlace | None:
        """Returns kinds and titles of a place and its children by their keys, as they are now.

        Of titles so many characters. None when the pointer leads nowhere; a child that is not there
        has the kind None.
        """
        path = split(pointer)
        rows = self.tx.run(
            _DESCRIBED,
            table=table_id,
            path=path,
            cuts=cuts_of(path),
            keys=list(keys),
            chars=chars,
        )
        if not rows:
            return None
        [[revision, kind, title, found]] = rows
        children = [Described(*each) for each in json.loads(found or "[]")]
        return DescribedPlace(revision, Described(kind, title), children)

    def holding(self, node_ids: Sequence[int], narrowing: Narrowing) -> list[int]:
        """Returns those of some strings in which a literal may stand, in no order, some twice."""
        texts = {"hint": narrowing.hints, "piece": narrowing.pieces}
        holding = _holding(texts)
        parameters = {
            "nodes": list(node_ids),
            "folded": narrowing.is_folded,
            **{f"{kind}_{n}": text for kind, each in texts.items() for n, text in enumerate(each)},
        }
        self.tx.queue(_NOT_COMPILED)
        in_texts = _IN_TEXTS.format(holding=holding)
        rows = self.tx.run(in_texts, ascii=narrowing.is_in_ascii, **parameters)
        if narrowing.longest > 1:
            across = _ACROSS.format(holding=holding)
            rows += self.tx.run(across, longest=narrowing.longest, **parameters)
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

    def knows(self, tool: SearchTool) -> bool:
        """Says whether the index knows the document of a tool as it is now."""
        where = _parameters(tool, tool.scope.json_pointer)
        rows = self.tx.run(_RETURNS, sha=b"", **where)
        return not rows or bool(rows[0][1])

    def returns(self, tool: SearchTool, json_pointer: str) -> bool | None:
        """Says whether a tool's ``where`` lets a string of its scope through.

        None when the index does not know the document as it is now.
        """
        where = _parameters(tool, tool.scope.json_pointer)
        rows = self.tx.run(_RETURNS, sha=pointer_sha256(json_pointer), **where)
        return rows[0][2] if rows and rows[0][1] else None

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


def _parameters(tool: SearchTool, pointer: str) -> dict[str, object]:
    """Returns the parameters of a tool's statements about a place in its scope."""
    return {
        "index": tool.index_id,
        "table": tool.scope.table_id,
        "project": tool.project_id,
        "scope": pointer,
        **filter_parameters(tool.reach.filter),
    }
