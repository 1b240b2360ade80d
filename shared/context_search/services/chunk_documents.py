"""What turbopuffer gets of a chunk: one document for each window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from context_search.domain.analysis import tokens
from context_search.domain.ids import ancestor_keys, window_ids
from context_search.domain.model import Claim, StoredChunk
from context_search.ports.vectors import VectorDocument
from context_search.services.chunk_vectors import Vectors


def chunk_documents(
    claim: Claim,
    set_id: int,
    batch: Sequence[StoredChunk],
    vectors: Sequence[Vectors],
    updated_at: datetime,
) -> Iterator[VectorDocument]:
    """Yields the documents of chunks; ``vectors`` has one per window for each chunk.

    Only the first window carries the tokens, so that a word counts once.
    """
    ancestors = ancestor_keys(claim.json_pointer)
    for chunk, windows in zip(batch, vectors, strict=True):
        names = window_ids(chunk.doc_id, chunk.window_count)
        for number, (name, vector) in enumerate(zip(names, windows, strict=True)):
            with_tokens = number == 0 and claim.config.storage == "full"
            yield VectorDocument(
                id=name,
                vector=vector,
                tokens=tokens(chunk.text) if with_tokens else None,
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
