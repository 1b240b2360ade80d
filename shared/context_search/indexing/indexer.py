"""Indexes strings, one or many: claim, chunk, embed, upsert, swap; docs/consistency.md says why.

Rows that name the vectors come first, so no vector row is ever unknown; a chunk counts as present
only after a definite yes; the old version answers until the new one is complete and still wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby

from context_search.core.errors import (
    AttemptsExhaustedError,
    CommitUnknownError,
    ContextSearchError,
    LeaseLostError,
)
from context_search.core.limits import ProjectLimits, Usage
from context_search.core.messages import SMALL_STRING, IndexNodes
from context_search.core.model import ChunkSet, Claim, PlannedChunk, StoredChunk
from context_search.core.progress import PROJECT_FULL
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.node_report import (
    MAX_BACKOFF_S,
    NodeReport,
    Outcome,
    RetryLater,
    Stage,
)
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.indexing.vector_rows import (
    ChunkVectors,
    chunk_tokens,
    plan,
    vector_rows,
)
from context_search.integrations.ports import Clock, Deadline, VectorRow, VectorStore
from context_search.store import Store, UnitOfWork

Plans = Mapping[Claim, Sequence[PlannedChunk]]
Begun = Mapping[Claim, ChunkSet]
Batch = Sequence[tuple[Claim, StoredChunk]]


@dataclass(frozen=True, slots=True)
class IndexLimits:
    """Limits of one run: lease, attempts without progress, chunks in a batch, a project's room.

    ``turn_s``: how long strings are worked on while other projects wait. In every turn their rows
    are written, or a batch of their chunks is indexed. ``batch_nodes`` small strings go together,
    each at most ``attempts_together`` times. A string that still fails is tried alone, so that the
    cause is known.
    """

    lease_s: float = 90.0
    max_attempts: int = 8
    batch_reserve_s: float = 60.0
    turn_s: float = 10.0
    batch_chunks: int = 200
    batch_nodes: int = 500
    attempts_together: int = 4
    project: ProjectLimits = field(default_factory=ProjectLimits)


@dataclass(slots=True)
class NodeRun:
    """Claimed nodes of one generation under work, and what was done to them so far.

    ``left``: those that must be taken alone afterwards.
    """

    claims: Sequence[Claim]
    clock: Clock
    left: Sequence[Claim] = ()
    outcome: Outcome = "nothing_to_do"
    nodes: int = 0
    chunks: int = 0
    kept: int = 0
    embedded: int = 0
    reused: int = 0
    seconds: dict[Stage, float] = field(default_factory=dict)

    @property
    def is_alone(self) -> bool:
        """Says whether the run has one node, so that a failure is this node's."""
        return len(self.claims) == 1

    @property
    def written(self) -> int:
        """Returns how many chunks turbopuffer was given."""
        return self.embedded + self.reused

    @contextmanager
    def stage(self, name: Stage) -> Iterator[None]:
        """Adds the time that the block takes to a stage, also when it fails."""
        started = self.clock.monotonic()
        try:
            yield
        finally:
            spent = self.clock.monotonic() - started
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def report(self, error: ContextSearchError | None = None) -> NodeReport:
        """Returns what was done up to now."""
        return NodeReport(
            outcome=self.outcome,
            model=self.claims[0].config.model,
            chunks=self.chunks,
            kept=self.kept,
            embedded=self.embedded,
            reused=self.reused,
            seconds=dict(self.seconds),
            error=error,
            nodes=1 if self.is_alone else self.nodes,
        )


@dataclass(frozen=True, slots=True)
class Indexer:
    """Safe to repeat, to run twice at once, and to be killed anywhere.

    Small strings of one generation go together, also those of several tables: one call for the
    vectors, one upsert, one swap. A long one goes alone, in batches; so does one that something is
    wrong with, which therefore fails alone.
    """

    store: Store
    vectors: VectorStore
    chunk_vectors: ChunkVectors
    completion: IndexCompletion
    clock: Clock
    limits: IndexLimits

    def index(self, node_ids: Sequence[int], deadline: Deadline) -> Iterator[NodeReport]:
        """Yields what became of the nodes; what there is no time for is sent again.

        Raises at the end: RetryLater when nodes have to come again, or an unexpected error of one
        of them; the others are done by then.
        """
        if len(node_ids) == 1:
            yield self.index_one(node_ids[0], deadline)
            return
        failures, size = _Failures(), self.limits.batch_nodes
        for first in range(0, len(node_ids), size):
            if self._is_late(deadline):
                self._send_again(node_ids[first:])
                break
            yield from self._index_step(node_ids[first : first + size], deadline, failures)
        failures.raise_first()

    def index_one(self, node_id: int, deadline: Deadline) -> NodeReport:
        """Returns what became of a node; what failed for good is recorded on it, not raised.

        Raises RetryLater when the message should come again.
        """
        with self.store.for_all("handle a message") as work:
            claim = work.nodes.claim(node_id, lease_s=self.limits.lease_s)
            due_in_s = None if claim else work.nodes.due_in(node_id)
        if due_in_s is not None:
            raise RetryLater(due_in_s)
        if claim is None:
            return NodeReport("nothing_to_do")
        return self.carry_on(NodeRun([claim], self.clock), deadline)

    def _index_step(
        self, node_ids: Sequence[int], deadline: Deadline, failures: _Failures
    ) -> Iterator[NodeReport]:
        claims, alone = self._claim(node_ids)
        together = [NodeRun(group, self.clock) for group in _groups(claims)]
        yield from failures.reports([partial(self.carry_on, run, deadline) for run in together])
        apart = [NodeRun([claim], self.clock) for run in together for claim in run.left]
        yield from failures.reports([partial(self.carry_on, run, deadline) for run in apart])
        for position, node_id in enumerate(alone):
            if self._is_late(deadline):
                self._send_again(alone[position:])
                break
            yield from failures.reports([partial(self.index_one, node_id, deadline)])

    def _claim(self, node_ids: Sequence[int]) -> tuple[list[Claim], list[int]]:
        """Returns what goes together, and what has to go alone: long, failing, or not due yet."""
        with self.store.for_all("handle a message") as work:
            claims = work.nodes.claim_many(
                node_ids,
                max_chars=SMALL_STRING,
                max_attempts=self.limits.attempts_together,
                lease_s=self.limits.lease_s,
            )
            taken = {claim.node_id for claim in claims}
            others = [node_id for node_id in node_ids if node_id not in taken]
            return claims, work.nodes.unfinished(others)

    def carry_on(self, run: NodeRun, deadline: Deadline) -> NodeReport:
        """Indexes claimed nodes. ``run.left`` has those that must be taken alone afterwards.

        Raises RetryLater when the message should come again, for all of them.
        """
        try:
            run.left = self._index(run, deadline)
        except ContextSearchError as error:
            if run.is_alone or _is_passing(error):
                return self._failed(run, error)
            run.left = run.claims
        except Exception:
            if run.is_alone:
                unexpected = ContextSearchError("an unexpected error, see the log")
                with suppress(RetryLater, ContextSearchError):
                    self._failed(run, unexpected, may_be_final=False)
                raise
            run.left = run.claims  # it is raised again where it is known of which string
        if run.outcome in ("indexed", "skipped"):
            with suppress(ContextSearchError):  # the nodes are done; cleanup completes it
                self.completion.complete(run.claims[0].index_id)
        return run.report()

    def _index(self, run: NodeRun, deadline: Deadline) -> Sequence[Claim]:
        """Returns the claims that have to be taken one by one."""
        turn_ends = self.clock.monotonic() + self.limits.turn_s
        if max(claim.attempt for claim in run.claims) > self.limits.max_attempts:
            raise AttemptsExhaustedError("no run got anywhere")  # its workers die too early to say
        with run.stage("chunking"):
            key = self.chunk_vectors.passage_key(run.claims[0].config)
            plans = {claim: plan(claim, key) for claim in run.claims}
            begun = self._begin(run, plans)
        if not begun:
            return [] if run.is_alone else run.claims
        new = [each for each in begun.values() if each.is_new]
        run.kept = sum(len(each.kept) for each in new)
        run.chunks = sum(len(each.chunks) for each in new) - run.kept
        batches, progressed = self._batches(run, begun), bool(new)
        for number, batch in enumerate(batches, start=1):
            if batch and (
                self._gives_way(run, deadline, turn_ends, progressed=progressed)
                or (run.written and not self._are_needed(run))
            ):
                self._hand_over(run, progressed=progressed)
                return []
            keyed = self._upsert(run, plans, batch)
            is_last = number == len(batches)
            held, done = self._acknowledge(run, begun, batch, keyed, is_last=is_last)
            if not held:
                break
            progressed = True
        return self._swapped(run, held, done)

    def _begin(self, run: NodeRun, plans: Plans) -> Begun:
        """Writes the rows of the chunks; of none, when there may be no room for all."""
        with self.store.for_all("handle a message") as work:
            held = work.nodes.hold(run.claims, lease_s=self.limits.lease_s)
            if not held:
                return {}
            wanted = {claim: plans[claim] for claim in held}
            reason = _no_room(work, wanted, self.limits.project)
            if reason is None:
                sets = work.chunks.begin_sets(list(wanted.items()))
                return dict(zip(held, sets, strict=True))
            if run.is_alone:
                [claim] = held
                work.nodes.skip(claim, {**reason, "at": self.clock.now().isoformat()})
                work.tools.mark_incomplete(claim.index_id)
                run.outcome = "skipped"
        return {}

    def _batches(self, run: NodeRun, begun: Begun) -> list[Batch]:
        """Returns what turbopuffer lacks: what came in one message is one batch, and one at least.

        A long string has several, its lease renewed in between.
        """
        missing = [(claim, chunk) for claim, each in begun.items() for chunk in each.missing]
        if not run.is_alone:
            return [missing]
        size = self.limits.batch_chunks
        return [missing[first : first + size] for first in range(0, len(missing), size)] or [[]]

    def _upsert(self, run: NodeRun, plans: Plans, batch: Batch) -> list[ChunkTokens]:
        """Has turbopuffer acknowledge every chunk of a batch; returns their tokens."""
        if not batch:
            return []
        first, chunks = run.claims[0], [chunk for _, chunk in batch]
        with run.stage("embedding"):
            vectors, embedded = self.chunk_vectors.of(run.claims, chunks)
        run.embedded += embedded
        run.reused += len(batch) - embedded
        keyed = chunk_tokens(chunks, [plans[claim][chunk.index].trail for claim, chunk in batch])
        now, documents = self.clock.now(), list[VectorRow]()
        written = zip(batch, vectors, keyed, strict=True)
        for claim, group in groupby(written, key=lambda each: each[0][0]):
            own = [(chunk, found, tokens) for (_, chunk), found, tokens in group]
            documents += vector_rows(claim, own, now)
        with run.stage("upload"):
            self.vectors.upsert(first.namespace, documents, config=first.config)
        return keyed

    def _acknowledge(
        self,
        run: NodeRun,
        begun: Begun,
        batch: Batch,
        keyed: Sequence[ChunkTokens],
        *,
        is_last: bool,
    ) -> tuple[list[Claim], set[int]]:
        """Marks what turbopuffer has, and swaps when that is all.

        Returns the claims that still hold, and the nodes whose new text can be found from now on.
        """
        with run.stage("swap"), self.store.for_all("handle a message") as work:
            lease_s = self.limits.lease_s
            progressed = bool(batch) and not is_last  # of the last one the swap says so
            held = work.nodes.hold(list(begun), lease_s=lease_s, progressed=progressed)
            if not held:
                return [], set()
            ids = {claim.node_id for claim in held}
            acknowledged = [chunk.id for claim, chunk in batch if claim.node_id in ids]
            is_lean = held[0].config.storage == "lean"
            if is_lean:
                work.keywords.put(keyed)
            if not is_last:
                work.chunks.mark_present(acknowledged)
                return held, set()
            sets = [(claim, begun[claim]) for claim in held]
            done = work.chunks.activate(sets, acknowledged)
            if not is_lean:
                new = [each for claim, each in sets if claim.node_id in done and each.has_own]
                work.chunks.postpone_words([each.id for each in new])
            return held, done

    def _swapped(
        self, run: NodeRun, held: Sequence[Claim], done: Collection[int]
    ) -> Sequence[Claim]:
        if done:
            run.outcome, run.nodes = "indexed", len(done)
        elif held and run.is_alone:  # the text is another one by now
            self._hand_over(run, progressed=True)
        return [] if run.is_alone else [one for one in run.claims if one.node_id not in done]

    def _gives_way(
        self, run: NodeRun, deadline: Deadline, turn_ends: float, *, progressed: bool
    ) -> bool:
        """Says whether there is no time for another batch, or other projects wait after a turn.

        The first batch may use half of the reserve, so that every run makes progress.
        """
        share = 1.0 if run.written else 0.5
        if deadline.left_s() < self.limits.batch_reserve_s * share:
            return True
        if not progressed or self.clock.monotonic() < turn_ends:
            return False
        with self.store.for_all("handle a message") as work:
            return work.outbox.has_neighbours(run.claims[0].table_id)

    def _are_needed(self, run: NodeRun) -> bool:
        """Says whether a tool still needs one of the strings: a deleted one costs no more."""
        with self.store.for_all("handle a message") as work:
            return work.nodes.are_needed(run.claims)

    def _hand_over(self, run: NodeRun, *, progressed: bool) -> None:
        with self.store.for_all("handle a message") as work:
            released = work.nodes.release(
                run.claims, retry_in_s=0, error=None, progressed=progressed
            )
            if released:
                work.send(IndexNodes(tuple(claim.node_id for claim in released)))
                run.outcome, run.nodes = "handed_over", len(released)

    def _failed(
        self, run: NodeRun, error: ContextSearchError, *, may_be_final: bool = True
    ) -> NodeReport:
        """Gives the nodes back, or takes one that fails alone out of work for good."""
        attempt = max(claim.attempt for claim in run.claims)
        passes = _is_passing(error) and attempt < self.limits.max_attempts
        is_final = run.is_alone and may_be_final and not passes
        retry_in_s = _pause_s(error, attempt)
        # Who asks for a longer pause may be asked too early: that is no failure of the strings.
        is_early = (error.retry_after_s or 0.0) > retry_in_s
        record = _error_record(error, self.clock.now(), retryable=not is_final)
        if is_final:
            return self._quarantine(run, error, record)
        with self.store.for_all("handle a message") as work:
            released = work.nodes.release(
                run.claims, retry_in_s=retry_in_s, error=record, progressed=is_early
            )
        if run.is_alone and not released:  # another worker has the node by now, or it is gone
            return run.report()
        run.outcome, run.nodes = "retried", len(released)
        raise RetryLater(retry_in_s, run.report(error)) from error

    def _quarantine(
        self, run: NodeRun, error: ContextSearchError, record: Mapping[str, object]
    ) -> NodeReport:
        [claim] = run.claims
        with suppress(LeaseLostError):
            with self.store.for_all("handle a message") as work:
                work.nodes.quarantine(claim, record)
                work.tools.mark_incomplete(claim.index_id)
            run.outcome = "quarantined"
            return run.report(error)
        return run.report()

    def _is_late(self, deadline: Deadline) -> bool:
        return deadline.left_s() < self.limits.batch_reserve_s

    def _send_again(self, node_ids: Sequence[int]) -> None:
        with self.store.for_all("handle a message") as work:
            work.send(IndexNodes(tuple(node_ids)))


@dataclass(slots=True)
class _Failures:
    """Collects errors of single strings, to be raised after the others are done."""

    later: RetryLater | None = None
    unexpected: Exception | None = None

    def reports(self, steps: Sequence[Callable[[], NodeReport]]) -> Iterator[NodeReport]:
        """Takes the steps; a RetryLater, or an error, keeps no other from its turn."""
        for step in steps:
            try:
                yield step()
            except RetryLater as later:
                if self.later is None or later.after_s > self.later.after_s:
                    self.later = RetryLater(later.after_s)
                if later.report is not None:
                    yield later.report
            except Exception as error:  # noqa: BLE001 - raised when the others are done
                self.unexpected = error

    def raise_first(self) -> None:
        """Raises the first error, if there was one."""
        if self.unexpected is not None:
            raise self.unexpected
        if self.later is not None:
            raise self.later


def _groups(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Returns the claims by generation, a table's one after the other."""
    ordered = sorted(claims, key=lambda claim: (claim.namespace, claim.table_id))
    return [list(group) for _, group in groupby(ordered, key=lambda claim: claim.namespace)]


def _no_room(
    work: UnitOfWork, planned: Mapping[Claim, Sequence[PlannedChunk]], limits: ProjectLimits
) -> dict[str, object] | None:
    """Returns why a generation's new nodes must wait for room, None if they need not.

    The reason records the room that all of them need, for ``Quotas.readmit``.
    """
    new = work.quotas.new_among(list(planned))
    if not new:
        return None
    chunks = [chunk for claim in new for chunk in planned[claim]]
    needed = Usage.of(
        chunks=len(chunks),
        rows=sum(chunk.window_count for chunk in chunks),
        dimensions=new[0].config.dimensions,
    )
    if needed.fits(work.quotas.room(new[0].index_id, limits)):
        return None
    return {
        "code": PROJECT_FULL,
        "message": f"the project may hold {limits.max_chunks} chunks and"
        f" {limits.max_vector_bytes} bytes of vectors, and what it holds is in use",
        "retryable": True,
        "chunks": needed.chunks,
        "vector_bytes": needed.vector_bytes,
    }


def _is_passing(error: ContextSearchError) -> bool:
    """Tells whether the same step may succeed later."""
    return error.retryable or isinstance(error, CommitUnknownError)


def _pause_s(error: ContextSearchError, attempt: int) -> float:
    """Returns after how many seconds to come again: as asked, else 2, 4, 8 …; at most 300."""
    return min(MAX_BACKOFF_S, error.retry_after_s or 2.0 ** min(attempt, 16))


def _error_record(error: ContextSearchError, at: datetime, *, retryable: bool) -> dict[str, object]:
    """Returns what a node keeps of an error."""
    return {
        "code": error.code,
        "message": error.message,
        "retryable": retryable,
        "at": at.isoformat(),
    }
