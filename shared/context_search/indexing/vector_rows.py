"""From a string to vector rows: its chunks, their vectors, and what keyword search gets of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import repeat

from context_search.budgets.spending import Spending
from context_search.core.config import IndexConfig
from context_search.core.errors import VectorStoreError
from context_search.core.ids import ancestor_keys, window_ids
from context_search.core.model import Claim, EmbeddedChunk, PlannedChunk, StoredChunk
from context_search.indexing.rules.chunks import ChunkTokens, Unkeyed
from context_search.integrations.ports import Embedder, VectorRow, VectorStore
from context_search.store import Store
from context_search.text.chunking import Span, chunk_spans, window_texts
from context_search.text.keywords import keyword_tokens, trails

Vectors = list[Sequence[float]]
# Providers refuse empty input, and a long run of white space is a chunk like any other.
BLANK = "(blank)"


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


def input_hash(text: str, config: IndexConfig, passage_key: str = "") -> bytes:
    """Returns what a chunk's vectors depend on: model, dimensions, precision, windows and text.

    And the model's parameters, as ``passage_key`` of its embedder. Precision counts, because
    vectors are read back from turbopuffer.
    """
    numbers = f"{config.dimensions} {config.precision} {passage_key}"
    model = f"{config.model}\n{numbers}\n{config.window_tokens}\n"
    return hashlib.sha256((model + text).encode()).digest()


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Every chunk's vectors, one per window."""

    store: Store
    vectors: VectorStore
    embedder_of: Callable[[IndexConfig], Embedder]
    timeout_s: float
    spending: Spending

    def passage_key(self, config: IndexConfig) -> str:
        """Returns what ``input_hash`` takes of the embedder of an index."""
        return self.embedder_of(config).passage_key

    def of(
        self, claims: Sequence[Claim], batch: Sequence[StoredChunk]
    ) -> tuple[list[Vectors], int]:
        """Returns the vectors in the order of the batch, and how many chunks were embedded.

        Chunks with the same text are one. ``claims``: whose they are, of one generation. Raises
        EmbeddingLimitError, and what the embedder raises.
        """
        known = self._read_back(claims, batch)
        new = {chunk.input_hash: chunk for chunk in batch if chunk.input_hash not in known}
        known |= self._embed(claims[0], list(new.values()))
        return [known[chunk.input_hash] for chunk in batch], len(new)

    def _read_back(
        self, claims: Sequence[Claim], batch: Sequence[StoredChunk]
    ) -> dict[bytes, Vectors]:
        with self.store.for_all("handle a message") as work:
            twins = work.chunks.embedded(claims, [chunk.input_hash for chunk in batch])
        found: dict[bytes, Vectors] = {}
        for namespace in sorted({twin.namespace for twin in twins}):
            found |= self._read_namespace(
                namespace, [twin for twin in twins if twin.namespace == namespace]
            )
        return found

    def _read_namespace(
        self, namespace: str, twins: Sequence[EmbeddedChunk]
    ) -> dict[bytes, Vectors]:
        ids = [name for twin in twins for name in window_ids(twin.doc_id, twin.window_count)]
        try:
            stored = self.vectors.vectors(namespace, ids)
        except VectorStoreError:
            return {}  # embedding again costs money, failing would cost the update
        return {
            twin.input_hash: [stored[name] for name in window_ids(twin.doc_id, twin.window_count)]
            for twin in twins
            if all(name in stored for name in window_ids(twin.doc_id, twin.window_count))
        }

    def _embed(self, claim: Claim, chunks: Sequence[StoredChunk]) -> dict[bytes, Vectors]:
        if not chunks:
            return {}
        config = claim.config
        windows = [_windows(chunk, config) for chunk in chunks]
        # Each distinct one once, in order: dict.fromkeys.
        texts = list(dict.fromkeys(_input(text) for pieces in windows for text in pieces))
        self.spending.embed(claim.index_id, texts)
        embedder = self.embedder_of(config)
        vectors = embedder.embed_passages(texts, timeout_s=self.timeout_s)
        of_text = dict(zip(texts, vectors, strict=True))
        return {
            chunk.input_hash: [of_text[_input(text)] for text in pieces]
            for chunk, pieces in zip(chunks, windows, strict=True)
        }


def _windows(chunk: StoredChunk, config: IndexConfig) -> list[str]:
    """Returns the texts of a chunk's windows; its row says of most that they have one."""
    return (
        [chunk.text] if chunk.window_count == 1 else window_texts(chunk.text, config.window_tokens)
    )


def _input(text: str) -> str:
    return text if text.strip() else BLANK


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
