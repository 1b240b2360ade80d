"""What must hold when the faults have stopped and everything has settled."""

from __future__ import annotations

from context_search.core.documents import content_hash, text_of_chunks
from context_search.core.ids import window_ids
from context_search.indexing.comparing import keys_of
from context_search.indexing.vector_rows import BLANK
from context_search.text.chunking import chunk_spans, window_texts
from context_search.text.keywords import keyword_tokens, trails
from testing.in_memory.embedder import WordEmbedder
from tests.faults.simulation import crowding, editing, planned
from tests.faults.simulation.invariants import check, wanted_nodes
from tests.faults.simulation.model.rows import ChunkRow, GenerationRow, NodeRow, Rows
from tests.faults.simulation.world import World

_words = WordEmbedder()


def at_rest(world: World) -> None:
    """I7: the index is its document, and nothing is left over."""
    rows = world.model_store.rows
    kept = {each.id for each in rows.generations.values() if each.state == "previous"}
    nodes = [node for node in rows.nodes.values() if node.generation_id not in kept]
    for generation in rows.generations.values():
        check(generation.state != "retired", "I7 retired generation is left", generation)
        if generation.id not in kept:  # those stay as they were
            of_it = [node for node in nodes if node.generation_id == generation.id]
            _nodes_are_the_documents(world, rows, generation, of_it)
    _documents_are_the_chunks(world, rows, kept, nodes)
    sets = [row for row in rows.sets.values() if rows.nodes[row.node_id] in nodes]
    check(all(row.state == "active" for row in sets), "I7 building sets are left", sets)
    check(not rows.tombstones, "I7 tombstones are left", len(rows.tombstones))
    check(not rows.outbox, "I7 outbox is not empty", rows.outbox)
    for row in (*rows.tables.values(), *rows.tools.values()):
        check(row.remove_at is None, "I7 a deleted row is left", row)
    check(not rows.project_removals, "I7 a deleted project is left", rows.project_removals)
    check(not world.queue.waiting, "I7 queue is not empty", world.queue.waiting)
    _sections_are_of_the_nodes(world, rows)
    crowding.at_rest(world)
    editing.at_rest(rows)
    planned.at_rest(rows)
    _summaries(world)


def _sections_are_of_the_nodes(world: World, rows: Rows) -> None:
    """I24: what is kept of the sections of a document is what its nodes are."""
    with world.model_store.for_all("look") as work:
        for generation_id, table_id in rows.sections:
            generation = rows.generations[generation_id]
            if generation.index_id is None or generation.state != "active":
                continue
            index = work.indexes.find(generation.index_id)
            scopes = work.comparisons.scopes(generation.index_id)
            if index is None or work.comparisons.basis(index, table_id, scopes) is None:
                continue
            _, kept = rows.sections[generation_id, table_id]
            found = {node.pointer_sha256[:16] for node in work.nodes.known(generation_id, table_id)}
            noted = {key for section in kept.values() for key in keys_of(section)}
            check(noted == found, "I24 sections of other strings", (generation_id, table_id))


def _documents_are_the_chunks(
    world: World, rows: Rows, kept: set[int], nodes: list[NodeRow]
) -> None:
    repairable = _stored(rows, [node for node in nodes if node.state == "indexed"])
    stored = _stored(rows, nodes)
    names_kept = {rows.generations[generation_id].namespace for generation_id in kept}
    found = {
        (namespace, name)
        for namespace, documents in world.documents.namespaces.items()
        for name in documents
        if namespace not in names_kept
    }
    if world.is_damaged:  # what cannot be indexed again cannot be repaired
        stored = {row for row in stored if row in found or row in repairable}
    check(found == stored, "I7 documents are not the active chunks", found ^ stored)
    for node in nodes:
        if node.state == "indexed":
            _rows_hold_the_text(world, rows, node)


def _rows_hold_the_text(world: World, rows: Rows, node: NodeRow) -> None:
    """What turbopuffer holds of a text is what a new index of it would get."""
    config, chunks = rows.generations[node.generation_id].config, _chunks(rows, node)
    above = trails(
        text_of_chunks((row.start, row.text) for row in chunks), [row.start for row in chunks]
    )
    for chunk, trail in zip(chunks, above, strict=True):
        names = window_ids(chunk.doc_id, chunk.window_count)
        stored = [world.documents.namespaces[chunk.namespace][name] for name in names]
        windows = [
            text if text.strip() else BLANK
            for text in window_texts(chunk.text, config.window_tokens)
        ]
        vectors = [_words.embed_query(text, timeout_s=1) for text in windows]
        check([list(row.vector) for row in stored] == vectors, "I7 vectors of another text", chunk)
        tokens = keyword_tokens(chunk.text, trail)
        check(list(stored[0].tokens or ()) == tokens, "I7 words of another text", chunk)
        if rows.generations[node.generation_id].state == "active":
            check(chunk.tokens == tuple(tokens), "I7 words for Postgres of another text", chunk)
        check({row.chunk_id for row in stored} == {chunk.id}, "I7 rows of another chunk", chunk)


def _stored(rows: Rows, nodes: list[NodeRow]) -> set[tuple[str, str]]:
    return {
        (chunk.namespace, name)
        for node in nodes
        for chunk in _chunks(rows, node)
        for name in window_ids(chunk.doc_id, chunk.window_count)
    }


def _chunks(rows: Rows, node: NodeRow) -> list[ChunkRow]:
    chunks = [row for row in rows.chunks.values() if row.set_id == node.active_set_id]
    return sorted(chunks, key=lambda chunk: chunk.index)


def _nodes_are_the_documents(
    world: World, rows: Rows, generation: GenerationRow, nodes: list[NodeRow]
) -> None:
    """The nodes of a generation that follows the document are those of the document."""
    wanted = wanted_nodes(rows, generation.index_id or 0)
    found = {node.json_pointer for node in nodes}
    check(found == set(wanted), "I7 nodes are not the document's", found ^ set(wanted))
    for node in nodes:
        text = wanted[node.json_pointer]
        check(node.content_hash == content_hash(text), "I7 wrong text", node)
        is_large = len(text) > world.max_node_chars
        if node.state == "quarantined":
            _quarantined(world, node, text)
        elif is_large:
            check(node.state == "skipped", "I7 too large, and not skipped", node)
        elif not crowding.waits_for_room(world, node):
            check(node.state == "indexed", "I7 node is not indexed", node)
            _whole(generation, text, _chunks(rows, node))


def _quarantined(world: World, node: NodeRow, text: str) -> None:
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
    with world.model_store.for_all("test") as work:
        for row in world.model_store.rows.tools.values():
            tool = work.tools.find(row.id, project_id=None)
            index = work.indexes.find(tool.index_id) if tool else None
            if tool and index:
                progress = work.node_counts.progress(index, tool.scope.json_pointer, silent_s=1e9)
                reported = row.summary or {}
                check(reported.get("status") == progress.status, "I7 summary", (reported, progress))
                counts = (reported["nodes_count"], reported["indexed_chunks_count"])
                check(
                    counts == (progress.nodes_count, progress.indexed_chunks_count),
                    "I7 summary counts",
                    (reported, progress),
                )
