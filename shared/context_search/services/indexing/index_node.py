"""Indexes one big string: claim, chunk, embed, upsert, swap. docs/consistency.md has the reasons.

Rows that name the vectors come first, so no document is ever unknown; a chunk counts as present
only after a definite yes; the old version answers until the new one is complete and still wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from context_search.domain.errors import (
    AttemptsExhaustedError,
    ContextSearchError,
    LeaseLostError,
)
from context_search.domain.limits import ProjectLimits
from context_search.domain.model import ChunkSet, Claim, StoredChunk
from context_search.domain.orders import IndexNodes
from context_search.ports.outside import Clock, Deadline, VectorStore
from context_search.ports.store import Store
from context_search.services.indexing.chunk_documents import (
    chunk_documents,
    chunk_tokens,
    chunk_trails,
    plan,
)
from context_search.services.indexing.chunk_vectors import ChunkVectors
from context_search.services.indexing.evict import no_room
from context_search.services.indexing.node_report import (
    NodeReport,
    NodeRun,
    Outcome,
    RetryLater,
    error_record,
    is_passing,
    pause_s,
)
from context_search.services.indexing.settle import Settler


@dataclass(frozen=True, slots=True)
class IndexLimits:
    """How long a worker owns a node, how often it fails in vain, chunks a batch, room a project.

    ``turn_s`` is how long a string is worked on while other projects wait: its rows are written,
    or a batch of its chunks is indexed, in every turn.
    ``batch_nodes`` small strings go together, each ``attempts_together`` times at most: what then
    still fails is tried alone, so that it is known which one it is.
    """

    lease_s: float = 90.0
    max_attempts: int = 8
    batch_reserve_s: float = 60.0
    turn_s: float = 10.0
    batch_chunks: int = 200
    batch_nodes: int = 500
    attempts_together: int = 4
    project: ProjectLimits = field(default_factory=ProjectLimits)


@dataclass(frozen=True, slots=True)
class IndexNode:
    """The order ``node``. Safe to repeat, to run twice at once, and to be killed anywhere."""

    store: Store
    vectors: VectorStore
    chunk_vectors: ChunkVectors
    settler: Settler
    clock: Clock
    limits: IndexLimits

    def __call__(self, node_id: int, deadline: Deadline) -> NodeReport:
        """Returns what became of the node; what failed for good is recorded on it, not raised.

        Raises RetryLater when the message should come again.
        """
        claim = self._claim(node_id)
        return NodeReport("nothing_to_do") if claim is None else self.carry_on(claim, deadline)

    def carry_on(self, claim: Claim, deadline: Deadline) -> NodeReport:
        """Does the same with a node that is claimed already."""
        run = NodeRun(claim, self.clock)
        if claim.attempt > self.limits.max_attempts:  # its workers die before they can say why
            return self._failed(run, AttemptsExhaustedError("no run got anywhere"))
        try:
            return run.report(self._index(run, deadline))
        except ContextSearchError as error:
            with suppress(LeaseLostError):  # another worker has the node by now, or it is gone
                return self._failed(run, error)
            return run.report("nothing_to_do")
        except Exception:
            unexpected = ContextSearchError("an unexpected error, see the log")
            with suppress(RetryLater, ContextSearchError):
                self._failed(run, unexpected, final=False)
            raise

    def _claim(self, node_id: int) -> Claim | None:
        with self.store.for_all("carry out an order") as work:
            claim = work.nodes.claim(node_id, lease_s=self.limits.lease_s)
            due_in_s = None if claim else work.nodes.due_in(node_id)
        if due_in_s is not None:
            raise RetryLater(due_in_s)
        return claim

    def _index(self, run: NodeRun, deadline: Deadline) -> Outcome:
        claim, turn_ends = run.claim, self.clock.monotonic() + self.limits.turn_s
        with run.stage("chunking"):
            chunk_set = self._begin(claim)
        if chunk_set is None:
            return self._done(claim, "skipped")
        run.chunks = len(chunk_set.chunks) if chunk_set.is_new else 0
        missing = chunk_set.missing
        run.trails = chunk_trails(claim) if missing else []
        size = self.limits.batch_chunks
        for first in range(0, len(missing), size):
            progressed = first > 0 or chunk_set.is_new
            if self._is_late(deadline, first) or (progressed and self._gives_way(claim, turn_ends)):
                return self._hand_over(claim, progressed=progressed)
            self._write_batch(run, chunk_set, missing[first : first + size])
        with run.stage("swap"), self.store.for_all("carry out an order") as work:
            work.nodes.hold(claim, lease_s=self.limits.lease_s)
            activated = work.chunks.activate([(claim, chunk_set.id)])
        if not activated:
            return self._hand_over(claim, progressed=True)
        return self._done(claim, "indexed")

    def _done(self, claim: Claim, outcome: Outcome) -> Outcome:
        with suppress(ContextSearchError):  # the node is done; cleanup settles again
            self.settler.settle(claim.index_id)
        return outcome

    def _begin(self, claim: Claim) -> ChunkSet | None:
        """Writes the rows of the chunks; None when the node has to wait for room."""
        planned = plan(claim)
        with self.store.for_all("carry out an order") as work:
            work.nodes.hold(claim, lease_s=self.limits.lease_s)
            reason = no_room(work, {claim: planned}, self.limits.project)
            if reason is None:
                [chunk_set] = work.chunks.begin_sets([(claim, planned)])
                return chunk_set
            work.nodes.skip(claim, {**reason, "at": self.clock.now().isoformat()})
            work.tools.mark_unsettled(claim.index_id)
            return None

    def _write_batch(self, run: NodeRun, chunk_set: ChunkSet, batch: Sequence[StoredChunk]) -> None:
        claim = run.claim
        with run.stage("embedding"):
            vectors, embedded = self.chunk_vectors.of(claim, batch)
        run.embedded += embedded
        run.reused += len(batch) - embedded
        keyed = chunk_tokens(batch, [run.trails[chunk.index] for chunk in batch])
        now = self.clock.now()
        documents = list(chunk_documents(claim, chunk_set.id, batch, vectors, keyed, now))
        with run.stage("upload"):
            self.vectors.upsert(claim.namespace, documents, config=claim.config)
        with self.store.for_all("carry out an order") as work:
            work.nodes.hold(claim, lease_s=self.limits.lease_s)
            work.chunks.mark_present(chunk_set.id, [chunk.index for chunk in batch])
            work.keywords.put(keyed)

    def _is_late(self, deadline: Deadline, first: int) -> bool:
        """The first batch may take half of the reserve: a run that does none was in vain."""
        reserve_s = self.limits.batch_reserve_s
        return deadline.left_s() < (reserve_s if first else reserve_s / 2)

    def _gives_way(self, claim: Claim, turn_ends: float) -> bool:
        """A worker leaves a long string after its turn, when other projects wait for one."""
        if self.clock.monotonic() < turn_ends:
            return False
        with self.store.for_all("carry out an order") as work:
            return work.outbox.has_neighbours(claim.table_id)

    def _hand_over(self, claim: Claim, *, progressed: bool) -> Outcome:
        with self.store.for_all("carry out an order") as work:
            work.nodes.release(claim, retry_in_s=0, error=None, progressed=progressed)
            work.send(IndexNodes((claim.node_id,)))
        return "handed_over"

    def _failed(
        self, run: NodeRun, error: ContextSearchError, *, final: bool | None = None
    ) -> NodeReport:
        claim = run.claim
        if final is None:
            final = not is_passing(error) or claim.attempt >= self.limits.max_attempts
        retry_in_s = pause_s(error, claim.attempt)
        record = error_record(error, self.clock.now(), retryable=not final)
        with self.store.for_all("carry out an order") as work:
            if final:
                work.nodes.quarantine(claim, record)
                work.tools.mark_unsettled(claim.index_id)
            else:
                work.nodes.release(claim, retry_in_s=retry_in_s, error=record, progressed=False)
        if final:
            return run.report("quarantined", error)
        raise RetryLater(retry_in_s, run.report("retried", error)) from error
