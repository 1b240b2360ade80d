"""Nodes in memory as the enumeration writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.domain.ids import pointer_sha256
from context_search.domain.json_pointer import contains
from context_search.domain.model import Index, KnownNode
from context_search.ports.indexing import NodeUpsert
from context_search.ports.time import Clock
from testing.in_memory.removal import remove_nodes, remove_sets_of
from testing.in_memory.rows import NodeRow, Rows


@dataclass(frozen=True, slots=True)
class NodeRows:
    """The part of the port ``Nodes`` that makes nodes those of a document."""

    rows: Rows
    clock: Clock

    def known(self, generation_id: int, table_id: int) -> list[KnownNode]:
        """See the port."""
        return [
            KnownNode(row.id, pointer_sha256(row.json_pointer), row.content_hash)
            for row in self.of_generation(generation_id, table_id=table_id)
        ]

    def of_generation(
        self, generation_id: int, scope: str = "", *, table_id: int | None = None
    ) -> list[NodeRow]:
        """Returns the rows of a generation's nodes in a scope, by id."""
        return [
            row
            for _, row in sorted(self.rows.nodes.items())
            if row.generation_id == generation_id and contains(scope, row.json_pointer)
            if table_id in (None, row.table_id)
        ]

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        """See the port."""
        queued: list[int] = []
        rows = self.of_generation(index.generation_id, table_id=table_id)
        known = {row.json_pointer: row for row in rows}
        for wanted in nodes:
            skipped = wanted.skip_reason is not None
            before = known.get(wanted.node.json_pointer)
            node_id = before.id if before else self.rows.new_id()
            self.rows.nodes[node_id] = NodeRow(
                id=node_id,
                generation_id=index.generation_id,
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
            )
            if skipped:
                remove_sets_of(self.rows, self.clock, [node_id])
            else:
                queued.append(node_id)
        return queued

    def remove(self, node_ids: Sequence[int]) -> None:
        """See the port."""
        remove_nodes(self.rows, self.clock, node_ids)
