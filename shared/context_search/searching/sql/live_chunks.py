"""Chunks in Postgres as search reads them: live, active, in scope."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from context_search.core.config import SearchConfig
from context_search.core.documents import content_hash, parse_fielded, parse_stored
from context_search.core.errors import InvalidDocumentError
from context_search.core.filters import (
    Filter,
    lets_through,
    matches,
    names_of,
    stored_fields,
)
from context_search.core.ids import pointer_sha256
from context_search.core.json_pointer import resolve, split
from context_search.core.model import HydratedChunk, Index, Reach, SearchTool
from context_search.core.named_tuples import maker_of
from context_search.postgres.json_text import READABLE, text_of
from context_search.postgres.pool import Transaction
from context_search.postgres.session import Statement
from context_search.postgres.tool_rows import (
    ACTIVE,
    INDEX_COLUMNS,
    INDEX_OF_PROJECT,
    TOOL_COLUMNS,
    TOOL_TABLES,
    index_of_row,
    tool_of,
)
from context_search.postgres.visible_rows import (
    ACKNOWLEDGED,
    LIVE,
    TABLE_IS_THERE,
    TABLE_OF_CALLER,
)
from context_search.postgres.visible_strings import (
    FIELDS_ARE_KNOWN,
    filter_parameters,
    in_scope,
)
from context_search.ranking.search import Target
from context_search.searching.rules.retrieval import ChunkText
from context_search.searching.rules.searched import Searched, SearchedTool, SeenFields

if TYPE_CHECKING:
    from context_search.indexing.sql.node_counts import NodeCounts

_IN_SCOPE = in_scope("json_pointer")

# Two lists as a JSON value each: pg8000 takes 8 µs for a row, and there may be 10,000. Sets are
# looked for by their ids: joined with 8,800 chunks, each was compared with every set. What the
# chunks of a set share comes with the set, and what few are looked at for comes when they are.
_FOUND = f"""
    WITH found AS MATERIALIZED (
        SELECT set_id, CASE
            WHEN CAST(:texts AS boolean) THEN json_build_array(
                set_id, turbopuffer_doc_id, chunk_index,
                id, total_chunks, chunk_text, char_start, char_end)
            ELSE json_build_array(set_id, turbopuffer_doc_id, chunk_index) END AS chunk
        FROM chunks
        WHERE turbopuffer_namespace = :namespace
          AND turbopuffer_doc_id = ANY(CAST(:ids AS text[]))
          AND {_IN_SCOPE}
          AND (CAST(:tables AS bigint[]) IS NULL OR table_id = ANY(CAST(:tables AS bigint[]))))
    SELECT (SELECT json_agg(chunk) FROM found), (
        SELECT json_agg(json_build_array(
                   chunk_set.id, node.table_id, node.json_pointer, chunk_set.content_hash,
                   node.changed_at, node.content_hash,
                   context_table.revision, comparison.revision,
                   CAST(CASE WHEN {FIELDS_ARE_KNOWN} THEN node.fields END AS text)))
        FROM chunk_set
        JOIN node ON node.active_set_id = chunk_set.id
        JOIN context_table ON context_table.id = node.table_id
        LEFT JOIN comparison ON comparison.generation_id = node.generation_id
                            AND comparison.table_id = node.table_id
        WHERE chunk_set.id = ANY(ARRAY(SELECT DISTINCT set_id FROM found))
          AND chunk_set.state = 'active' AND {TABLE_IS_THERE}
          AND context_table.project_id = :project AND node.generation_id = :generation)
"""


def chunks_statement(
    index: Index, reach: Reach, doc_ids: Sequence[str], *, texts: bool
) -> Statement:
    """Returns the statement of ``hydrate``: the chunks, and those of their sets that answer."""
    wanted = reach.filter
    return _FOUND, {
        "namespace": index.generation.namespace,
        "ids": list(doc_ids),
        "texts": texts,
        "scope": reach.json_pointer,
        "tables": None if reach.table_ids is None else list(reach.table_ids),
        "project": index.project_id,
        "generation": index.generation.id,
        "names": None if wanted is None else sorted(names_of(wanted)),
    }


_DOCUMENT = f"""
    SELECT revision, {READABLE} FROM context_table WHERE id = :table AND {TABLE_OF_CALLER}
"""
_LONGEST_FIELDS = 4_096
_OF_FEW = ("id", "total_chunks", "chunk_text", "char_start", "char_end")
_LEFT_OUT = (0, 0, "", 0, 0)
_hydrated = maker_of(HydratedChunk)


@dataclass(frozen=True, slots=True)
class _LiveSet:
    """The present state of a string whose chunks were found. ``is_behind``: its table changed
    since it was compared, or its fields are asked for and not known. ``revision``: at which the
    text stood; 0: nobody knows.
    """

    table_id: int
    json_pointer: str
    content_hash: str
    changed_at: datetime
    is_stale: bool
    revision: int
    is_behind: bool


def _live_sets(listed: str | None, wanted: Filter | None) -> dict[int, _LiveSet]:
    """Returns the sets by id, without those whose fields a filter does not let through."""
    sets, rows = {}, json.loads(listed or "[]")
    for set_id, table_id, pointer, of_set, changed_at, now, current, compared, fields in rows:
        is_behind = current != compared or (wanted is not None and fields is None)
        if wanted is None or is_behind or matches(wanted, stored_fields(fields)):
            is_stale = now != of_set
            string = (table_id, pointer, of_set, datetime.fromisoformat(changed_at), is_stale)
            sets[set_id] = _LiveSet(*string, 0 if is_stale else compared or 0, is_behind)
    return sets


_TOOL_WITH_INDEX = f"""
    SELECT {TOOL_COLUMNS}, {INDEX_COLUMNS} FROM {TOOL_TABLES}
    JOIN index_generation AS generation ON {ACTIVE}
    WHERE {LIVE} AND tool.id = :tool
      AND (CAST(:project AS bigint) IS NULL OR tool.project_id = :project)
"""
_TOOL_WIDTH = 11


def _statement_of(searched: Searched) -> Statement:
    if isinstance(searched, SearchedTool):
        return _TOOL_WITH_INDEX, {"tool": searched.tool_id, "project": searched.project_id}
    return INDEX_OF_PROJECT, {"project": searched.project_id}


def _seen(
    searched: Searched, rows: Sequence[Sequence[Any]]
) -> tuple[Index, Reach, SearchConfig] | None:
    """Returns what the rows of ``_statement_of`` say."""
    if not rows:
        return None
    if isinstance(searched, SearchedTool):
        tool, index = tool_of(rows[0][:_TOOL_WIDTH]), index_of_row(rows[0][_TOOL_WIDTH:])
        return index, *searched.seen(tool)
    index = index_of_row(rows[0])
    return index, *searched.seen(index)


@dataclass(frozen=True, slots=True)
class LiveChunks:
    """Chunks that a search may show."""

    tx: Transaction

    def read_target(
        self, searched: Searched, counts: NodeCounts, *, silent_s: float
    ) -> Target | None:
        """Returns the index that answers now; None without the tool, or the project's index.

        ``silent_s`` as in ``counts``. Raises InvalidInputError for a draft of no weights.
        """
        sql, parameters = _statement_of(searched)
        seen = _seen(searched, self.tx.run(sql, **parameters))
        if seen is None:
            return None
        index, reach, search = seen
        state = counts.state(index, reach.json_pointer, silent_s=silent_s)
        return Target(index, reach, search, state.status, state.not_searched)

    def read_search(
        self,
        searched: Searched,
        target: Target,
        doc_ids: Sequence[str],
        counts: NodeCounts,
        *,
        texts: bool,
        silent_s: float,
    ) -> tuple[Target | None, dict[str, HydratedChunk]]:
        """Returns what ``read_target`` and ``hydrate`` do, for a target that was read before.

        In one round trip, which has to be the first of its transaction. There are no chunks of an
        index that was switched or moved meanwhile.
        """
        index, scope = target.index, target.reach.json_pointer
        chunks = chunks_statement(index, target.reach, doc_ids, texts=texts)
        rows, [moving], [listed] = self.tx.run_all_and_commit(
            [_statement_of(searched), counts.moving_statement(index, scope), chunks]
        )
        seen = _seen(searched, rows)
        if seen is None:
            return None, {}
        now, reach, search = seen
        if (now.generation.id, reach.json_pointer) != (index.generation.id, scope):
            state, found = counts.state(now, reach.json_pointer, silent_s=silent_s), {}
        else:
            state = counts.state_of(now, scope, moving, silent_s=silent_s)
            found = self._hydrated(index, target.reach, listed)
        return Target(now, reach, search, state.status, state.not_searched), found

    def hydrate(
        self, index: Index, reach: Reach, doc_ids: Sequence[str], *, texts: bool = True
    ) -> dict[str, HydratedChunk]:
        """Returns the chunks among ``doc_ids`` that a search may show, keyed by those ids.

        Only chunks of active sets, within reach, of pointers that still exist; ``stale``
        when the live text has changed since; then their ``revision`` is that which was compared
        last, else the table's. A filter holds for the fields that the document
        has now. Without ``texts`` each ``chunk_text`` is empty, and ``id``, ``total_chunks``,
        ``char_start`` and ``char_end`` are 0: what nobody needs of thousands.
        """
        sql, parameters = chunks_statement(index, reach, doc_ids, texts=texts)
        [listed] = self.tx.run(sql, **parameters)
        return self._hydrated(index, reach, listed)

    def _hydrated(
        self, index: Index, reach: Reach, row: Sequence[str | None]
    ) -> dict[str, HydratedChunk]:
        """Returns the chunks of a row of ``chunks_statement``."""
        listed, live_sets = row
        sets = _live_sets(live_sets, reach.filter)
        namespace = index.generation.namespace
        chunks: list[HydratedChunk] = []
        behind: list[HydratedChunk] = []
        for set_id, doc_id, place, *rest in json.loads(listed or "[]"):  # thousands
            if live := sets.get(set_id):
                chunk_id, total, text, start, end = rest or _LEFT_OUT
                at = (chunk_id, live.table_id, live.json_pointer, place, total, text, start, end)
                named = (live.content_hash, namespace, doc_id, live.changed_at)
                chunk = _hydrated((*at, *named, live.is_stale, live.revision))
                (behind if live.is_behind else chunks).append(chunk)
        for table_id in sorted({chunk.table_id for chunk in behind}):
            # The document changed and was not compared yet.
            of_table = [chunk for chunk in behind if chunk.table_id == table_id]
            chunks += self._checked(table_id, of_table, reach.filter)
        return {
            chunk.turbopuffer_doc_id: chunk
            for chunk in chunks
            if not (chunk.stale and reach.only_current)
        }

    def completed(self, index: Index, chunks: Sequence[HydratedChunk]) -> dict[str, HydratedChunk]:
        """Returns chunks that ``hydrate`` gave without texts with all that they have, by their ids;
        those that are still of the same text of their string.
        """
        known = {chunk.turbopuffer_doc_id: chunk for chunk in chunks}
        [[listed]] = self.tx.run(
            """
            SELECT json_agg(json_build_array(
                turbopuffer_doc_id, content_hash,
                id, total_chunks, chunk_text, char_start, char_end))
            FROM chunks
            WHERE turbopuffer_namespace = :namespace
              AND turbopuffer_doc_id = ANY(CAST(:ids AS text[]))
            """,
            namespace=index.generation.namespace,
            ids=list(known),
        )
        return {
            name: known[name]._replace(**dict(zip(_OF_FEW, values, strict=True)))
            for name, content_hash, *values in json.loads(listed or "[]")
            if content_hash == known[name].content_hash
        }

    def matching(
        self, index: Index, reach: Reach, *, most: int, timeout_s: float
    ) -> list[str] | None:
        """Returns the pointers of all searchable strings that a reach's filter lets through.

        By the fields that are stored. None without a filter, when they are over ``most``, and
        while a table's fields are not known. Raises DatabaseUnavailableError when it takes longer
        than ``timeout_s``, which is the limit of the transaction from then on.
        """
        if reach.filter is None:
            return None
        self.tx.queue(f"SET LOCAL statement_timeout = {max(1, int(timeout_s * 1000)):d}")
        places: dict[str, object] = {
            "generation": index.generation.id,
            "tables": None if reach.table_ids is None else list(reach.table_ids),
        }
        wanted = filter_parameters(reach.filter)
        [[are_known]] = self.tx.run(
            f"""
            SELECT bool_and({FIELDS_ARE_KNOWN}) FROM comparison
            WHERE generation_id = :generation AND (CAST(:tables AS bigint[]) IS NULL
                                                   OR table_id = ANY(CAST(:tables AS bigint[])))
            """,
            names=wanted["names"],
            **places,
        )
        if not are_known:
            return None
        rows = self.tx.run(
            """
            SELECT strings_let_through(:generation, CAST(:path AS jsonpath), :scope,
                                       CAST(:tables AS bigint[]), :most)
            """,
            scope=reach.json_pointer,
            path=wanted["path"],
            most=most + 1,
            **places,
        )
        return None if len(rows) > most else [pointer for [pointer] in rows]

    def seen_fields(
        self, tool: SearchTool, *, most: int, among: int, timeout_s: float
    ) -> SeenFields:
        """Returns the filterable fields of up to ``most`` strings of a tool's scope.

        They are looked for among the first ``among`` of its index, in an order that stays; where
        one of these numbers is reached, they count as not all. Strings
        that the tool's ``where`` hides are left out, and so are fields of over 4,096 bytes. Empty
        while the fields of the table are not known, and with ``where``, while it has changed since.
        Raises DatabaseUnavailableError as ``matching`` does.
        """
        self.tx.queue(f"SET LOCAL statement_timeout = {max(1, int(timeout_s * 1000)):d}")
        names = sorted(tool.search.fields)
        rows = self.tx.run(
            f"""
            WITH looked AS MATERIALIZED (
                SELECT first.json_pointer, first.fields, comparison.fields AS known
                FROM search_index
                JOIN comparison ON comparison.generation_id = search_index.active_generation_id
                               AND comparison.table_id = :table
                JOIN context_table ON context_table.id = comparison.table_id
                                  AND {TABLE_OF_CALLER}
                CROSS JOIN LATERAL (
                    SELECT json_pointer, node.fields FROM node
                    WHERE node.generation_id = comparison.generation_id
                      AND node.table_id = comparison.table_id
                    ORDER BY pointer_sha256 LIMIT :among) AS first
                WHERE search_index.id = :index AND {FIELDS_ARE_KNOWN}
                  AND (CAST(:is_open AS boolean) OR context_table.revision = comparison.revision)),
            found AS (
                SELECT CAST(fields - ARRAY(
                           SELECT unnest(known) EXCEPT SELECT unnest(CAST(:names AS text[]))
                       ) AS text) AS noted
                FROM looked
                WHERE {_IN_SCOPE} LIMIT :most)
            SELECT CASE WHEN octet_length(noted) <= {_LONGEST_FIELDS} THEN noted END,
                   (SELECT count(*) FROM looked)
            FROM found
            """,
            index=tool.index_id,
            table=tool.scope.table_id,
            is_open=tool.search.where is None,
            names=names,
            scope=tool.scope.json_pointer,
            among=among,
            most=most,
        )
        noted = [stored_fields(text) for text, _ in rows if text is not None]
        shown = [tool.search.shown_fields(fields) for fields in noted]
        are_all = 0 < len(noted) == len(rows) < most and all(looked < among for _, looked in rows)
        return SeenFields(tuple(each for each in shown if each is not None), are_all)

    def _checked(
        self, table_id: int, chunks: Sequence[HydratedChunk], wanted: Filter | None
    ) -> list[HydratedChunk]:
        pointers = sorted({chunk.json_pointer for chunk in chunks})
        revision, live = self._live_hashes(table_id, pointers, wanted)
        return [
            chunk._replace(stale=False, revision=revision)
            if live[chunk.json_pointer] == chunk.content_hash
            else chunk._replace(stale=True)
            for chunk in chunks
            if live[chunk.json_pointer] is not None
        ]

    def _live_hashes(
        self, table_id: int, pointers: Sequence[str], wanted: Filter | None
    ) -> tuple[int, Mapping[str, str | None]]:
        """Returns the table's revision, and the hash of each string: None without one that the
        filter lets through.
        """
        # Read whole: Postgres would unpack the document anew for each pointer (74 ms at 5 MB).
        [[revision, *row]] = self.tx.run(_DOCUMENT, table=table_id) or [[0, None, False]]
        try:
            document = (parse_stored if wanted is None else parse_fielded)(text_of(*row))
        except InvalidDocumentError:  # the comparison says so; until then none of it is there
            document = None
        return revision, {
            pointer: _string_hash(document, pointer)
            if wanted is None or lets_through(wanted, document, pointer)
            else None
            for pointer in pointers
        }

    def first_texts(
        self, index: Index, places: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], str]:
        """Returns the text of the first chunk of strings, by table and pointer, where it is there.

        Whole, for a short string.
        """
        rows = self.tx.run(
            """
            SELECT node.table_id, node.json_pointer, chunk_text
            FROM unnest(CAST(:tables AS bigint[]), CAST(:pointers AS bytea[])) AS wanted (t, p)
            JOIN node ON node.generation_id = :generation AND node.table_id = wanted.t
                     AND node.pointer_sha256 = wanted.p
            JOIN chunks ON chunks.set_id = node.active_set_id AND chunk_index = 0
            """,
            tables=[table_id for table_id, _ in places],
            pointers=[pointer_sha256(pointer) for _, pointer in places],
            generation=index.generation.id,
        )
        return {(table_id, pointer): text for table_id, pointer, text in rows}

    def around(
        self, chunk_ids: Sequence[int], *, contents: Collection[str], reach: int
    ) -> list[ChunkText]:
        """Returns chunks and up to ``reach`` others before and after each, by set and index.

        Only of sets that are active, and of strings with these content hashes: a chunk that another
        version has taken over since is not there. Each chunk once.
        """
        rows = self.tx.run(
            """
            SELECT id, set_id, chunk_index, total_chunks, char_start, char_end, chunk_text
            FROM chunks WHERE id IN (
                SELECT near.id FROM chunks AS hit
                JOIN chunk_set ON chunk_set.id = hit.set_id AND chunk_set.state = 'active'
                JOIN chunks AS near ON near.set_id = hit.set_id AND near.chunk_index
                    BETWEEN hit.chunk_index - :reach AND hit.chunk_index + :reach
                WHERE hit.id = ANY(CAST(:ids AS bigint[]))
                  AND hit.content_hash = ANY(CAST(:contents AS text[])))
            ORDER BY set_id, chunk_index
            """,
            ids=list(chunk_ids),
            contents=list(contents),
            reach=reach,
        )
        return [ChunkText(*row) for row in rows]

    def is_empty(self, index: Index) -> bool:
        """Says whether turbopuffer was never given a chunk of the generation that is live now."""
        [[has_some]] = self.tx.run(
            f"""
            SELECT EXISTS (
                SELECT FROM chunks WHERE turbopuffer_namespace = :name AND {ACKNOWLEDGED})
            """,
            name=index.generation.namespace,
        )
        return not has_some


def _string_hash(document: object, pointer: str) -> str | None:
    try:
        value = resolve(document, split(pointer))
    except KeyError:
        return None
    return content_hash(value) if isinstance(value, str) else None
