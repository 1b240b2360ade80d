"""Calibrations in Postgres."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from context_search.core.model import Index, IndexCalibration
from context_search.indexing.rules.calibrations import SampledRow
from context_search.postgres.pool import Transaction

_SPARE = 4
"""How many times as many chunks are looked at as are wanted: some are of sets that do not answer,
some have the same text.
"""
_HASHES = 2**64
# A large index is not read as a whole: hashes are spread evenly, so the least ones lie below a
# bound that is known beforehand, and an index finds them.
_SAMPLE = """
    SELECT DISTINCT ON (chunks.input_hash) chunks.chunk_text, chunks.table_id, chunks.json_pointer,
           chunks.chunk_index, chunks.turbopuffer_doc_id, chunks.window_count
    FROM chunks JOIN chunk_set ON chunk_set.id = chunks.set_id
    JOIN node ON node.id = chunk_set.node_id AND node.active_set_id = chunks.set_id
    WHERE chunks.turbopuffer_namespace = :namespace AND chunks.present
      AND chunks.input_hash < CAST(:below AS bytea)
    ORDER BY chunks.input_hash, chunks.json_pointer COLLATE "C", chunks.chunk_index, chunks.id
    LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class Calibrations:
    """What generations were found to be worth, and what that takes.

    What was found is read with the index, in ``Generation.calibration``.
    """

    tx: Transaction

    def chunks(self, index: Index) -> int:
        """Returns how many chunks a generation holds, those on the way included; cheap."""
        [[chunks]] = self.tx.run(
            """
            SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM chunk_tally
            WHERE namespace = :namespace
            """,
            namespace=index.generation.namespace,
        )
        return int(chunks)

    def sample(self, index: Index, *, limit: int) -> list[SampledRow]:
        """Returns up to ``limit`` chunks of active sets, chosen and ordered by the hash of what
        was embedded: the same ones for equal content. Each text once.
        """
        share = _SPARE * limit / max(1, self.chunks(index))
        if share < 1:
            found = self._below(index, int(share * _HASHES).to_bytes(8, "big"), limit)
            if len(found) == limit:
                return found
        return self._below(index, b"\xff" * 33, limit)

    def _below(self, index: Index, bound: bytes, limit: int) -> list[SampledRow]:
        rows = self.tx.run(_SAMPLE, namespace=index.generation.namespace, below=bound, limit=limit)
        return [SampledRow(*row) for row in rows]

    def note(self, index: Index, found: IndexCalibration) -> bool:
        """Stores what was found; False when the generation does not answer any more."""
        noted = self.tx.execute(
            """
            UPDATE index_generation SET calibration = CAST(:found AS jsonb)
            WHERE id = :generation AND state = 'active'
            """,
            found=found.to_json(),
            generation=index.generation.id,
        )
        return noted > 0

    def asked(self, model: str, dimensions: int, questions: bytes) -> list[Sequence[float]]:
        """Returns the vectors that were kept for a model; none when none are.

        ``questions`` is a hash that stands for the list of questions, and for how it was embedded.
        """
        rows = self.tx.run(
            """
            SELECT vectors FROM asked_vectors WHERE model = :model
              AND dimensions = :dimensions AND questions = :questions
            """,
            model=model,
            dimensions=dimensions,
            questions=questions,
        )
        form = struct.Struct(f"<{dimensions}f")
        return [vector for [kept] in rows for vector in form.iter_unpack(kept)]

    def keep_asked(
        self, model: str, dimensions: int, questions: bytes, vectors: Sequence[Sequence[float]]
    ) -> None:
        """Keeps the vectors of questions, in f32; those of another list for the model go."""
        form = struct.Struct(f"<{dimensions}f")
        self.tx.run(
            """
            INSERT INTO asked_vectors (model, dimensions, questions, vectors)
            VALUES (:model, :dimensions, :questions, :vectors)
            ON CONFLICT (model, dimensions) DO UPDATE SET
                questions = excluded.questions, vectors = excluded.vectors
            """,
            model=model,
            dimensions=dimensions,
            questions=questions,
            vectors=b"".join(form.pack(*vector) for vector in vectors),
        )
