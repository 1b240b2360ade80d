"""Whether every index is its document, whichever version wrote which part of it.

Of what a row is called, or was called by an earlier version, nothing is assumed: chunks follow
from the document, vector rows from the chunk rows and their texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from context_search.core.config import IndexConfig
from context_search.core.documents import StringNode, string_nodes
from context_search.core.ids import window_ids
from context_search.text.analysis import tokens
from context_search.text.chunking import chunk_spans, window_texts
from testing.in_memory.embedder import WordEmbedder
from tests.faults.chaos.stored import documents, namespaces

_GENERATIONS = """
    SELECT generation.id, namespace, generation.config
    FROM index_generation AS generation JOIN search_index ON search_index.id = index_id
    WHERE generation.id = active_generation_id AND evicted_at IS NULL ORDER BY generation.id
"""
_TABLES = """
    SELECT context_table.id, context_table.data,
           ARRAY(SELECT scope FROM needed_scope WHERE needed_scope.index_id = search_index.id)
    FROM search_index JOIN index_table ON index_table.index_id = search_index.id
    JOIN context_table ON context_table.id = index_table.table_id
    WHERE active_generation_id = :generation
"""
_CHUNKS = """
    SELECT chunks.table_id, chunks.json_pointer, char_start, char_end, chunk_text,
           turbopuffer_doc_id, window_count, present
    FROM chunks JOIN chunk_set ON chunk_set.id = set_id JOIN node ON active_set_id = chunk_set.id
    WHERE generation_id = :generation
"""
Sql = Callable[..., list[list[Any]]]


@dataclass
class EqualityReport:
    """How much was compared, and what is wrong."""

    chunks: int = 0
    vector_rows: int = 0
    wrong: list[str] = field(default_factory=list)


def differences(sql: Sql, turbopuffer_url: str) -> EqualityReport:
    """Compares every generation that answers with its documents, and turbopuffer with its rows."""
    found = EqualityReport()
    for generation, namespace, config_json in sql(_GENERATIONS):
        config = IndexConfig.from_json(config_json)
        rows = sql(_CHUNKS, generation=generation)
        expected = set(_expected(sql, generation, config))
        stored = {tuple(row[:5]) for row in rows}
        found.chunks += len(rows)
        for way, chunks in (("lacks", expected - stored), ("has besides", stored - expected)):
            found.wrong += [f"{namespace} {way} {_named(chunk)}" for chunk in sorted(chunks)[:3]]
        found.wrong += _vectors(found, config, rows, namespace, turbopuffer_url)
    known = {name for [name] in sql("SELECT namespace FROM index_generation")}
    unknown = sorted(namespaces(turbopuffer_url) - known)
    found.wrong += [f"the namespace {name} is nobody's" for name in unknown]
    return found


def _named(chunk: tuple[Any, ...]) -> str:
    return f"table {chunk[0]} {chunk[1]}[{chunk[2]}:{chunk[3]}]"


def _expected(sql: Sql, generation: int, config: IndexConfig) -> Iterator[tuple[Any, ...]]:
    for table_id, data, scopes in sql(_TABLES, generation=generation):
        document = json.loads(data)
        nodes: dict[str, StringNode] = {
            node.json_pointer: node
            for scope in scopes
            for node in string_nodes(document, scope=scope, threshold=config.threshold)
        }
        for pointer, node in nodes.items():
            spans = chunk_spans(node.text, size=config.chunk_size, overlap=config.chunk_overlap)
            for span in spans:
                yield table_id, pointer, span.start, span.end, node.text[span.start : span.end]


def _vectors(
    found: EqualityReport,
    config: IndexConfig,
    rows: list[list[Any]],
    namespace: str,
    turbopuffer_url: str,
) -> Iterator[str]:
    """Says how the vector rows of a namespace differ from its chunk rows."""
    stored = dict(documents(turbopuffer_url, namespace))
    embedder, wanted = WordEmbedder(config.dimensions), set()
    for *_, text, doc_id, window_count, present in rows:
        windows = window_texts(text, config.window_tokens)
        if len(windows) != window_count or not present:
            yield f"{namespace} {doc_id}: {window_count} windows, present {present}"
        vectors = embedder.embed_passages(windows, timeout_s=1)
        for name, vector in zip(window_ids(doc_id, len(windows)), vectors, strict=True):
            wanted.add(name)
            row = stored.get(name)
            if row is None:
                yield f"{namespace} has no vector row {name}"
                continue
            if row["vector"] != [round(number, 5) for number in vector]:
                yield f"{namespace} {name} has another text's vector"
            own = tokens(text)  # those of the lines that it stands under follow
            has_tokens = name == doc_id and config.storage == "full"
            if has_tokens and (row["content"] or [])[: len(own)] != own:
                yield f"{namespace} {name} has another text's tokens"
    found.vector_rows += len(stored)
    if besides := sorted(stored.keys() - wanted):
        yield f"{namespace} has vector rows without a chunk: {besides[:3]}"
