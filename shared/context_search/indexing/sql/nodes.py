"""Nodes in Postgres: the claims, leases and fences of docs/consistency.md as SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from context_search.core.config import IndexConfig
from context_search.core.documents import text_of_chunks
from context_search.core.errors import LeaseLostError
from context_search.core.filters import Fields, stored_fields, to_text
from context_search.core.ids import KEY_BYTES, pointer_sha256
from context_search.core.model import Claim, Index, KnownNode
from context_search.core.progress import NodeState
from context_search.indexing.rules.nodes import FRESH, NodeSelection, NodeUpsert, until_due
from context_search.postgres.pool import Transaction, bulk
from context_search.postgres.visible_rows import ITS_TABLE_IS_THERE, TOOL_IS_THERE

_MOST_KEYS = 10_000
_OTHER_BYTES = 32 - KEY_BYTES


_SELECTED = """
    generation_id = ANY(CAST(:generations AS bigint[])) AND COALESCE(table_id = :of_table, true)
    AND (CAST(:scope AS text) = '' OR json_pointer = :scope
         OR starts_with(json_pointer, CAST(:scope AS text) || '/'))
    AND (CAST(:pointer AS text) IS NULL OR json_pointer = :pointer)
"""


# Not by the view needed_scope, which looks at all tools of an index before it says yes.
_IS_NEEDED = f"""
    (search_index.table_id IS NULL OR EXISTS (
        SELECT FROM coverage JOIN tool ON tool.id = coverage.tool_id
        WHERE coverage.index_id = search_index.id AND {TOOL_IS_THERE}
          AND (coverage.scope IN ('', node.json_pointer)
               OR starts_with(node.json_pointer, coverage.scope || '/'))))
"""
_OF_NODE = """
    FROM node JOIN index_generation AS generation ON generation.id = node.generation_id
    JOIN search_index ON search_index.id = generation.index_id
"""


def _values(among: NodeSelection) -> dict[str, Any]:
    return {
        "generations": list(among.generation_ids),
        "scope": among.scope,
        "pointer": among.pointer,
        "of_table": among.table_id,
    }


@dataclass(frozen=True, slots=True)
class Nodes:
    """Big strings and their way through the index: queued, claimed, indexed.

    What takes or holds many never waits for a row that another transaction has: such a node is left
    out. So two transactions that want the same nodes cannot block each other, in whatever order.

    What takes or holds many locks rows with SKIP LOCKED: enumeration locks nodes in another order,
    and whoever has one locked takes it from its worker, or is its worker.
    """

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (
            SELECT FROM node JOIN index_generation ON index_generation.id = generation_id
            WHERE index_generation.state IN ('active', 'building')
              AND (node.state IN ('queued', 'claimed', 'quarantined')
                   OR node.state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL'))
    """
    tx: Transaction

    def known(self, generation_id: int, table_id: int) -> list[KnownNode]:
        """Returns every node that a generation has of a table."""
        rows = self.tx.run(
            """
            SELECT id, pointer_sha256, content_hash, CAST(fields AS text) FROM node
            WHERE generation_id = :generation AND table_id = :table
            """,
            generation=generation_id,
            table=table_id,
        )
        return [
            KnownNode(*[*row, None if fields is None else stored_fields(fields)])
            for *row, fields in rows
        ]

    def known_by(self, generation_id: int, table_id: int, keys: Sequence[bytes]) -> list[KnownNode]:
        """Returns those nodes of them whose ``pointer_sha256`` begins with one of ``keys``.

        Of ``KEY_BYTES`` each. Without their fields.
        """
        if len(keys) > _MOST_KEYS:  # one by one they would cost more than all
            wanted = {bytes(key) for key in keys}
            known = self.known(generation_id, table_id)
            return [node for node in known if node.pointer_sha256[:KEY_BYTES] in wanted]
        rows = self.tx.run(
            f"""
            SELECT node.id, node.pointer_sha256, node.content_hash
            FROM unnest(CAST(:keys AS text[])) AS key CROSS JOIN LATERAL (
                SELECT id, pointer_sha256, content_hash FROM node
                WHERE generation_id = :generation AND table_id = :table
                  AND pointer_sha256 >= decode(key || repeat('00', {_OTHER_BYTES}), 'hex')
                  AND pointer_sha256 <= decode(key || repeat('ff', {_OTHER_BYTES}), 'hex')
            ) AS node
            """,
            generation=generation_id,
            table=table_id,
            keys=[key.hex() for key in keys],
        )
        return [KnownNode(*row) for row in rows]

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        """Inserts or overwrites nodes of a table: queued, or skipped without sets.

        Returns those that are queued.

        A worker that holds the node loses its fence.
        """
        # Always in the same order, so that two transactions cannot wait for each other.
        rows = sorted(
            (_row(index, table_id, upsert) for upsert in nodes), key=lambda row: str(row["sha"])
        )
        found = bulk(
            self.tx,
            """
            INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                              char_count, content, state, last_error, fields)
            SELECT generation_id, table_id, json_pointer, decode(sha, 'hex'), content_hash,
                   char_count, content, state,
                   last_error || jsonb_build_object('at', clock_timestamp()), CAST(fields AS jsonb)
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                generation_id bigint, table_id bigint, json_pointer text, sha text,
                content_hash text, char_count int, content text, state text, last_error jsonb,
                fields text)
            ON CONFLICT (generation_id, table_id, pointer_sha256) DO UPDATE SET
                content_hash = excluded.content_hash, char_count = excluded.char_count,
                content = excluded.content, state = excluded.state,
                last_error = excluded.last_error, fields = excluded.fields,
                fence = node.fence + 1, attempt = 0,
                active_set_id = CASE WHEN excluded.state = 'queued' THEN node.active_set_id END,
                lease_until = NULL, next_at = clock_timestamp(), changed_at = clock_timestamp()
            RETURNING id, state
            """,
            rows,
        )
        self._remove_sets([node_id for node_id, state in found if state == "skipped"])
        return [node_id for node_id, state in found if state == "queued"]

    def _remove_sets(self, node_ids: Sequence[int]) -> None:
        if node_ids:
            self.tx.run(
                "DELETE FROM chunk_set WHERE node_id = ANY(CAST(:ids AS bigint[]))",
                ids=sorted(node_ids),
            )

    def note_fields(self, fields: Mapping[int, Fields]) -> None:
        """Overwrites the fields of nodes, by id, and nothing else of them."""
        bulk(
            self.tx,
            """
            UPDATE node SET fields = CAST(row.fields AS jsonb)
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (id bigint, fields text)
            WHERE node.id = row.id
            """,
            [{"id": node_id, "fields": to_text(fields[node_id])} for node_id in sorted(fields)],
        )

    def remove(self, node_ids: Sequence[int]) -> None:
        """Deletes nodes; their chunks become tombstones."""
        if node_ids:
            self.tx.run(
                "DELETE FROM node WHERE id = ANY(CAST(:ids AS bigint[]))", ids=sorted(node_ids)
            )

    def claim(self, node_id: int, *, lease_s: float) -> Claim | None:
        """Takes a node that is due or whose lease has run out; None when there is none.

        A node that no live tool covers is not taken, unless its index is that of a project.
        """
        rows = self.tx.run(
            f"""
            UPDATE node SET state = 'claimed', fence = fence + 1, attempt = attempt + 1,
                lease_until = clock_timestamp() + make_interval(secs => :lease)
            FROM index_generation AS generation
            JOIN search_index ON search_index.id = generation.index_id
            WHERE node.id = :node AND generation.id = node.generation_id
              AND generation.state IN ('active', 'building')
              AND {ITS_TABLE_IS_THERE} AND {_IS_NEEDED}
              AND (node.state = 'queued' AND next_at <= clock_timestamp()
                   OR node.state = 'claimed' AND lease_until < clock_timestamp())
            RETURNING node.id, fence, attempt, node.table_id, json_pointer, content_hash, content,
                      generation.config, namespace, search_index.id
            """,
            node=node_id,
            lease=lease_s,
        )
        if not rows:
            return None
        [[*columns, content, config, namespace, index_id]] = rows
        if content is None:  # indexed before: the chunks hold the text now
            content = self._reassembled(node_id)
        config = IndexConfig.from_json(config)
        return Claim(*[*columns, content, config, namespace, index_id])

    def _reassembled(self, node_id: int) -> str:
        rows = self.tx.run(
            """
            SELECT char_start, chunk_text FROM chunks
            JOIN node ON node.active_set_id = chunks.set_id
            WHERE node.id = :node ORDER BY chunk_index
            """,
            node=node_id,
        )
        return text_of_chunks((start, text) for start, text in rows)

    def claim_many(
        self, node_ids: Sequence[int], *, max_chars: int, max_attempts: int, lease_s: float
    ) -> list[Claim]:
        """Takes those nodes that may be claimed, by id.

        Left out are longer ones, those that were claimed ``max_attempts`` times in vain, and those
        whose text only their chunks hold.
        """
        rows = self.tx.run(
            f"""
            WITH free AS (
                SELECT id FROM node
                WHERE id = ANY(CAST(:nodes AS bigint[])) AND content IS NOT NULL
                  AND char_count <= :chars AND attempt < :attempts
                  AND (state = 'queued' AND next_at <= clock_timestamp()
                       OR state = 'claimed' AND lease_until < clock_timestamp())
                ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
            UPDATE node SET state = 'claimed', fence = fence + 1, attempt = attempt + 1,
                lease_until = clock_timestamp() + make_interval(secs => :lease)
            FROM free, index_generation AS generation
            JOIN search_index ON search_index.id = generation.index_id
            WHERE node.id = free.id AND generation.id = node.generation_id
              AND generation.state IN ('active', 'building')
              AND {ITS_TABLE_IS_THERE} AND {_IS_NEEDED}
            RETURNING node.id, fence, attempt, node.table_id, json_pointer, content_hash, content,
                      generation.config, namespace, search_index.id
            """,
            nodes=list(node_ids),
            chars=max_chars,
            attempts=max_attempts,
            lease=lease_s,
        )
        claims = [
            Claim(*[*columns, IndexConfig.from_json(config), namespace, index_id])
            for *columns, config, namespace, index_id in rows
        ]
        return sorted(claims, key=lambda claim: claim.node_id)

    def char_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """Returns how long the strings are, by id of their nodes."""
        rows = self.tx.run(
            "SELECT id, char_count FROM node WHERE id = ANY(CAST(:nodes AS bigint[]))",
            nodes=list(node_ids),
        )
        return dict(rows)

    def unfinished(self, node_ids: Sequence[int]) -> list[int]:
        """Returns those that are queued or claimed, by id."""
        rows = self.tx.run(
            """
            SELECT id FROM node
            WHERE id = ANY(CAST(:nodes AS bigint[])) AND state IN ('queued', 'claimed')
            ORDER BY id
            """,
            nodes=list(node_ids),
        )
        return [node_id for [node_id] in rows]

    def due_in(self, node_id: int) -> float | None:
        """Returns in how many seconds a queued node may be claimed; None when it is not queued.

        A node that no tool covers is asked for again after ``UNNEEDED_PAUSE_S``: by then a
        comparison has removed it, or another tool covers it.
        """
        rows = self.tx.run(
            f"""
            SELECT CAST(extract(epoch FROM next_at - clock_timestamp()) AS float8), {_IS_NEEDED}
            {_OF_NODE} WHERE node.id = :node AND node.state = 'queued'
              AND generation.state IN ('active', 'building')
            """,
            node=node_id,
        )
        return until_due(rows[0][0], is_needed=rows[0][1]) if rows else None

    def are_needed(self, claims: Sequence[Claim]) -> bool:
        """Returns whether a live tool, or its project, still covers one of these nodes."""
        [[found]] = self.tx.run(
            f"""
            SELECT EXISTS (
                SELECT {_OF_NODE} WHERE node.id = ANY(CAST(:nodes AS bigint[])) AND {_IS_NEEDED})
            """,
            nodes=[claim.node_id for claim in claims],
        )
        return bool(found)

    def hold(
        self, claims: Sequence[Claim], *, lease_s: float, progressed: bool = False
    ) -> list[Claim]:
        """Locks the claimed nodes, renews their leases, and returns the claims that still hold.

        A lease of which more than ``FRESH`` is left stays as it is. Progress resets the count of
        attempts.
        """
        return self._change(
            claims,
            """
            lease_until = clock_timestamp() + make_interval(secs => :lease),
            attempt = CASE WHEN :progressed THEN 0 ELSE attempt END
            """,
            # Each renewal is another version of the row, with its text, in all of its indexes.
            condition="""
                lease_until < clock_timestamp() + make_interval(secs => :fresh)
                OR CAST(:progressed AS boolean) AND attempt > 0
            """,
            lease=lease_s,
            fresh=FRESH * lease_s,
            progressed=progressed,
        )

    def release(
        self,
        claims: Sequence[Claim],
        *,
        retry_in_s: float,
        error: Mapping[str, object] | None,
        progressed: bool,
    ) -> list[Claim]:
        """Gives claimed nodes back as queued, and returns the claims that held until then."""
        return self._change(
            claims,
            """
            state = 'queued', lease_until = NULL, last_error = CAST(:error AS jsonb),
            next_at = clock_timestamp() + make_interval(secs => :retry),
            attempt = CASE WHEN :progressed THEN 0 ELSE attempt END
            """,
            retry=retry_in_s,
            error=json.dumps(error) if error else None,
            progressed=progressed,
        )

    def quarantine(self, claim: Claim, error: Mapping[str, object]) -> None:
        """Takes a node out of work for good, its active chunks untouched.

        Raises LeaseLostError.
        """
        self._put_aside(claim, "quarantined", error)

    def skip(self, claim: Claim, reason: Mapping[str, object]) -> None:
        """Takes a node out of work over a limit; its text is kept, its active chunks untouched.

        Raises LeaseLostError.
        """
        self._put_aside(claim, "skipped", reason)

    def _put_aside(self, claim: Claim, state: NodeState, error: Mapping[str, object]) -> None:
        held = self._change(
            [claim],
            "state = :state, lease_until = NULL, last_error = CAST(:error AS jsonb)",
            state=state,
            error=json.dumps(error),
        )
        if not held:
            raise LeaseLostError("another worker has the node, or it is gone")
        self.tx.run(
            "DELETE FROM chunk_set WHERE node_id = :node AND state = 'partial'",
            node=claim.node_id,
        )

    def _change(
        self,
        claims: Sequence[Claim],
        assignments: str,
        *,
        condition: str = "true",
        **values: object,
    ) -> list[Claim]:
        """Locks the claimed nodes, changes those that meet a condition, and returns the claims that
        still hold.
        """
        # The tables first, as whoever deletes one by SQL has it. The foreign key would ask for it
        # at the second change of a node in a transaction, and the two would wait for each other.
        # Of several tables, one that is being deleted is left out: who deletes many has them in
        # an order of its own.
        tables = sorted({claim.table_id for claim in claims})
        rows = self.tx.run(
            f"""
            WITH tables AS (
                SELECT id FROM context_table WHERE id = ANY(CAST(:tables AS bigint[]))
                ORDER BY id FOR KEY SHARE {"SKIP LOCKED" if len(tables) > 1 else ""}),
            mine AS (
                SELECT node.id FROM node JOIN unnest(
                    CAST(:nodes AS bigint[]), CAST(:fences AS bigint[])
                ) AS claim (node, fence) ON node.id = claim.node AND node.fence = claim.fence
                JOIN tables ON tables.id = table_id
                WHERE state = 'claimed' ORDER BY node.id
                FOR NO KEY UPDATE OF node {"SKIP LOCKED" if len(claims) > 1 else ""}),
            changed AS (
                UPDATE node SET {assignments}
                FROM mine WHERE node.id = mine.id AND ({condition}))
            SELECT id FROM mine
            """,
            nodes=[claim.node_id for claim in claims],
            fences=[claim.fence for claim in claims],
            tables=tables,
            **values,
        )
        held = {node_id for [node_id] in rows}
        return [claim for claim in claims if claim.node_id in held]

    def requeue_quarantined(self, *, limit: int, among: NodeSelection | None = None) -> list[int]:
        """Queues quarantined nodes again, their attempts forgotten; returns their ids.

        ``among`` None: of all projects.
        """
        condition = "true" if among is None else _SELECTED
        return queue(
            self.tx,
            f"""
            SELECT id FROM node WHERE state = 'quarantined' AND {condition}
            ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
            """,
            limit=limit,
            **({} if among is None else _values(among)),
        )

    def count_quarantined(self, among: NodeSelection) -> int:
        """Returns how many nodes of a selection are in quarantine."""
        [[count]] = self.tx.run(
            f"SELECT count(*) FROM node WHERE state = 'quarantined' AND {_SELECTED}",
            **_values(among),
        )
        return int(count)

    def abandoned(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns nodes whose lease or due time passed ``silent_s`` ago, each once in that time.

        Only of generations that follow their document: other nodes cannot be claimed. A queued node
        is waiting and not abandoned, while the outbox holds a message for nodes of its project
        that is not younger and does not rest: it may be for this one.
        """
        return queue(
            self.tx,
            """
            WITH oldest AS MATERIALIZED (
                SELECT project_id, min(created_at) AS at FROM outbox
                WHERE body ->> 'kind' IN ('node', 'nodes')
                  AND (due_at IS NULL OR due_at <= statement_timestamp())
                GROUP BY project_id)
            SELECT node.id FROM node JOIN context_table ON context_table.id = node.table_id
            LEFT JOIN oldest ON oldest.project_id = context_table.project_id
            WHERE node.state IN ('queued', 'claimed')
              AND COALESCE(node.lease_until, node.next_at)
                  < statement_timestamp() - make_interval(secs => :silent)
              AND node.generation_id IN (
                  SELECT id FROM index_generation WHERE state IN ('active', 'building'))
              AND (node.state = 'claimed' OR oldest.at IS NULL OR oldest.at > node.next_at)
            ORDER BY node.id LIMIT :limit FOR UPDATE OF node SKIP LOCKED
            """,
            forgives=False,
            silent=silent_s,
            limit=limit,
        )


def queue(tx: Transaction, which: str, *, forgives: bool = True, **values: object) -> list[int]:
    """Queues the nodes that a query finds and locks; returns them by id.

    ``forgives``: attempts that failed count no longer.
    """
    # As a condition the query may be read again for every row.
    rows = tx.run(
        f"""
        WITH found AS ({which})
        UPDATE node SET state = 'queued', lease_until = NULL, next_at = clock_timestamp(),
            attempt = CASE WHEN :forgives THEN 0 ELSE attempt END
        FROM found WHERE node.id = found.id RETURNING node.id
        """,
        forgives=forgives,
        **values,
    )
    return sorted(node_id for [node_id] in rows)


def note_indexed(tx: Transaction, sets: Mapping[int, int]) -> None:
    """Notes of nodes that the caller holds that a set, of each its own, has all their chunks."""
    rows = tx.run(
        """
        UPDATE node SET state = 'indexed', active_set_id = swapped.set, content = NULL,
            attempt = 0, lease_until = NULL, last_error = NULL, indexed_at = clock_timestamp()
        FROM unnest(CAST(:nodes AS bigint[]), CAST(:sets AS bigint[])) AS swapped (node, set)
        WHERE node.id = swapped.node
        RETURNING EXISTS (
            SELECT FROM counted_part WHERE counted_part.generation_id = node.generation_id)
        """,
        nodes=list(sets),
        sets=list(sets.values()),
    )
    if [True] in rows:
        tx.run("SELECT note_indexed(CAST(:nodes AS bigint[]))", nodes=list(sets))


def _row(index: Index, table_id: int, upsert: NodeUpsert) -> dict[str, object]:
    skipped = upsert.skip_reason is not None
    return {
        "generation_id": index.generation.id,
        "table_id": table_id,
        "json_pointer": upsert.node.json_pointer,
        "sha": pointer_sha256(upsert.node.json_pointer).hex(),
        "content_hash": upsert.content_hash,
        "char_count": len(upsert.node.text),
        "content": None if skipped else upsert.node.text,
        "state": "skipped" if skipped else "queued",
        "last_error": upsert.skip_reason,
        "fields": None if upsert.fields is None else to_text(upsert.fields),
    }
