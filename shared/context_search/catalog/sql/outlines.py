"""Documents piece by piece, in Postgres: only the piece leaves the database."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from context_search.catalog.rules.outlines import (
    SHOWN_CHARS,
    Beginnings,
    Children,
    ChildValue,
    TextWindow,
)
from context_search.core.json_pointer import split
from context_search.postgres.json_text import PART, cuts_of
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import TABLE_IS_THERE, TABLE_OF_CALLER

# ``jsonb`` counts elements by itself, members have to be listed.
_LENGTH = """
    CASE jsonb_typeof({value})
        WHEN 'object' THEN (SELECT count(*) FROM jsonb_object_keys({value}))
        WHEN 'array' THEN jsonb_array_length({value})
        WHEN 'string' THEN char_length({value} #>> '{{}}')
        WHEN 'number' THEN char_length({value} #>> '{{}}') END
"""
_LENGTH_OF_VALUE = _LENGTH.format(value="value")
_LENGTH_OF_CHILD = _LENGTH.format(value="child")
_AFTER, _LIMIT = "CAST(:after AS bigint)", "CAST(:limit AS bigint)"
_ELEMENTS = f"""
    SELECT {_AFTER} + number - 1, CAST({_AFTER} + number - 1 AS text), element
    FROM jsonb_array_elements(jsonb_path_query_array(
        CASE jsonb_typeof(value) WHEN 'array' THEN value ELSE '[]' END, '$[$first to $last]',
        jsonb_build_object('first', {_AFTER}, 'last', {_AFTER} + {_LIMIT}), true))
        WITH ORDINALITY AS elements (element, number)
    WHERE CAST(:part AS text) IS NULL
    UNION ALL
    SELECT CAST(:element AS bigint), CAST(CAST(:element AS bigint) AS text),
           value -> CAST(CAST(:element AS bigint) AS int)
    WHERE jsonb_typeof(value) = 'array' AND CAST(:element AS bigint) >= {_AFTER}
      AND CAST(:element AS bigint) < jsonb_array_length(value)
"""
# The last one is behind the page: it says where the next begins.
_MEMBERS = f"""
    SELECT number - 1, key, value -> key FROM (
        SELECT key, number, row_number() OVER (ORDER BY number) AS place,
               sum(char_length(key)) OVER (ORDER BY number) - char_length(key) AS chars_before
        FROM (
            SELECT key, number FROM jsonb_object_keys(
                CASE jsonb_typeof(value) WHEN 'object' THEN value ELSE '{{}}' END)
                WITH ORDINALITY AS keys (key, number)
            WHERE number > {_AFTER} AND (
                CAST(:part AS text) IS NULL OR strpos(lower(key), lower(CAST(:part AS text))) > 0)
            ORDER BY number LIMIT {_LIMIT} + 1) AS found) AS measured
    WHERE chars_before <= CAST(:most_chars AS bigint) OR place = 2
"""
# An array has no members, and of a member that is no text there is no title.
_MEMBER = """
    CASE WHEN jsonb_typeof(child -> '{key}') = 'string'
         THEN NULLIF(left(child ->> '{key}', {chars}), '') END
"""
_TITLE_MEMBER = _MEMBER.format(key="title", chars=SHOWN_CHARS)
_NAME_MEMBER = _MEMBER.format(key="name", chars=SHOWN_CHARS)
_ELEMENT = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Outlines:
    """Documents of any size, piece by piece.

    Postgres reads the whole document for each piece, this process only the piece.
    """

    tx: Transaction

    def window(
        self, table_id: int, path: Sequence[str], *, start: int, length: int
    ) -> TextWindow | None:
        """Returns so many characters of the string at an unescaped path, as far as it has them.

        None when the path leads nowhere.
        """
        rows = self.tx.run(
            f"""
            SELECT revision, COALESCE(char_length(text), 0),
                   encode(sha256(convert_to(COALESCE(text, ''), 'UTF8')), 'hex'),
                   substr(text, :start + 1, :length)
            FROM (SELECT revision, CASE jsonb_typeof(value) WHEN 'string' THEN value #>> '{{}}' END
                         AS text FROM {PART} WHERE value IS NOT NULL OFFSET 0) AS read
            """,
            table=table_id,
            path=list(path),
            cuts=cuts_of(path),
            start=start,
            length=length,
        )
        if not rows:
            return None
        [[revision, total, content_hash, text]] = rows
        first = min(start, total)
        return TextWindow(revision, first, min(first + length, total), total, content_hash, text)

    def children(
        self,
        table_id: int,
        path: Sequence[str],
        *,
        after: int,
        limit: int,
        most_chars: int,
        part_of_key: str | None = None,
    ) -> Children | None:
        """Returns what stands directly below an unescaped path, from position ``after`` on.

        Not more than ``limit``, and their keys have at most ``most_chars`` characters together,
        unless the first has more. Members stand as Postgres has them. ``part_of_key``: only members
        whose key contains it, whatever the case; of an array the element of that number. None when
        the path leads nowhere.
        """
        is_number = part_of_key is not None and _ELEMENT.fullmatch(part_of_key)
        rows = self.tx.run(
            f"""
            SELECT revision, jsonb_typeof(value), {_LENGTH_OF_VALUE},
                (SELECT json_agg(json_build_array(
                    position, key, jsonb_typeof(child), {_LENGTH_OF_CHILD},
                    pg_column_size(child),
                    CASE WHEN jsonb_typeof(child) NOT IN ('object', 'array')
                         THEN left(COALESCE(child #>> '{{}}', 'null'), {SHOWN_CHARS}) END,
                    COALESCE({_TITLE_MEMBER}, {_NAME_MEMBER})
                    ) ORDER BY position)
                 FROM ({_ELEMENTS} UNION ALL {_MEMBERS}) AS found (position, key, child))
            FROM {PART} WHERE value IS NOT NULL
            """,
            table=table_id,
            path=list(path),
            cuts=cuts_of(path),
            after=after,
            limit=limit,
            most_chars=most_chars,
            part=part_of_key,
            element=int(str(part_of_key)) if is_number else None,
        )
        if not rows:
            return None
        [[revision, kind, length, found]] = rows
        children = [ChildValue(*each) for each in json.loads(found or "[]")]
        return Children.page(revision, kind, length, children, limit=limit, most_chars=most_chars)

    def beginnings(
        self, table_id: int, pointers: Sequence[str], *, chars: int
    ) -> Beginnings | None:
        """Returns the first ``chars`` characters of the strings that stand at these pointers.

        Where something else stands, or nothing, there is none. None when the table is gone.

        Unpacks the document once, whatever the number of pointers.

        And each container once whose kind says whether a key such as ``-1`` leads on.
        """
        paths = [split(pointer) for pointer in pointers]
        asked = [[path[: len(path) - cut] for cut in cuts_of(path)] for path in paths]
        containers = sorted({tuple(each) for of_path in asked for each in of_path})
        number_of = {container: number for number, container in enumerate(containers, start=1)}
        places = [
            [path, [number_of[tuple(each)] for each in of_path]]
            for path, of_path in zip(paths, asked, strict=True)
        ]
        rows = self.tx.run(
            f"""
            SELECT table_name, (
                SELECT json_object_agg(place.number, left(found #>> '{{}}', :chars))
                FROM (SELECT ARRAY(
                          SELECT container.number FROM jsonb_array_elements(
                              CAST(:containers AS jsonb)) WITH ORDINALITY
                              AS container (wanted, number)
                          WHERE jsonb_typeof(value #> ARRAY(
                              SELECT jsonb_array_elements_text(wanted))) = 'array') AS numbers
                      OFFSET 0) AS arrays,
                    jsonb_array_elements(CAST(:places AS jsonb)) WITH ORDINALITY
                        AS place (wanted, number),
                    LATERAL (SELECT ARRAY(
                        SELECT jsonb_array_elements_text(wanted -> 0)) AS path OFFSET 0) AS led,
                    LATERAL (SELECT value #> path AS found OFFSET 0) AS read
                WHERE jsonb_typeof(found) = 'string' AND NOT EXISTS (
                    SELECT FROM jsonb_array_elements_text(wanted -> 1) AS container (number)
                    WHERE CAST(container.number AS bigint) = ANY(numbers)))
            FROM (SELECT COALESCE(name, '') AS table_name,
                         COALESCE(data, 'null') #> CAST('{{}}' AS text[]) AS value
                  FROM context_table
                  WHERE id = :table AND {TABLE_OF_CALLER} AND {TABLE_IS_THERE} OFFSET 0) AS document
            """,
            table=table_id,
            places=json.dumps(places),
            containers=json.dumps(containers),
            chars=chars,
        )
        if not rows:
            return None
        [[name, found]] = rows
        texts = json.loads(found or "{}")
        return Beginnings(name, {pointers[int(at) - 1]: text for at, text in texts.items()})
