"""What must hold when the faults have stopped and everything has settled."""

from __future__ import annotations

from context_search.adapters.in_memory.rows import ChunkRow, GenerationRow, NodeRow, Rows
from context_search.domain.chunking import chunk_spans
from context_search.domain.documents import content_hash
from context_search.domain.ids import window_ids
from tests.simulation.invariants import check, wanted_nodes
from tests.simulation.world import World


def at_rest(world: World) -> None:
    """I7: the index is its document, and nothing is left over."""
    rows = world.memory.rows
    stored: set[tuple[str, str]] = set()
    for generation in rows.generations.values():
        check(generation.state in ("active", "building"), "I7 old generation is left", generation)
        stored |= _generation(world, rows, generation)
    found = {
        (namespace, name)
        for namespace, documents in world.documents.namespaces.items()
        for name in documents
    }
    check(found == stored, "I7 documents are not the active chunks", found ^ stored)
    check(not rows.tombstones, "I7 tombstones are left", len(rows.tombstones))
    check(not rows.outbox, "I7 outbox is not empty", rows.outbox)
    check(not world.queue.waiting, "I7 queue is not empty", world.queue.waiting)
    check(all(s.state == "active" for s in rows.sets.values()), "I7 building sets are left")
    _summaries(world)


def _generation(world: World, rows: Rows, generation: GenerationRow) -> set[tuple[str, str]]:
    """Checks the nodes of a generation; returns which documents should be there."""
    wanted = wanted_nodes(rows, generation.index_id or 0)
    nodes = [node for node in rows.nodes.values() if node.generation_id == generation.id]
    found = {node.json_pointer for node in nodes}
    check(found == set(wanted), "I7 nodes are not the document's", found ^ set(wanted))
    documents: set[tuple[str, str]] = set()
    for node in nodes:
        text = wanted[node.json_pointer]
        chunks = [row for row in rows.chunks.values() if row.set_id == node.active_set_id]
        chunks.sort(key=lambda chunk: chunk.index)
        check(node.content_hash == content_hash(text), "I7 wrong text", node)
        if node.state == "quarantined":
            _quarantined(world, generation, node, text)
        else:
            check(node.state == "indexed", "I7 node is not indexed", node)
            _whole(generation, text, chunks)
        for chunk in chunks:
            names = window_ids(chunk.doc_id, chunk.window_count)
            documents |= {(chunk.namespace, name) for name in names}
    return documents


def _quarantined(world: World, generation: GenerationRow, node: NodeRow, text: str) -> None:
    """Only a text that the model once refused is out of work, and then for that reason."""
    code = (node.last_error or {}).get("code")
    check(code == "EMBEDDING_DIMENSION_MISMATCH", "I7 quarantined for nothing", node)
    was_refused = any(refused in text for refused in world.embedder.refused)
    check(was_refused, "I7 quarantined for another text", node)


def _whole(generation: GenerationRow, text: str, chunks: list[ChunkRow]) -> None:
    """I11: the active chunks are those of the live text."""
    config = generation.config
    spans = chunk_spans(text, size=config.chunk_size, overlap=config.chunk_overlap)
    expected = [(span.start, span.end, text[span.start : span.end]) for span in spans]
    actual = [(chunk.start, chunk.end, chunk.text) for chunk in chunks]
    check(actual == expected, "I7 chunks are not those of the text", (text, actual))
    check(all(chunk.total == len(expected) for chunk in chunks), "I11 total", chunks)


def _summaries(world: World) -> None:
    """What tools say of themselves is what is so."""
    with world.memory.transaction() as work:
        for row in world.memory.rows.tools.values():
            tool = work.tools.find(row.id, project_id=None)
            index = work.indexes.find(tool.index_id) if tool else None
            if tool and index:
                progress = work.nodes.progress(index, tool.scope.json_pointer, stalled_s=1e9)
                told = row.summary or {}
                check(told.get("status") == progress.status, "I7 summary", (told, progress))
                counts = (told["nodes_count"], told["indexed_chunks_count"])
                check(
                    counts == (progress.nodes_count, progress.indexed_chunks_count),
                    "I7 summary counts",
                    (told, progress),
                )
