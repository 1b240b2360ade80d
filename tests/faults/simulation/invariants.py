"""What must hold: after every step and after every search. docs/consistency.md

What must hold at rest is in ``idle.py``.
"""

from __future__ import annotations

import json
from functools import lru_cache

from context_search.core.documents import content_hash, string_nodes
from context_search.core.ids import first_row_id, window_ids
from context_search.core.json_pointer import contains, resolve, split
from context_search.integrations.ports import VectorRow
from context_search.ranking.search import SearchResult
from tests.faults.simulation.conditions import TEXTS
from tests.faults.simulation.model.comparisons import needed_scopes, tables_of
from tests.faults.simulation.model.rows import NodeRow, Rows
from tests.faults.simulation.scheduler import Task
from tests.faults.simulation.world import World

_chunk_of = lru_cache(maxsize=10_000)(first_row_id)
_NOTHING: dict[str, VectorRow] = {}


class Violated(AssertionError):  # noqa: N818 - reads as what it says
    """An invariant does not hold; the message begins with its name."""


def check(condition: bool, name: str, detail: object = "") -> None:  # noqa: FBT001
    """Raises Violated unless ``condition``."""
    if not condition:
        raise Violated(f"{name}: {detail}")


class Watch:
    """Checks a world after each step; remembers what must never go back."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.nodes: dict[int, NodeRow] = {}
        self.holders: dict[int, tuple[int, Task | None]] = {}
        self.searchable: set[tuple[int, str]] = set()
        self.checked = (0, 0)
        self.versions = {content_hash(text): text for text in TEXTS}
        self.read: dict[int, int] = {}
        world.on_answer = self.on_answer
        world.after_step = self.after_step

    def after_step(self) -> None:
        """Invariants of every moment; checked again when something was written."""
        rows = self.world.model_store.rows
        state = (rows.version, self.world.vectors.version)
        if state == self.checked:
            return
        self.checked = state
        self._read_documents(rows)
        self._every_document_is_known(rows)
        self._active_sets_are_complete(rows)
        self._nodes_change_as_they_may(rows)
        self._searchable_stays_searchable(rows)

    def _read_documents(self, rows: Rows) -> None:
        for table in rows.tables.values():
            if self.read.get(table.id) != table.revision:
                self.read[table.id] = table.revision
                found = string_nodes(json.loads(table.data_json), scope="", threshold=0)
                self.versions.update((content_hash(node.text), node.text) for node in found)

    def _every_document_is_known(self, rows: Rows) -> None:
        """I3: a namespace has a generation, a document has a chunk row or a tombstone."""
        owned = {row.namespace for row in rows.generations.values()}
        known = {(row.namespace, row.doc_id) for row in rows.chunks.values()}
        known.update(rows.tombstones)
        retired = {g.namespace for g in rows.generations.values() if g.retired_at}
        for namespace, documents in self.world.documents.namespaces.items():
            check(namespace in owned, "I3 unknown namespace", namespace)
            for doc_id in documents:
                if (namespace, _chunk_of(doc_id)) not in known and namespace not in retired:
                    raise Violated(f"I3 unknown document: {doc_id}")

    def _active_sets_are_complete(self, rows: Rows) -> None:
        """I4: an active set exists, all its chunks are present, all are in turbopuffer."""
        if self.world.is_damaged:
            return  # it must be so again at rest
        active = {row.active_set_id for row in rows.nodes.values() if row.active_set_id}
        for set_id in active:
            check(set_id in rows.sets, "I4 active set is gone", set_id)
            check(rows.sets[set_id].state == "active", "I4 set is not active", set_id)
        namespaces = self.world.documents.namespaces
        for chunk in rows.chunks.values():
            if chunk.set_id in active:
                stored = namespaces.get(chunk.namespace, _NOTHING)
                names = window_ids(chunk.doc_id, chunk.window_count)
                is_there = chunk.present and all(name in stored for name in names)
                check(is_there, "I4 active chunk is missing", chunk)

    def _nodes_change_as_they_may(self, rows: Rows) -> None:
        for node_id, before in self.nodes.items():
            if before.active_set_id and node_id not in rows.nodes:
                check(not is_wanted(rows, before), "I8 wanted node was removed", before)
        for node in rows.nodes.values():
            if node is not self.nodes.get(node.id):
                self._fence_is_kept(self.nodes.get(node.id), node)
        self.nodes = dict(rows.nodes)

    def _searchable_stays_searchable(self, rows: Rows) -> None:
        """I8, as a search sees it: through the generation that answers.

        Who goes back to the earlier generation asks for what that one had.
        """
        answering = {index.generation_id: index.id for index in rows.indexes.values()}
        searchable = {
            (answering[node.generation_id], node.json_pointer)
            for node in rows.nodes.values()
            if node.active_set_id is not None and node.generation_id in answering
        }
        task = self.world.scheduler.latest
        if task is None or not task.name.startswith("roll back"):
            for index_id, pointer in self.searchable - searchable:
                text = None
                if index_id in rows.indexes:
                    text = wanted_nodes(rows, index_id).get(pointer)
                is_too_large = text is not None and len(text) > self.world.max_node_chars
                may_go = text is None or is_too_large
                check(may_go, "I8 string became unsearchable", (index_id, pointer))
        self.searchable = searchable

    def _fence_is_kept(self, before: NodeRow | None, node: NodeRow) -> None:
        """I6: fences never fall, and a worker writes to a node only while it holds it."""
        task = self.world.scheduler.latest
        if before is None or node.fence > before.fence:
            self.holders[node.id] = (node.fence, task)
            return
        check(node.fence == before.fence, "I6 fence fell", node)
        if task is not None and task.kind == "node":
            is_held = before.state == "claimed" and self.holders[node.id] == (node.fence, task)
            check(is_held, f"I6 {task.name} wrote with an old fence", node)

    def on_answer(self, answer: SearchResult) -> None:
        """I1, I2, I11: hits are live, in scope, of one version, and exactly what they say."""
        rows = self.world.model_store.rows
        versions_of: dict[str, str] = {}
        for hit in answer.hits:
            chunk = hit.chunk
            table = rows.tables.get(chunk.table_id)
            if table is None or not table.is_there:
                raise Violated(f"I1 hit of a deleted table: {chunk}")
            text = self.versions[chunk.content_hash][chunk.char_start : chunk.char_end]
            check(chunk.chunk_text == text, "I11 chunk is not its slice", chunk)
            first = versions_of.setdefault(chunk.json_pointer, chunk.content_hash)
            check(first == chunk.content_hash, "I2 two versions of one node", chunk)
            try:
                live = resolve(json.loads(table.data_json), split(chunk.json_pointer))
            except KeyError:
                live = None
            if not isinstance(live, str):
                raise Violated(f"I1 hit of a removed pointer: {chunk}")
            is_live = content_hash(live) == chunk.content_hash
            check(is_live or chunk.stale, "I1 old text is not marked stale", chunk)


def is_wanted(rows: Rows, node: NodeRow) -> bool:
    """Whether a node's generation answers and its pointer is in the document and in a scope."""
    generation = rows.generations.get(node.generation_id)
    if generation is None or generation.retired_at or generation.index_id is None:
        return False
    return node.json_pointer in wanted_nodes(rows, generation.index_id)


def wanted_nodes(rows: Rows, index_id: int) -> dict[str, str]:
    """Returns what the document and the tools want in an index: pointer → text.

    Nothing is wanted in an evicted one.
    """
    index = rows.indexes[index_id]
    table = next(iter(tables_of(rows, index)), None)  # there is one, or none any more
    if table is None or index.evicted_at is not None:
        return {}
    scopes = needed_scopes(rows, index)
    found = string_nodes(json.loads(table.data_json), scope="", threshold=index.config.threshold)
    return {
        node.json_pointer: node.text
        for node in found
        if any(contains(scope, node.json_pointer) for scope in scopes)
    }
