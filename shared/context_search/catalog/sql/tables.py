"""Tables and their documents in Postgres."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from context_search.catalog.rules.outlines import (
    SHOWN_CHARS,
    Beginnings,
    Children,
    ChildValue,
    TextWindow,
)
from context_search.catalog.rules.tables import (
    MOST_COUNTED_TOOLS,
    ListedTable,
    Part,
    StringsAt,
)
from context_search.catalog.rules.versions import BY_SQL, Origin
from context_search.core.errors import NotFoundError
from context_search.core.json_pointer import split
from context_search.core.model import Table
from context_search.core.pages import Page
from context_search.postgres.json_text import (
    NUMBERS_OF_DATA,
    NUMBERS_OF_VALUE,
    PART,
    READABLE,
    cuts_of,
    text_of,
)
from context_search.postgres.locks import lock_table
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import LIVE, TABLE_IS_THERE, TABLE_OF_CALLER

# For the trigger that adds the version of the new revision.
_REPORTED = "set_config('context_search.origin', :origin, true) AS reported"
# An owner's column may be without a time zone.
_TABLE = """
    context_table.id, context_table.project_id, context_table.name, context_table.description,
    context_table.revision, CAST(context_table.updated_at AS timestamptz),
    context_table.url_template
"""

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
class Tables:
    """JSON documents, whole and piece by piece. Deleted tables are invisible."""

    tx: Transaction

    def add(
        self,
        project_id: int,
        name: str,
        description: str | None,
        data_json: str,
        *,
        url_template: str | None = None,
        origin: Origin = BY_SQL,
    ) -> Table:
        """Creates a table with its document."""
        [row] = self.tx.run(
            f"""
            INSERT INTO context_table
                (project_id, name, description, data, updated_at, url_template)
            SELECT :project, :name, :description, CAST(:data AS jsonb), now(), :url FROM {_REPORTED}
            RETURNING {_TABLE}
            """,
            origin=_reported(origin, None),
            project=project_id,
            name=name,
            description=description,
            data=data_json,
            url=url_template,
        )
        return Table(*row)

    def find(self, table_id: int, *, project_id: int) -> Table | None:
        """Returns a live table of that project."""
        rows = self.tx.run(
            f"""
            SELECT {_TABLE} FROM context_table
            WHERE id = :table AND project_id = :project AND {TABLE_IS_THERE}
            """,
            table=table_id,
            project=project_id,
        )
        return Table(*rows[0]) if rows else None

    def set_url_template(
        self, table_id: int, url_template: str | None, *, project_id: int
    ) -> Table | None:
        """Changes the address of a live table's places; its revision stays."""
        rows = self.tx.run(
            f"""
            UPDATE context_table SET url_template = :url
            WHERE id = :table AND project_id = :project AND {TABLE_IS_THERE} RETURNING {_TABLE}
            """,
            table=table_id,
            project=project_id,
            url=url_template,
        )
        return Table(*rows[0]) if rows else None

    def url_templates(self, project_id: int, table_ids: Sequence[int]) -> dict[int, str]:
        """Returns the addresses of the places of those live tables of a project that have one."""
        rows = self.tx.run(
            f"""
            SELECT id, url_template FROM context_table
            WHERE id = ANY(CAST(:tables AS bigint[])) AND project_id = :project
              AND url_template IS NOT NULL AND {TABLE_IS_THERE}
            """,
            tables=list(table_ids),
            project=project_id,
        )
        return dict(rows)

    def names(self, project_id: int, table_ids: Sequence[int]) -> dict[int, str]:
        """Returns the names of those that are live tables of a project."""
        rows = self.tx.run(
            f"""
            SELECT id, COALESCE(name, '') FROM context_table
            WHERE id = ANY(CAST(:tables AS bigint[])) AND project_id = :project
              AND {TABLE_IS_THERE}
            """,
            tables=list(table_ids),
            project=project_id,
        )
        return dict(rows)

    def ids(self, project_id: int, *, after: int, limit: int) -> list[int]:
        """Returns live tables of a project with higher ids, ascending."""
        rows = self.tx.run(
            f"""
            SELECT id FROM context_table
            WHERE project_id = :project AND id > :after AND {TABLE_IS_THERE}
            ORDER BY id LIMIT :limit
            """,
            project=project_id,
            after=after,
            limit=limit,
        )
        return [table_id for [table_id] in rows]

    def page(
        self,
        project_id: int,
        *,
        after: int,
        limit: int,
        among: int,
        part_of_name: str | None = None,
    ) -> Page[ListedTable]:
        """Returns live tables of a project with higher ids, at most ``limit``, of those ``among``.

        ``part_of_name``: only those whose name contains it, whatever the case. A page may be short,
        or empty, while there is more to look at. Reads no document.
        """
        [[looked_at, last, wanted]] = self.tx.run(
            f"""
            SELECT count(*), max(id), array_agg(id ORDER BY id) FILTER (
                WHERE CAST(:q AS text) IS NULL
                   OR strpos(lower(name), lower(CAST(:q AS text))) > 0)
            FROM (SELECT context_table.id, context_table.name FROM context_table
                  WHERE context_table.project_id = :project AND context_table.id > :after
                    AND {TABLE_IS_THERE}
                  ORDER BY context_table.project_id, context_table.id LIMIT :among) AS looked_at
            """,
            project=project_id,
            after=after,
            among=among if part_of_name is not None else limit + 1,
            q=part_of_name,
        )
        found = list(wanted or [])
        shown = found[:limit]
        if len(found) > limit:
            return Page(self._listed(project_id, shown), shown[-1])
        is_last = part_of_name is None or looked_at < among
        return Page(self._listed(project_id, shown), None if is_last else last)

    def _listed(self, project_id: int, table_ids: Sequence[int]) -> list[ListedTable]:
        rows = self.tx.run(
            f"""
            SELECT {_TABLE}, COALESCE(pg_column_size(context_table.data), 0),
                   counted.tools_count, counted.index_ids
            FROM context_table CROSS JOIN LATERAL (
                SELECT count(*) AS tools_count, array_agg(DISTINCT index_id) AS index_ids
                FROM (SELECT coverage.index_id FROM tool
                      JOIN coverage ON coverage.tool_id = tool.id
                      JOIN search_index ON search_index.id = coverage.index_id
                                       AND search_index.project_id = tool.project_id
                      WHERE tool.table_id = context_table.id
                        AND tool.project_id = context_table.project_id AND {LIVE}
                      LIMIT {MOST_COUNTED_TOOLS}) AS few) AS counted
            WHERE context_table.id = ANY(CAST(:tables AS bigint[]))
              AND context_table.project_id = :project ORDER BY context_table.id
            """,
            tables=list(table_ids),
            project=project_id,
        )
        return [
            ListedTable(Table(*row[:-3]), stored, tools, index_ids or ())
            for row in rows
            for stored, tools, index_ids in [row[-3:]]
        ]

    def count(self, project_id: int) -> int:
        """Returns how many live tables a project has."""
        [[count]] = self.tx.run(
            f"""
            SELECT count(*) FROM context_table WHERE project_id = :project AND {TABLE_IS_THERE}
            """,
            project=project_id,
        )
        return int(count)

    def lock(self, table_id: int, *, with_project: bool = False) -> int | None:
        """Keeps the document from changing until the transaction ends; returns its revision.

        None when the table is gone or deleted. One at a time has the lock, and it never reads the
        document, so that many can take it one after another. ``with_project`` keeps the project
        from being deleted, too: for those who add what refers to it, in the order in which a
        delete takes them.
        """
        return lock_table(self.tx, table_id, with_project=with_project)

    def size(self, table_id: int) -> int:
        """Returns how many bytes the JSON text has, about; 0 when the table is gone.

        Of a document that is large even when compressed it is that size.
        """
        rows = self.tx.run(
            f"""
            SELECT CASE WHEN sized.stored > 5000000 THEN sized.stored
                        WHEN sized.numbers > 5000000 THEN sized.numbers
                        ELSE octet_length(CAST(data AS text)) END
            FROM context_table, LATERAL (
                SELECT pg_column_size(data) AS stored, {NUMBERS_OF_DATA} AS numbers) AS sized
            WHERE id = :table AND {TABLE_OF_CALLER}
            """,
            table=table_id,
        )
        return int(rows[0][0] or 0) if rows else 0

    def read(self, table_id: int) -> tuple[int, str]:
        """Returns the revision and the JSON text of the document.

        Raises NotFoundError, and DocumentTooLargeError when the numbers in it, written out, take
        over 256,000,000 bytes.
        """
        rows = self.tx.run(
            f"""
            SELECT {READABLE}, revision FROM context_table
            WHERE id = :table AND {TABLE_OF_CALLER}
            """,
            table=table_id,
        )
        if not rows:
            raise NotFoundError("there is no such table")
        return rows[0][2], text_of(*rows[0][:2])

    def replace(
        self,
        table_id: int,
        data_json: str,
        *,
        expected_revision: int | None,
        origin: Origin = BY_SQL,
    ) -> Table | None:
        """Writes a new document; None when the revision is another one.

        The caller records what is overwritten. Without ``origin`` it is what another program does.
        """
        rows = self.tx.run(
            f"""
            UPDATE context_table SET data = CAST(:data AS jsonb) FROM {_REPORTED}
            WHERE id = :table AND {TABLE_OF_CALLER} AND {TABLE_IS_THERE}
              AND (CAST(:revision AS bigint) IS NULL OR revision = :revision)
            RETURNING {_TABLE}
            """,
            table=table_id,
            data=data_json,
            revision=expected_revision,
            origin=_reported(origin, table_id),
        )
        return Table(*rows[0]) if rows else None

    def part(
        self, table_id: int, path: Sequence[str], *, max_bytes: int, holding: Sequence[str] = ()
    ) -> Part | None:
        """Returns the value at an unescaped path, its text if that has at most so many bytes.

        With ``holding``, pieces of JSON text as Postgres writes it, only a text that has one of
        them. None when the path leads nowhere. Never takes more of a document than it returns.
        """
        rows = self.tx.run(
            f"""
            SELECT revision, COALESCE(octet_length(text), numbers),
                   CASE WHEN octet_length(text) <= :most AND NOT lacks THEN text END,
                   jsonb_typeof(value) = 'string', lacks
            FROM {PART},
                LATERAL (SELECT {NUMBERS_OF_VALUE} AS numbers OFFSET 0) AS sized,
                LATERAL (SELECT CASE WHEN numbers <= :most THEN CAST(value AS text) END AS text
                         OFFSET 0) AS written,
                LATERAL (SELECT COALESCE(
                    octet_length(text) <= :most AND CAST(:holding AS text[]) <> '{{}}'
                    AND NOT EXISTS (
                        SELECT FROM unnest(CAST(:holding AS text[])) AS pieces (piece)
                        WHERE strpos(text, piece) > 0), false) AS lacks OFFSET 0) AS searched
            WHERE value IS NOT NULL
            """,
            table=table_id,
            path=list(path),
            cuts=cuts_of(path),
            most=max_bytes,
            holding=list(holding),
        )
        return Part(*rows[0]) if rows else None

    def strings_at(self, table_id: int, path: Sequence[str], *, measured: bool) -> StringsAt | None:
        """Returns the strings at an unescaped path, None when it leads nowhere.

        Measures them if so wanted, of documents that take up to 5 MB.
        """
        rows = self.tx.run(
            f"""
            SELECT CASE WHEN CAST(:measured AS boolean) AND stored <= 5000000 THEN (
                SELECT COALESCE(max(char_length(string)), 0)
                FROM jsonb_array_elements_text(jsonb_path_query_array(
                    value, 'strict $.**{{0 to 5000}} ? (@.type() == "string")'))
                    AS strings (string)) END
            FROM {PART} WHERE value IS NOT NULL
            """,
            table=table_id,
            path=list(path),
            cuts=cuts_of(path),
            measured=measured,
        )
        return StringsAt(rows[0][0]) if rows else None

    def window(
        self, table_id: int, path: Sequence[str], *, start: int, length: int
    ) -> TextWindow | None:
        """Returns so many characters of the string at an unescaped path, as far as it has them.

        None when the path leads nowhere. Postgres reads the whole document, here and in
        ``children``, this process only the piece.
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

    def mark_deleted(self, table_id: int) -> None:
        """Makes a table and its tools invisible at once."""
        # Its Search Tools by themselves: an owner's foreign key may not let them go with it.
        self.tx.run(
            f"""
            WITH marked AS (
                UPDATE context_table SET context_search_remove_at = clock_timestamp()
                WHERE id = :table AND {TABLE_OF_CALLER} RETURNING id, project_id)
            UPDATE tool SET context_search_remove_at = clock_timestamp()
            FROM marked, coverage WHERE tool.table_id = marked.id AND coverage.tool_id = tool.id
              AND tool.project_id = marked.project_id
            """,
            table=table_id,
        )

    def mark_of_deleted_projects(self, *, limit: int) -> int:
        """Marks tables of deleted projects, at most ``limit``; returns how many.

        Also those in their owner's trash.
        """
        rows = self.tx.run(
            """
            SELECT context_table.id FROM context_table JOIN project_removal USING (project_id)
            WHERE context_search_remove_at IS NULL
            ORDER BY context_table.id LIMIT :limit
            FOR NO KEY UPDATE OF context_table SKIP LOCKED
            """,
            limit=limit,
        )
        for [table_id] in rows:
            self.mark_deleted(table_id)
        return len(rows)


def _reported(origin: Origin, table_id: int | None) -> str:
    return json.dumps({"table_id": table_id, **asdict(origin)})
