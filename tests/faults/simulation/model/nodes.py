"""Nodes in memory: claims, leases and fences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from context_search.core.documents import text_of_chunks
from context_search.core.errors import LeaseLostError
from context_search.core.filters import Fields
from context_search.core.ids import KEY_BYTES, pointer_sha256
from context_search.core.json_pointer import contains
from context_search.core.model import Claim, Index, KnownNode
from context_search.core.progress import PROJECT_FULL, NodeState
from context_search.indexing.rules.nodes import FRESH, NodeSelection, NodeUpsert, until_due
from context_search.indexing.sql.nodes import Nodes
from context_search.integrations.ports import Clock
from context_search.maintenance.rules.health import CleanupLimits
from tests.faults.simulation.model.comparisons import needed_scopes
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.removals import remove_nodes, remove_sets, remove_sets_of
from tests.faults.simulation.model.rows import IndexRow, NodeRow, Rows

_FOLLOWING = ("active", "building")


class ModelNodes(Model, Nodes):
    """``Nodes`` over rows in memory."""

    def due_at(self, _: CleanupLimits) -> Times:
        """At once while a string is worked on, or waits for room."""
        for node in self.rows.nodes.values():
            waits = node.state == "skipped" and (node.last_error or {}).get("code") == PROJECT_FULL
            is_open = waits or node.state in ("queued", "claimed", "quarantined")
            if is_open and self.rows.generations[node.generation_id].state in _FOLLOWING:
                yield self.clock.now()

    def known(self, generation_id: int, table_id: int) -> list[KnownNode]:
        return [
            KnownNode(row.id, pointer_sha256(row.json_pointer), row.content_hash, row.fields)
            for row in of_generation(self.rows, generation_id, table_id=table_id)
        ]

    def known_by(self, generation_id: int, table_id: int, keys: Sequence[bytes]) -> list[KnownNode]:
        wanted = set(keys)
        known = self.known(generation_id, table_id)
        return [
            KnownNode(node.id, node.pointer_sha256, node.content_hash)
            for node in known
            if node.pointer_sha256[:KEY_BYTES] in wanted
        ]

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        queued: list[int] = []
        rows = of_generation(self.rows, index.generation.id, table_id=table_id)
        known = {row.json_pointer: row for row in rows}
        for wanted in nodes:
            skipped = wanted.skip_reason is not None
            before = known.get(wanted.node.json_pointer)
            node_id = before.id if before else self.rows.new_id()
            self.rows.nodes[node_id] = NodeRow(
                id=node_id,
                generation_id=index.generation.id,
                table_id=table_id,
                json_pointer=wanted.node.json_pointer,
                content_hash=wanted.content_hash,
                char_count=len(wanted.node.text),
                content=None if skipped else wanted.node.text,
                state="skipped" if skipped else "queued",
                next_at=self.clock.now(),
                changed_at=self.clock.now(),
                fence=before.fence + 1 if before else 0,
                last_error={**wanted.skip_reason, "at": self.clock.now().isoformat()}
                if wanted.skip_reason
                else None,
                active_set_id=before.active_set_id if before and not skipped else None,
                indexed_at=before.indexed_at if before else None,
                fields=wanted.fields,
            )
            if skipped:
                remove_sets_of(self.rows, self.clock, [node_id])
            else:
                queued.append(node_id)
        return queued

    def note_fields(self, fields: Mapping[int, Fields]) -> None:
        for node_id, known in fields.items():
            self.rows.change(self.rows.nodes, node_id, fields=known)

    def remove(self, node_ids: Sequence[int]) -> None:
        remove_nodes(self.rows, self.clock, node_ids)

    def claim(self, node_id: int, *, lease_s: float) -> Claim | None:
        row, now = self.rows.nodes.get(node_id), self.clock.now()
        if row is None or not self.rows.tables[row.table_id].is_there:
            return None
        generation = self.rows.generations[row.generation_id]
        due = row.state == "queued" and row.next_at <= now
        silent = row.state == "claimed" and row.lease_until is not None and row.lease_until < now
        if generation.index_id is None or not self._is_needed(row):
            return None
        if not (due or silent):
            return None
        claim = Claim(
            node_id=row.id,
            fence=row.fence + 1,
            attempt=row.attempt + 1,
            table_id=row.table_id,
            json_pointer=row.json_pointer,
            content_hash=row.content_hash,
            content=self._reassembled_rows(row) if row.content is None else row.content,
            config=generation.config,
            namespace=generation.namespace,
            index_id=generation.index_id,
        )
        self.rows.change(
            self.rows.nodes,
            node_id,
            state="claimed",
            fence=claim.fence,
            attempt=claim.attempt,
            lease_until=now + timedelta(seconds=lease_s),
        )
        return claim

    def _reassembled_rows(self, row: NodeRow) -> str:
        chunks = [each for each in self.rows.chunks.values() if each.set_id == row.active_set_id]
        chunks.sort(key=lambda chunk: chunk.index)
        return text_of_chunks((chunk.start, chunk.text) for chunk in chunks)

    def due_in(self, node_id: int) -> float | None:
        row = self.rows.nodes.get(node_id)
        if row is None or row.state != "queued" or self._index_of(row) is None:
            return None
        return until_due(
            (row.next_at - self.clock.now()).total_seconds(), is_needed=self._is_needed(row)
        )

    def are_needed(self, claims: Sequence[Claim]) -> bool:
        rows = [self.rows.nodes.get(claim.node_id) for claim in claims]
        return any(row is not None and self._is_needed(row) for row in rows)

    def _index_of(self, row: NodeRow) -> IndexRow | None:
        """Returns the index that a node is to be indexed for, None for one of the past."""
        generation = self.rows.generations[row.generation_id]
        if generation.index_id is None or generation.state not in _FOLLOWING:
            return None
        return self.rows.indexes[generation.index_id]

    def _is_needed(self, row: NodeRow) -> bool:
        index = self._index_of(row)
        scopes = needed_scopes(self.rows, index) if index else []
        return any(contains(scope, row.json_pointer) for scope in scopes)

    def claim_many(
        self, node_ids: Sequence[int], *, max_chars: int, max_attempts: int, lease_s: float
    ) -> list[Claim]:
        rows = [self.rows.nodes.get(node_id) for node_id in sorted(set(node_ids))]
        claims = [
            self.claim(row.id, lease_s=lease_s)
            for row in rows
            if row is not None and row.content is not None
            if row.char_count <= max_chars and row.attempt < max_attempts
        ]
        return [claim for claim in claims if claim is not None]

    def char_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        nodes = self.rows.nodes
        return {node_id: nodes[node_id].char_count for node_id in node_ids if node_id in nodes}

    def unfinished(self, node_ids: Sequence[int]) -> list[int]:
        rows = [self.rows.nodes.get(node_id) for node_id in sorted(set(node_ids))]
        return [row.id for row in rows if row is not None and row.state in ("queued", "claimed")]

    def hold(
        self, claims: Sequence[Claim], *, lease_s: float, progressed: bool = False
    ) -> list[Claim]:
        held = self._change_all(claims)
        now = self.clock.now()
        for claim in held:
            row, fresh = self.rows.nodes[claim.node_id], now + timedelta(seconds=FRESH * lease_s)
            if row.lease_until is None or row.lease_until < fresh or (progressed and row.attempt):
                until = now + timedelta(seconds=lease_s)
                attempt = 0 if progressed else row.attempt
                self._change_row(claim, lease_until=until, attempt=attempt)
        return held

    def release(
        self,
        claims: Sequence[Claim],
        *,
        retry_in_s: float,
        error: Mapping[str, object] | None,
        progressed: bool,
    ) -> list[Claim]:
        values: dict[str, object] = {"attempt": 0} if progressed else {}
        next_at = self.clock.now() + timedelta(seconds=retry_in_s)
        return self._change_all(
            claims, state="queued", lease_until=None, last_error=error, next_at=next_at, **values
        )

    def quarantine(self, claim: Claim, error: Mapping[str, object]) -> None:
        self._put_aside(claim, "quarantined", error)

    def skip(self, claim: Claim, reason: Mapping[str, object]) -> None:
        self._put_aside(claim, "skipped", reason)

    def _put_aside(self, claim: Claim, state: NodeState, error: Mapping[str, object]) -> None:
        self._change_row(claim, state=state, lease_until=None, last_error=error)
        unfinished = [
            row.id
            for row in self.rows.sets.values()
            if row.node_id == claim.node_id and row.state != "active"
        ]
        remove_sets(self.rows, self.clock, unfinished)

    def _change_all(self, claims: Sequence[Claim], **values: object) -> list[Claim]:
        """Returns the claims that still held."""
        held: list[Claim] = []
        for claim in claims:
            with suppress(LeaseLostError):
                self._change_row(claim, **values)
                held.append(claim)
        return held

    def _change_row(self, claim: Claim, **values: object) -> None:
        row = self.rows.nodes.get(claim.node_id)
        if row is None or (row.fence, row.state) != (claim.fence, "claimed"):
            raise LeaseLostError("another worker has the node, or it is gone")
        self.rows.change(self.rows.nodes, claim.node_id, **values)

    def requeue_quarantined(self, *, limit: int, among: NodeSelection | None = None) -> list[int]:
        found = self._quarantined(among)[:limit]
        queue(self.rows, self.clock, found)
        return found

    def _quarantined(self, among: NodeSelection | None) -> list[int]:
        nodes = sorted(self.rows.nodes.items())
        found = [row for _, row in nodes if row.state == "quarantined"]
        return [row.id for row in found if among is None or _is_selected(row, among)]

    def _has_order(self, node: NodeRow) -> bool:
        """Tells whether there is a message that may be this node's: one that is not younger."""
        project_id, now = self.rows.tables[node.table_id].project_id, self.clock.now()
        return any(
            row.project_id == project_id
            and row.body["kind"] in ("node", "nodes")
            and row.created_at <= node.next_at
            and (row.due_at is None or row.due_at <= now)
            for row in self.rows.outbox.values()
        )

    def abandoned(self, *, silent_s: float, limit: int) -> list[int]:
        silent_since = self.clock.now() - timedelta(seconds=silent_s)
        live = {row.id for row in self.rows.generations.values() if row.state in _FOLLOWING}
        found = [
            row.id
            for _, row in sorted(self.rows.nodes.items())
            if row.state in ("queued", "claimed")
            and row.generation_id in live
            and (row.lease_until or row.next_at) < silent_since
            and (row.state == "claimed" or not self._has_order(row))
        ][:limit]
        queue(self.rows, self.clock, found, forgives=False)
        return found


def queue(rows: Rows, clock: Clock, node_ids: Iterable[int], *, forgives: bool = True) -> None:
    """Queues nodes. ``forgives``: attempts that failed count no longer."""
    for node_id in node_ids:
        attempt = 0 if forgives else rows.nodes[node_id].attempt
        now = clock.now()
        values = {"state": "queued", "lease_until": None, "attempt": attempt, "next_at": now}
        rows.change(rows.nodes, node_id, **values)


def note_indexed(rows: Rows, clock: Clock, node_id: int, set_id: int) -> None:
    """Notes that a set has all chunks of a node."""
    rows.change(
        rows.nodes,
        node_id,
        state="indexed",
        active_set_id=set_id,
        content=None,
        attempt=0,
        lease_until=None,
        last_error=None,
        indexed_at=clock.now(),
    )


def of_generation(
    rows: Rows, generation_id: int, scope: str = "", *, table_id: int | None = None
) -> list[NodeRow]:
    """Returns the rows of a generation's nodes in a scope, by id."""
    return [
        row
        for _, row in sorted(rows.nodes.items())
        if row.generation_id == generation_id and contains(scope, row.json_pointer)
        if table_id in (None, row.table_id)
    ]


def _is_selected(row: NodeRow, among: NodeSelection) -> bool:
    is_there = row.generation_id in among.generation_ids and contains(among.scope, row.json_pointer)
    is_of_table = among.table_id in (None, row.table_id)
    return is_there and is_of_table and among.pointer in (None, row.json_pointer)
