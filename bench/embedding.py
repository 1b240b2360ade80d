"""How fast the local stack embeds: ``python -m bench.embedding`` (about 20 s).

Passages are chunks of 1,000 characters through ``LitellmEmbedder``, as the indexing worker sends
them. Cold means that the table of token features does not know the words yet.
"""

from __future__ import annotations

import os
import platform
import pydoc_data.topics
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from context_search.integrations.models.litellm_embedder import LitellmEmbedder
from local.blas import limit_blas_threads
from local.embedding import (
    DIMENSIONS,
    MODEL,
    PASSAGE_PARAMS,
    QUERY_PARAMS,
    register,
)

CHUNK_CHARS = 1_000
CHUNKS = 500
ROUNDS = 5
QUERIES = 200
QUERY_CHARS = 60
TIMEOUT_S = 600


def english_chunks() -> list[str]:
    """Python's own documentation."""
    return _cut("\n".join(pydoc_data.topics.topics.values()))


def chinese_chunks() -> list[str]:
    """Words of the model's vocabulary, drawn by Zipf's law in its order, which is frequency's."""
    from sentencepiece import SentencePieceProcessor  # noqa: PLC0415 after limit_blas_threads

    from local.embedding.encoder import MODEL_FILES  # noqa: PLC0415 after limit_blas_threads

    pieces = SentencePieceProcessor(model_file=str(MODEL_FILES / "sp.model"))
    words = [pieces.id_to_piece(i).strip("▁") for i in range(pieces.vocab_size())]
    words = [word for word in words if word and all("一" <= c <= "鿿" for c in word)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    drawn = random.Random(7).choices(words, weights, k=CHUNKS * CHUNK_CHARS)
    return _cut("".join(drawn))


def _cut(text: str) -> list[str]:
    return [text[i : i + CHUNK_CHARS] for i in range(0, CHUNKS * CHUNK_CHARS, CHUNK_CHARS)]


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _report(name: str, chunks: list[str], embedder: LitellmEmbedder) -> None:
    from local.embedding.provider import shared_encoder  # noqa: PLC0415 after limit_blas_threads

    def through_litellm() -> None:
        embedder.embed_passages(chunks, timeout_s=TIMEOUT_S)

    def encoder_alone() -> None:
        for first in range(0, len(chunks), 100):
            shared_encoder().encode_passages(chunks[first : first + 100])

    def two_threads() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: through_litellm(), range(2)))

    cold = _seconds(through_litellm)
    warm = min(_seconds(through_litellm) for _ in range(ROUNDS))
    alone = min(_seconds(encoder_alone) for _ in range(ROUNDS))
    paired = min(_seconds(two_threads) for _ in range(ROUNDS)) / 2
    print(
        f"{name}: cold {len(chunks) / cold:,.0f} chunks/s, warm {len(chunks) / warm:,.0f}, "
        f"warm with two threads {len(chunks) / paired:,.0f}; "
        f"litellm's share of the warm time {1 - alone / warm:.0%}"
    )


def _report_queries(name: str, chunks: list[str], embedder: LitellmEmbedder) -> None:
    questions = iter([chunk[:QUERY_CHARS] for chunk in chunks[:QUERIES]])

    def ask() -> None:
        embedder.embed_query(next(questions), timeout_s=TIMEOUT_S)

    times = sorted(_seconds(ask) for _ in range(QUERIES))
    p50, p95 = times[len(times) // 2], times[len(times) * 95 // 100]
    print(
        f"{name} queries of {QUERY_CHARS} characters: "
        f"p50 {p50 * 1e3:.1f} ms, p95 {p95 * 1e3:.1f} ms"
    )


def main() -> None:
    """Print the figures with the machine they were measured on."""
    limit_blas_threads()
    embedder = LitellmEmbedder(
        MODEL,
        DIMENSIONS,
        query_params=QUERY_PARAMS,
        passage_params=PASSAGE_PARAMS,
        prepare=register,
    )
    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"load {load:.1f}"
    )
    print(f"import of litellm: {_seconds(embedder.warm_up):.1f} s")
    first = _seconds(lambda: embedder.embed_query("first", timeout_s=TIMEOUT_S))
    print(f"load of the model with the first query: {first:.1f} s")
    for name, chunks in (("English", english_chunks()), ("Chinese", chinese_chunks())):
        _report(name, chunks, embedder)
        _report_queries(name, chunks, embedder)


if __name__ == "__main__":
    main()
