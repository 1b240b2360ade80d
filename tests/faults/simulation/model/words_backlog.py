"""Words that are written later, in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from context_search.core.documents import text_of_chunks
from context_search.core.model import Generation, Index
from context_search.indexing.rules.words_backlog import (
    TEXTS_ABOVE,
    WORDS_WAIT_S,
    Unkeyed,
    UnkeyedChunk,
)
from context_search.indexing.sql.words_backlog import WordsBacklog
from context_search.maintenance.rules.schedule import CleanupLimits
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import ChunkRow, GenerationRow
from tests.faults.simulation.model.schedule import Times


class MemoryWordsBacklog(Model, WordsBacklog):
    """``WordsBacklog`` over rows in memory."""

    def due_at(self, _: CleanupLimits) -> Times:
        """At once while words of an active generation are missing."""
        for set_id in self.rows.words_backlog:
            node = self.rows.nodes[self.rows.sets[set_id].node_id]
            if self.rows.generations[node.generation_id].state == "active":
                yield self.clock.now()

    def note(self, set_ids: Sequence[int]) -> None:
        for set_id in set(set_ids) & set(self.rows.sets):
            self.rows.words_backlog.setdefault(set_id, self.clock.now())

    def is_behind(self, index: Index) -> bool:
        return bool(self._of(index.generation))

    def take(self, *, limit: int, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
        taken: list[Unkeyed] = []
        before = self.clock.now() - timedelta(seconds=wait_s)
        for set_id in list(self.rows.words_backlog):
            if self._waits(set_id, before):
                continue
            chunks = sorted(self._chunks(set_id), key=lambda row: row.index)
            missing = [row for row in chunks if row.tokens is None]
            some = [row for row in missing[:limit] if row.index < missing[0].index + TEXTS_ABOVE]
            limit -= len(some)
            if some:
                taken.append(_unkeyed(chunks, some))
            if len(some) == len(missing):
                del self.rows.words_backlog[set_id]
        return taken

    def _waits(self, set_id: int, before: datetime) -> bool:
        generation = self._generation(set_id)
        if generation.state != "active" or generation.index_id is None:
            return True
        oldest = min(self.rows.words_backlog[each] for each in self._of(generation))
        return oldest >= before and self._is_busy(self.rows.indexes[generation.index_id].project_id)

    def _is_busy(self, project_id: int) -> bool:
        return any(
            node.state in ("queued", "claimed") and self._project(node.generation_id) == project_id
            for node in self.rows.nodes.values()
        )

    def _project(self, generation_id: int) -> int | None:
        index_id = self.rows.generations[generation_id].index_id
        return None if index_id is None else self.rows.indexes[index_id].project_id

    def _of(self, generation: GenerationRow | Generation) -> list[int]:
        return [
            each for each in self.rows.words_backlog if self._generation(each).id == generation.id
        ]

    def _generation(self, set_id: int) -> GenerationRow:
        node = self.rows.nodes[self.rows.sets[set_id].node_id]
        return self.rows.generations[node.generation_id]

    def _chunks(self, set_id: int) -> Iterator[ChunkRow]:
        return (row for row in self.rows.chunks.values() if row.set_id == set_id)


def _unkeyed(chunks: Sequence[ChunkRow], missing: Sequence[ChunkRow]) -> Unkeyed:
    first, last = missing[0].index, missing[-1].index
    around = [row for row in chunks if first - TEXTS_ABOVE <= row.index <= last]
    begin = around[0].start
    return Unkeyed(
        text_of_chunks((row.start - begin, row.text) for row in around),
        [UnkeyedChunk(row.id, row.start - begin, row.end - begin) for row in missing],
    )
