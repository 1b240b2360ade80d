"""The strings of an index one by one, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from context_search.core.model import Index, Scope
from context_search.core.progress import NodeProgress, NodeState
from context_search.indexing.rules.large_strings import (
    PLACE_CHARS,
    ChunkSpan,
    LargeString,
    StringPage,
    StringPlace,
    StringsBelow,
)
from context_search.indexing.sql.large_strings import LargeStrings
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.nodes import of_generation
from tests.faults.simulation.model.rows import NodeRow


class MemoryLargeStrings(Model, LargeStrings):
    """``LargeStrings`` over rows in memory."""

    def page(
        self,
        index: Index,
        scope: Scope | None,
        *,
        state: NodeState | None,
        after: StringPlace | None,
        limit: int,
        among: int,
    ) -> StringPage:
        if scope is None:
            nodes = of_generation(self.rows, index.generation.id)
        else:
            nodes = of_generation(
                self.rows, index.generation.id, scope.json_pointer, table_id=scope.table_id
            )
        if state not in (None, "indexed"):
            nodes = [node for node in nodes if node.state == state]
        behind = (after.table_id, after.pointer, after.id) if after else (0, "", 0)
        left = sorted((_key(node), node) for node in nodes if _key(node) > behind)
        most = among if state == "indexed" else limit + 1
        looked_at = [node for _, node in left[:most]]
        there = [node for node in looked_at if self.rows.tables[node.table_id].is_there]
        wanted = [node for node in there if state in (None, node.state)]
        if len(wanted) > limit:
            return StringPage(self._strings(wanted[:limit]), StringPlace(*_key(wanted[limit - 1])))
        is_last = len(looked_at) < most
        return StringPage(
            self._strings(wanted), None if is_last else StringPlace(*_key(looked_at[-1]))
        )

    def at(self, index: Index, table_id: int, pointers: Sequence[str]) -> dict[str, LargeString]:
        nodes = of_generation(self.rows, index.generation.id, table_id=table_id)
        found = self._strings([node for node in nodes if node.json_pointer in pointers])
        return {each.progress.json_pointer: each for each in found}

    def below(
        self, index: Index, table_id: int, pointers: Sequence[str], *, most: int
    ) -> list[StringsBelow]:
        found = []
        for pointer in pointers:
            nodes = of_generation(self.rows, index.generation.id, pointer, table_id=table_id)
            problems = [node for node in nodes if node.state in ("quarantined", "skipped")]
            found.append(StringsBelow(min(len(nodes), most), min(len(problems), most)))
        return found

    def spans(self, set_id: int, *, first: int, limit: int) -> list[ChunkSpan]:
        chunks = sorted(
            (row for row in self.rows.chunks.values() if row.set_id == set_id),
            key=lambda row: row.index,
        )
        spans = [
            ChunkSpan(row.index, row.start, row.end, row.present, row.window_count)
            for row in chunks
            if row.index >= first
        ]
        return spans[:limit]

    def first_behind(self, set_id: int, chunks_count: int, char: int) -> int:
        spans = self.spans(set_id, first=0, limit=chunks_count)
        return next((span.index for span in spans if span.end > char), chunks_count)

    def _strings(self, nodes: Sequence[NodeRow]) -> list[LargeString]:
        return [self._string(node) for node in nodes]

    def _string(self, node: NodeRow) -> LargeString:
        sets = [row for row in self.rows.sets.values() if row.node_id == node.id]
        current = min(sets, key=lambda row: row.state, default=None)
        progress = NodeProgress(
            node.json_pointer,
            node.char_count,
            node.state,
            current.chunks_count if current else None,
            dict(node.last_error) if node.last_error else None,
            node.attempt,
            node.next_at if node.state == "queued" else None,
        )
        return LargeString(
            node.id,
            node.table_id,
            progress,
            node.content_hash,
            node.changed_at,
            node.indexed_at,
            current.id if current else None,
            current.content_hash if current else None,
            current is not None and current.state == "active",
        )


def _key(node: NodeRow) -> tuple[int, str, int]:
    return node.table_id, node.json_pointer[:PLACE_CHARS], node.id
