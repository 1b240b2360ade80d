"""Chunks in memory as search reads them: live, active, within reach."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from context_search.core.documents import content_hash, parse_fielded
from context_search.core.filters import Filter, lets_through, matches, names_of
from context_search.core.json_pointer import resolve, split
from context_search.core.model import HydratedChunk, Index, Reach
from context_search.indexing.sql.node_counts import NodeCounts
from context_search.ranking.search import Target
from context_search.searching.rules.retrieval import ChunkText
from context_search.searching.rules.searched import Searched, SearchedTool
from context_search.searching.sql.live_chunks import LiveChunks
from tests.faults.simulation.model.comparisons import has_fields, may_match
from tests.faults.simulation.model.indexes import ModelIndexes
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import ChunkRow, NodeRow
from tests.faults.simulation.model.tools import ModelTools

_LONGEST_FIELDS = 4_096
_LEFT_OUT: Mapping[str, Any] = {
    "id": 0,
    "total_chunks": 0,
    "chunk_text": "",
    "char_start": 0,
    "char_end": 0,
}


class ModelLiveChunks(Model, LiveChunks):
    """``LiveChunks`` over rows in memory."""

    def read_target(
        self, searched: Searched, counts: NodeCounts, *, silent_s: float
    ) -> Target | None:
        indexes = ModelIndexes(self.rows, self.clock)
        if isinstance(searched, SearchedTool):
            tools = ModelTools(self.rows, self.clock)
            tool = tools.find(searched.tool_id, project_id=searched.project_id)
            index = indexes.find(tool.index_id) if tool else None
            if tool is None or index is None:
                return None
            reach, search = searched.seen(tool)
        else:
            index = indexes.of_project(searched.project_id)
            if index is None:
                return None
            reach, search = searched.seen(index)
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
        now = self.read_target(searched, counts, silent_s=silent_s)
        return now, self.hydrate(target.index, target.reach, doc_ids, texts=texts)

    def hydrate(
        self, index: Index, reach: Reach, doc_ids: Sequence[str], *, texts: bool = True
    ) -> dict[str, HydratedChunk]:
        """Looks at every chunk there is, and at documents that were not compared yet."""
        wanted, found = set(doc_ids), {}
        nodes = {row.active_set_id: row for row in self.rows.nodes.values()}
        for chunk in self.rows.chunks.values():
            node = nodes.get(chunk.set_id)
            if (
                chunk.doc_id not in wanted
                or chunk.namespace != index.generation.namespace
                or node is None
            ):
                continue
            if node.generation_id != index.generation.id:
                continue
            table = self.rows.tables[chunk.table_id]
            is_visible = table.is_there and table.project_id == index.project_id
            if not is_visible or not reach.covers(chunk.table_id, chunk.json_pointer):
                continue
            live_hash = self._live_hash(index, node)
            if live_hash is not None and self._lets_through(index, node, reach.filter):
                is_stale = live_hash != chunk.content_hash
                compared, _ = self.rows.compared.get((index.generation.id, table.id), (0, ()))
                known = compared if node.content_hash == chunk.content_hash else 0
                revision = known if is_stale else table.revision
                hydrated = _hydrated(chunk, node, stale=is_stale, revision=revision)
                if hydrated.stale and reach.only_current:
                    continue
                found[chunk.doc_id] = hydrated if texts else hydrated._replace(**_LEFT_OUT)
        return found

    def matching(
        self,
        index: Index,
        reach: Reach,
        *,
        most: int,
        timeout_s: float,
    ) -> list[str] | None:
        """Looks at every node."""
        if reach.filter is None or not self._are_known(index, reach, reach.filter):
            return None
        found = [
            node.json_pointer
            for node in self.rows.nodes.values()
            if node.generation_id == index.generation.id and node.active_set_id is not None
            if reach.covers(node.table_id, node.json_pointer)
            if may_match(self.rows, node, reach.filter)
        ]
        return None if len(found) > most else found

    def _are_known(self, index: Index, reach: Reach, wanted: Filter) -> bool:
        compared = [
            table_id
            for generation_id, table_id in self.rows.compared
            if generation_id == index.generation.id
            if reach.table_ids is None or table_id in reach.table_ids
        ]
        names = names_of(wanted)
        return bool(compared) and all(
            has_fields(self.rows, index.generation.id, table_id, names) for table_id in compared
        )

    def completed(self, index: Index, chunks: Sequence[HydratedChunk]) -> dict[str, HydratedChunk]:
        """Looks at every chunk there is."""
        known = {chunk.turbopuffer_doc_id: chunk for chunk in chunks}
        return {
            row.doc_id: known[row.doc_id]._replace(
                id=row.id,
                total_chunks=row.total,
                chunk_text=row.text,
                char_start=row.start,
                char_end=row.end,
            )
            for row in self.rows.chunks.values()
            if row.namespace == index.generation.namespace and row.doc_id in known
            if row.content_hash == known[row.doc_id].content_hash
        }

    def around(
        self, chunk_ids: Sequence[int], *, contents: Collection[str], reach: int
    ) -> list[ChunkText]:
        """Looks at every chunk there is."""
        found = [self.rows.chunks[i] for i in chunk_ids if i in self.rows.chunks]
        hits = [row for row in found if row.content_hash in contents]
        near = [
            row
            for row in self.rows.chunks.values()
            if self.rows.sets[row.set_id].state == "active"
            if any(hit.set_id == row.set_id and abs(hit.index - row.index) <= reach for hit in hits)
        ]
        return [
            ChunkText(row.id, row.set_id, row.index, row.total, row.start, row.end, row.text)
            for row in sorted(near, key=lambda row: (row.set_id, row.index))
        ]

    def _live_hash(self, index: Index, node: NodeRow) -> str | None:
        table = self.rows.tables[node.table_id]
        revision, _ = self.rows.compared.get((index.generation.id, table.id), (None, ()))
        if revision == table.revision:
            return node.content_hash
        try:
            value = resolve(json.loads(table.data_json), split(node.json_pointer))
        except KeyError:
            return None
        return content_hash(value) if isinstance(value, str) else None

    def _lets_through(self, index: Index, node: NodeRow, wanted: Filter | None) -> bool:
        table, generation_id = self.rows.tables[node.table_id], index.generation.id
        if wanted is None:
            return True
        revision, _ = self.rows.compared.get((generation_id, table.id), (None, ()))
        are_known = has_fields(self.rows, generation_id, table.id, names_of(wanted))
        if revision == table.revision and are_known and node.fields is not None:
            return matches(wanted, node.fields)
        return lets_through(wanted, parse_fielded(table.data_json), node.json_pointer)

    def first_texts(
        self, index: Index, places: Sequence[tuple[int, str]]
    ) -> dict[tuple[int, str], str]:
        """Reads the first chunks of active sets."""
        wanted = set(places)
        places_of = {
            node.active_set_id: (node.table_id, node.json_pointer)
            for node in self.rows.nodes.values()
            if node.generation_id == index.generation.id
        }
        return {
            places_of[chunk.set_id]: chunk.text
            for chunk in self.rows.chunks.values()
            if chunk.index == 0 and places_of.get(chunk.set_id) in wanted
        }

    def is_empty(self, index: Index) -> bool:
        """Looks for a chunk that is present."""
        rows = self.rows.chunks.values()
        return not any(row.present and row.namespace == index.generation.namespace for row in rows)


def _hydrated(chunk: ChunkRow, node: NodeRow, *, stale: bool, revision: int) -> HydratedChunk:
    return HydratedChunk(
        id=chunk.id,
        table_id=chunk.table_id,
        json_pointer=chunk.json_pointer,
        chunk_index=chunk.index,
        total_chunks=chunk.total,
        chunk_text=chunk.text,
        char_start=chunk.start,
        char_end=chunk.end,
        content_hash=chunk.content_hash,
        turbopuffer_namespace=chunk.namespace,
        turbopuffer_doc_id=chunk.doc_id,
        changed_at=node.changed_at,
        stale=stale,
        revision=revision,
    )
