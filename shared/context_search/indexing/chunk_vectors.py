"""The vectors of chunks: read back where the same text was embedded before, embedded otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from context_search.budgets.spending import Spending
from context_search.core.config import IndexConfig
from context_search.core.errors import VectorStoreError
from context_search.core.ids import window_ids
from context_search.core.model import Claim, EmbeddedChunk, StoredChunk
from context_search.integrations.ports import Embedder, VectorStore
from context_search.store import Store
from context_search.text.chunking import window_texts

Vectors = list[Sequence[float]]
# Providers refuse empty input, and a long run of white space is a chunk like any other.
BLANK = "(blank)"


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
