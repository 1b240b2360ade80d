"""What must hold: after every step, after every search, and at rest. docs/consistency.md"""

from __future__ import annotations

import json

from context_search.adapters.in_memory.rows import ChunkRow, NodeRow, Rows
from context_search.domain.documents import content_hash, string_nodes
from context_search.domain.ids import chunk_document_id, window_ids
from context_search.domain.json_pointer import contains, resolve, split
from context_search.services.search_tool import Answer
from tests.simulation.world import CONFIG, TEXTS, World


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
        self.fences: dict[int, int] = {}
        self.searchable: dict[int, NodeRow] = {}
        self.versions = {content_hash(text): text for text in TEXTS}
        world.on_answer = self.on_answer
        world.after_step = self.after_step

    def after_step(self) -> None:
        """Invariants of every moment."""
        rows = self.world.memory.rows
        self._every_document_is_known(rows)
        self._active_sets_are_complete(rows)
        self._fences_never_fall(rows)
        self._searchable_stays_searchable(rows)

    def _every_document_is_known(self, rows: Rows) -> None:
        """I3: a document in turbopuffer has a chunk row or a tombstone."""
        known = {(row.namespace, row.doc_id) for row in rows.chunks.values()}
        known |= set(rows.tombstones)
        retired = {g.namespace for g in rows.generations.values() if g.retired_at}
        for namespace, documents in self.world.documents.namespaces.items():
            for doc_id in documents:
                is_known = (namespace, chunk_document_id(doc_id)) in known
                check(is_known or namespace in retired, "I3 unknown document", doc_id)

    def _active_sets_are_complete(self, rows: Rows) -> None:
        """I4: an active set exists, all its chunks are present, all are in turbopuffer."""
        if self.world.is_damaged:
            return  # it must be so again at rest
        for node in rows.nodes.values():
            if node.active_set_id is None:
                continue
            check(node.active_set_id in rows.sets, "I4 active set is gone", node)
            check(rows.sets[node.active_set_id].state == "active", "I4 set is not active", node)
            for chunk in _chunks(rows, node.active_set_id):
                stored = self.world.documents.namespaces.get(chunk.namespace, {})
                missing = [
                    i for i in window_ids(chunk.doc_id, chunk.window_count) if i not in stored
                ]
                check(chunk.present and not missing, "I4 active chunk is missing", chunk)

    def _fences_never_fall(self, rows: Rows) -> None:
        """I6."""
        for node in rows.nodes.values():
            check(node.fence >= self.fences.get(node.id, 0), "I6 fence fell", node)
            self.fences[node.id] = node.fence

    def _searchable_stays_searchable(self, rows: Rows) -> None:
        """I8: while it is covered and in the document."""
        for node_id, before in list(self.searchable.items()):
            node = rows.nodes.get(node_id)
            if node is None:
                del self.searchable[node_id]
                check(not self._is_wanted(rows, before), "I8 wanted node was removed", before)
            else:
                check(node.active_set_id is not None, "I8 node became unsearchable", node)
        self.searchable.update({n.id: n for n in rows.nodes.values() if n.active_set_id})

    def _is_wanted(self, rows: Rows, node: NodeRow) -> bool:
        table = rows.tables.get(node.table_id)
        generation = rows.generations.get(node.generation_id)
        if table is None or table.deleted or generation is None or generation.retired_at:
            return False
        scopes = [row.scope for row in rows.coverage.values()]
        return node.json_pointer in _pointers(table.data_json, scopes)

    def on_answer(self, answer: Answer) -> None:
        """I1, I2, I11: hits are live, in scope, of one version, and exactly what they say."""
        rows = self.world.memory.rows
        versions_of: dict[str, str] = {}
        for hit in answer.hits:
            chunk = hit.chunk
            table = rows.tables.get(chunk.table_id)
            if table is None or table.deleted:
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


def at_rest(world: World) -> None:
    """I7: the index is its document, and nothing is left over."""
    rows = world.memory.rows
    table = rows.tables.get(world.table.id)
    scopes = [row.scope for row in rows.coverage.values()]
    wanted = _pointers(table.data_json, scopes) if table and not table.deleted else {}
    active: set[str] = set()
    for node in rows.nodes.values():
        if node.state == "quarantined":
            code = (node.last_error or {}).get("code")
            check(code == "EMBEDDING_DIMENSION_MISMATCH", "I7 quarantined for nothing", node)
            active |= {c.doc_id for c in _chunks(rows, node.active_set_id)}
            continue
        check(node.state == "indexed", "I7 node is not indexed", node)
        check(wanted.get(node.json_pointer) == node.content_hash, "I7 wrong text", node)
        active |= {chunk.doc_id for chunk in _chunks(rows, node.active_set_id)}
    found = {node.json_pointer for node in rows.nodes.values()}
    check(found == set(wanted), "I7 nodes are not the document's", found ^ set(wanted))
    stored = {name for names in world.documents.namespaces.values() for name in names}
    check(stored == active, "I7 documents are not the active chunks", stored ^ active)
    check(not rows.tombstones, "I7 tombstones are left", len(rows.tombstones))
    check(not rows.outbox, "I7 outbox is not empty", rows.outbox)
    check(not world.queue.waiting, "I7 queue is not empty", world.queue.waiting)
    check(all(s.state == "active" for s in rows.sets.values()), "I7 building sets are left")


def _chunks(rows: Rows, set_id: int | None) -> list[ChunkRow]:
    return [row for row in rows.chunks.values() if row.set_id == set_id]


def _pointers(data_json: str, scopes: list[str]) -> dict[str, str]:
    document = json.loads(data_json)
    return {
        node.json_pointer: node.content_hash
        for node in string_nodes(document, scope="", threshold=CONFIG.threshold)
        if any(contains(scope, node.json_pointer) for scope in scopes)
    }
