"""What turbopuffer and keyword search get of a chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from context_search.domain.analysis import tokens
from context_search.domain.ids import ancestor_keys, window_ids
from context_search.domain.model import Claim, StoredChunk
from context_search.ports.keywords import ChunkTokens, Unkeyed
from context_search.ports.vectors import VectorDocument
from context_search.services.chunk_vectors import Vectors


def chunk_tokens(chunks: Iterable[StoredChunk | Unkeyed]) -> list[ChunkTokens]:
    """Returns what keyword search knows of chunks."""
    return [ChunkTokens(chunk.id, tokens(chunk.text)) for chunk in chunks]


def chunk_documents(
    claim: Claim,
    set_id: int,
    batch: Sequence[StoredChunk],
    vectors: Sequence[Vectors],
    keyed: Sequence[ChunkTokens],
    updated_at: datetime,
) -> Iterator[VectorDocument]:
    """Yields the documents of chunks, one for each window; ``vectors`` has theirs for each chunk.

    Only the first window carries the tokens, so that a word counts once.
    """
    ancestors = ancestor_keys(claim.json_pointer)
    for chunk, windows, known in zip(batch, vectors, keyed, strict=True):
        names = window_ids(chunk.doc_id, chunk.window_count)
        for number, (name, vector) in enumerate(zip(names, windows, strict=True)):
            with_tokens = number == 0 and claim.config.storage == "full"
            yield VectorDocument(
                id=name,
                vector=vector,
                tokens=known.tokens if with_tokens else None,
                ancestors=ancestors,
                table_id=claim.table_id,
                set_id=set_id,
                chunk_id=chunk.id,
                json_pointer=claim.json_pointer,
                chunk_index=chunk.index,
                total_chunks=chunk.total,
                content_hash=claim.content_hash,
                updated_at=updated_at,
            )
