"""Document by document: what the table says, what Postgres has, what turbopuffer has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_search.core.config import IndexConfig
from context_search.core.documents import content_hash, string_nodes
from context_search.core.ids import ancestor_keys, base36, pointer_key, window_ids
from context_search.core.model import Table
from context_search.text.analysis import tokens
from context_search.text.chunking import chunk_spans, window_texts
from testing.in_memory.embedder import WordEmbedder
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.stored import documents, namespaces
from tests.tallies import wrong_tallies

_ROWS = """
    SELECT node.json_pointer, node.state, node.content_hash, chunk_set.id, chunk_set.state,
           chunk_set.chunks_count, chunk_set.present_count
    FROM node LEFT JOIN chunk_set ON chunk_set.node_id = node.id
    WHERE generation_id = :generation ORDER BY node.json_pointer
"""
_CHUNKS = """
    SELECT set_id, chunk_index, id, json_pointer, chunk_text, char_start, char_end, content_hash,
           total_chunks, turbopuffer_doc_id, window_count, present
    FROM chunks WHERE turbopuffer_namespace = :namespace
"""
_LIVE = """
    SELECT index_generation.id, namespace, index_generation.config,
           ARRAY(SELECT DISTINCT scope FROM coverage WHERE coverage.index_id = search_index.id)
    FROM search_index JOIN index_generation ON index_id = search_index.id
    WHERE search_index.table_id = :table AND state IN ('active', 'building')
"""
Chunk = dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """The chunks that a text should have, and the documents that these should have."""

    chunks: dict[tuple[str, int], Chunk]
    documents: dict[str, dict[str, Any]]


def assert_whole(deployment: Deployment, table: Table) -> None:
    """The index of every generation of a table is its document, exactly."""
    with deployment.parts.database.transaction() as tx:
        found = tx.run("SELECT data FROM context_table WHERE id = :id", id=table.id)
        generations = tx.run(_LIVE, table=table.id)
        assert wrong_tallies(tx.run) == []
    assert bool(found) or not generations
    for [data] in found:
        _generations_are(deployment, table, json.loads(data), generations)


def _generations_are(
    deployment: Deployment, table: Table, document: object, generations: Sequence[Any]
) -> None:
    for generation_id, namespace, config, scopes in generations:
        texts = {
            node.json_pointer: node.text
            for scope in scopes
            for node in string_nodes(
                document, scope=scope, threshold=IndexConfig.from_json(config).threshold
            )
        }
        _generation_is(
            deployment, generation_id, namespace, IndexConfig.from_json(config), texts, table
        )


def _generation_is(
    deployment: Deployment,
    generation_id: int,
    namespace: str,
    config: IndexConfig,
    texts: Mapping[str, str],
    table: Table,
) -> None:
    with deployment.parts.database.transaction() as tx:
        nodes = tx.run(_ROWS, generation=generation_id)
        rows = tx.run(_CHUNKS, namespace=namespace)
    assert {pointer: (state, digest) for pointer, state, digest, *_ in nodes} == {
        pointer: ("indexed", content_hash(text)) for pointer, text in texts.items()
    }
    assert len(nodes) == len(texts)  # one set for each node, no more
    assert {state for *_, state, _, _ in nodes} <= {"active"}
    assert all(count == present for *_, count, present in nodes)
    sets = {pointer: set_id for pointer, _, _, set_id, *_ in nodes}
    found = {(row[3], row[1]): _as_chunk(row) for row in rows}
    assert len(found) == len(rows)
    names = {place: str(chunk["doc_id"]) for place, chunk in found.items()}
    assert len(set(names.values())) == len(names)
    expected = expected_of(config, texts, sets, names, table.id)
    assert found == expected.chunks
    ids = {chunk["doc_id"]: row[2] for row, chunk in zip(rows, found.values(), strict=True)}
    stored = dict(documents(deployment.turbopuffer_url, namespace))
    for document in stored.values():
        document["chunk"] = ids.get(document.pop("chunk_of")) == document.pop("chunk_id")
    assert stored == expected.documents


def _as_chunk(row: list[Any]) -> Chunk:
    names = ["text", "start", "end", "hash", "total", "doc_id", "windows", "present"]
    return {"set": row[0], **dict(zip(names, row[4:], strict=True))}


def expected_of(
    config: IndexConfig,
    texts: Mapping[str, str],
    sets: Mapping[str, int],
    names: Mapping[tuple[str, int], str],
    table_id: int,
) -> Expected:
    """Everything that follows from the texts, computed anew; ``names`` are the vector rows' ids."""
    embedder = WordEmbedder(config.dimensions)
    expected = Expected({}, {})
    for pointer, text in texts.items():
        digest = content_hash(text)
        spans = chunk_spans(text, size=config.chunk_size, overlap=config.chunk_overlap)
        for index, span in enumerate(spans):
            piece = text[span.start : span.end]
            windows = window_texts(piece, config.window_tokens)
            doc_id = names.get((pointer, index), "..")
            # Of the set that it was written for, which may be an earlier one.
            assert doc_id.split(".")[:2] == [base36(table_id), pointer_key(pointer)]
            expected.chunks[pointer, index] = {
                "set": sets[pointer],
                "text": piece,
                "start": span.start,
                "end": span.end,
                "hash": digest,
                "total": len(spans),
                "doc_id": doc_id,
                "windows": len(windows),
                "present": True,
            }
            vectors = embedder.embed_passages(windows, timeout_s=1)
            rows = window_ids(doc_id, len(windows))
            for name, vector in zip(rows, vectors, strict=True):
                expected.documents[name] = {
                    "vector": [round(number, 5) for number in vector],
                    "content": tokens(piece) if name == doc_id else None,
                    "ancestors": sorted(ancestor_keys(pointer)),
                    "table_id": table_id,
                    "json_pointer": pointer,
                    "chunk": True,
                }
    return expected


def assert_no_namespace_is_lost(deployment: Deployment) -> None:
    """Every namespace of turbopuffer belongs to a generation."""
    with deployment.parts.database.transaction() as tx:
        known = {name for [name] in tx.run("SELECT namespace FROM index_generation")}
    assert namespaces(deployment.turbopuffer_url) - known == set()
