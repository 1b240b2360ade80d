"""The chunks of a node, and what turbopuffer and keyword search get of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import repeat

from context_search.core.config import IndexConfig
from context_search.core.ids import ancestor_keys, window_ids
from context_search.core.model import Claim, PlannedChunk, StoredChunk
from context_search.indexing.chunk_vectors import Vectors, input_hash
from context_search.indexing.rules.chunks import ChunkTokens, Unkeyed
from context_search.integrations.ports import VectorRow
from context_search.text.chunking import Span, chunk_spans, window_texts
from context_search.text.keywords import keyword_tokens, trails


def plan(claim: Claim, passage_key: str = "") -> list[PlannedChunk]:
    """Returns the chunks of a claimed node's text; none for a text of white space only.

    ``passage_key``: see ``input_hash``.
    """
    found = spans(claim.content, claim.config)
    above = trails(claim.content, [span.start for span in found])
    return [
        _planned(index, span, trail, claim, passage_key)
        for index, (span, trail) in enumerate(zip(found, above, strict=True))
    ]


def _planned(index: int, span: Span, trail: str, claim: Claim, passage_key: str) -> PlannedChunk:
    text = claim.content[span.start : span.end]
    embedded = input_hash(text, claim.config, passage_key)
    return PlannedChunk(
        index=index,
        start=span.start,
        end=span.end,
        text=text,
        trail=trail,
        input_hash=embedded,
        rows_hash=hashlib.sha256(embedded + trail.encode()).digest(),
        window_count=len(window_texts(text, claim.config.window_tokens)),
    )


def spans(text: str, config: IndexConfig) -> list[Span]:
    """Returns where the chunks of a node's text begin and end."""
    return chunk_spans(text, size=config.chunk_size, overlap=config.chunk_overlap)


def chunk_tokens(
    chunks: Iterable[StoredChunk], above: Iterable[str] = repeat("")
) -> list[ChunkTokens]:
    """Returns what keyword search knows of chunks that stand under the lines ``above``."""
    return [
        ChunkTokens(chunk.id, keyword_tokens(chunk.text, trail))
        for chunk, trail in zip(chunks, above, strict=False)
    ]


def tokens_of(waiting: Unkeyed) -> list[ChunkTokens]:
    """Returns the same of chunks of one string, in the text around them."""
    above = trails(waiting.text, [chunk.start for chunk in waiting.chunks])
    return [
        ChunkTokens(chunk.id, keyword_tokens(waiting.text[chunk.start : chunk.end], trail))
        for chunk, trail in zip(waiting.chunks, above, strict=True)
    ]


def vector_rows(
    claim: Claim,
    chunks: Iterable[tuple[StoredChunk, Vectors, ChunkTokens]],
    updated_at: datetime,
) -> Iterator[VectorRow]:
    """Yields the documents of a node's chunks, one for each window, which has a vector of its own.

    Only the first window carries the tokens, so that a word counts once.
    """
    ancestors = ancestor_keys(claim.json_pointer)
    for chunk, windows, known in chunks:
        names = window_ids(chunk.doc_id, chunk.window_count)
        for number, (name, vector) in enumerate(zip(names, windows, strict=True)):
            with_tokens = number == 0 and claim.config.storage == "full"
            yield VectorRow(
                id=name,
                vector=vector,
                tokens=known.tokens if with_tokens else None,
                ancestors=ancestors,
                table_id=claim.table_id,
                chunk_id=chunk.id,
                json_pointer=claim.json_pointer,
                updated_at=updated_at,
            )
