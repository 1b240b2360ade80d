"""Finds out what an index is worth, without judged questions: the message ``calibrate``.

Whatever fails leaves the index as it was, and the message comes again. What costs money comes last.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from context_search.budgets.shares import exclusive
from context_search.core.config import IndexConfig
from context_search.core.errors import EmbeddingDimensionMismatchError, EmbeddingRejectedError
from context_search.core.ids import scope_key, window_ids
from context_search.core.messages import CalibrateIndex
from context_search.core.model import Index, IndexCalibration
from context_search.indexing.completion import LEAST_CHUNKS, is_due
from context_search.indexing.node_report import RetryLater
from context_search.indexing.rules.indexes import SampledRow, Size
from context_search.integrations.ports import Clock, Deadline, Embedder, VectorQuery, VectorStore
from context_search.ranking.calibration import (
    LEAST_QUESTIONS,
    Cloze,
    EmbeddedCloze,
    Sample,
    SampledChunk,
    Vector,
    best_weight,
    cloze,
    null_calibration,
)
from context_search.ranking.unanswered import UNANSWERED
from context_search.store import Store
from context_search.text.chunking import estimated_tokens, window_texts

SAMPLE = 500
MOST_WINDOWS = 2_000
"""Most chunks, and windows of them, whose vectors are compared."""
QUESTIONS = 60
"""Most sentences that are asked. Each is embedded, and once what it was taken out of."""
READ_AT_ONCE = 250
QUERY_S = 5.0
RESERVE_S = 60.0
"""Least time, in seconds, that is left when it begins."""
BUSY_S = 60.0


def estimated_cost(size: Size, tokens: int) -> int:
    """Returns about how many tokens it takes at most, of an index that takes ``tokens`` itself.

    A sentence and what is left of its window are together no more than their chunk.
    """
    if size.chunks < LEAST_CHUNKS:
        return 0
    asked = min(QUESTIONS, size.chunks)
    return asked * -(-tokens // size.chunks) + sum(map(estimated_tokens, UNANSWERED))


def hash_of_questions(query_key: str) -> bytes:
    """Returns what the vectors of ``UNANSWERED`` depend on beside model and dimensions."""
    return hashlib.sha256("\n".join([query_key, *UNANSWERED]).encode()).digest()


@dataclass(frozen=True, slots=True)
class Calibrator:
    """Safe to repeat and to be killed anywhere; of two at once, one comes again later.

    One run embeds at most twice ``QUESTIONS`` texts. Of a model that is new, one run embeds the
    questions that no index answers, and the next one goes on.
    """

    store: Store
    vectors: VectorStore
    embedder_of: Callable[[IndexConfig], Embedder]
    clock: Clock
    timeout_s: float
    least_chunks: int = LEAST_CHUNKS

    def run(self, index_id: int, generation_id: int, deadline: Deadline) -> str:
        """Returns what was done. Raises RetryLater, and what a part outside raises."""
        due = self._due(index_id, generation_id)
        if due is None:
            return "nothing_to_do"
        if deadline.left_s() < RESERVE_S:
            raise RetryLater(1.0)
        index, _ = due
        pool, lease_s = f"calibration of {generation_id}", deadline.left_s()
        with exclusive(self.store, index.project_id, pool, lease_s=lease_s) as has_it:
            if not has_it:
                raise RetryLater(BUSY_S)
            due = self._due(index_id, generation_id)  # another worker may just have done it
            return "nothing_to_do" if due is None else self.calibrate(*due)

    def _due(self, index_id: int, generation_id: int) -> tuple[Index, int] | None:
        """Returns the index and how many chunks it has, if it is to be calibrated."""
        with self.store.for_all("handle a message") as work:
            index = work.indexes.find(index_id)
            if index is None or index.generation.id != generation_id:
                return None
            if not is_due(work, index, self.least_chunks):
                return None
            return index, work.indexes.chunk_count(index)

    def calibrate(self, index: Index, chunks: int) -> str:
        """Calibrates an index, due or not. Only one worker at a time may do so."""
        config = index.config
        questions = hash_of_questions(self.embedder_of(config).query_key)
        with self.store.for_all("handle a message") as work:
            asked = work.indexes.asked_vectors(config.model, config.dimensions, questions)
            rows = work.indexes.sample(index, limit=SAMPLE)
        if not asked:
            self._embed_unanswered(index)
            return "questions_embedded"
        cosines = [best for vector in asked for best in self._best(index, vector)]
        if not cosines:
            return "nothing_to_do"
        null = null_calibration(cosines, config.model)
        gains = self._gains(index, rows)
        found = IndexCalibration(
            vector_weight=best_weight(gains, config.model),
            middle=null.middle,
            width=null.width,
            questions=len(gains),
            chunks=chunks,
            at=self.clock.now(),
        )
        with self.store.for_all("handle a message") as work:
            return "calibrated" if work.indexes.note_calibration(index, found) else "nothing_to_do"

    def _embed_unanswered(self, index: Index) -> None:
        """Keeps their vectors for every index of the model, and has the message come again."""
        config, embedder = index.config, self.embedder_of(index.config)
        questions = hash_of_questions(embedder.query_key)
        vectors = embedder.embed_queries(UNANSWERED, timeout_s=self.timeout_s)
        if not all(map(any, vectors)):  # kept, they would calibrate every index of the model
            raise EmbeddingDimensionMismatchError("the vector of a question is zero")
        with self.store.for_all("handle a message") as work:
            work.indexes.keep_asked_vectors(config.model, config.dimensions, questions, vectors)
            work.send(CalibrateIndex(index.id, index.generation.id))

    def _best(self, index: Index, question: Vector) -> Iterator[float]:
        query = VectorQuery(scope_key(""), question, tokens=None, limit=1)
        legs = self.vectors.query(index.generation.namespace, query, timeout_s=QUERY_S)
        yield from (row.score for row in legs.vector or ())

    def _gains(self, index: Index, rows: Sequence[SampledRow]) -> list[list[float]]:
        """Returns what each weight gains for each sentence; nothing where they are too few, or
        the provider refuses one.
        """
        chunks = self._read_back(index, rows)
        asked = list[tuple[SampledChunk, Cloze]]()
        for chunk in chunks:
            windows = window_texts(chunk.text, index.config.window_tokens)
            found = cloze(windows, index.config.chunk_overlap)
            if found is not None and len(windows) == len(chunk.vectors):
                asked.append((chunk, found))
        del asked[QUESTIONS:]
        if len(asked) < LEAST_QUESTIONS:
            return []
        embedder = self.embedder_of(index.config)
        try:
            questions = embedder.embed_queries(
                [each.question for _, each in asked], timeout_s=self.timeout_s
            )
            passages = embedder.embed_passages(
                [each.passage for _, each in asked], timeout_s=self.timeout_s
            )
        except EmbeddingRejectedError:
            return []  # it would be refused again, and what is not refused paid for each time
        sample = Sample(chunks)
        pairs = zip(asked, questions, passages, strict=True)
        return [
            sample.gains(EmbeddedCloze(*each, question, rest)) for each, question, rest in pairs
        ]

    def _read_back(self, index: Index, rows: Sequence[SampledRow]) -> list[SampledChunk]:
        """Returns the sampled chunks that turbopuffer has, as far as their windows are not too
        many.
        """
        names = {row.doc_id: window_ids(row.doc_id, row.window_count) for row in rows}
        wanted = [name for each in names.values() for name in each][:MOST_WINDOWS]
        stored: dict[str, Vector] = {}
        for first in range(0, len(wanted), READ_AT_ONCE):
            some = wanted[first : first + READ_AT_ONCE]
            read = self.vectors.vectors(index.generation.namespace, some)
            stored |= {name: array("f", vector) for name, vector in read.items()}
        return [
            SampledChunk(
                row.text,
                (row.table_id, row.json_pointer),
                row.index,
                [stored[name] for name in names[row.doc_id]],
            )
            for row in rows
            if all(name in stored for name in names[row.doc_id])
        ]
