"""Takes small strings of one table through the steps of ``IndexNode``, each step for all at once.

The order of the steps and what each one asks for are the same: docs/consistency.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from context_search.domain.errors import ContextSearchError
from context_search.domain.model import ChunkSet, Claim
from context_search.ports.outside import VectorRow
from context_search.ports.searching import ChunkTokens
from context_search.services.indexing.chunk_documents import (
    chunk_documents,
    chunk_tokens,
    chunk_trails,
    plan,
)
from context_search.services.indexing.evict import no_room
from context_search.services.indexing.index_node import IndexNode
from context_search.services.indexing.node_report import NodeReport, NodeRun
from context_search.services.indexing.retrying import RetryLater, error_record, is_passing, pause_s

Begun = Sequence[tuple[Claim, ChunkSet]]


@dataclass(frozen=True, slots=True)
class Together:
    """What became of claims: ``report`` is of those that are done, ``left`` has the others."""

    report: NodeReport
    left: list[Claim]


@dataclass(frozen=True, slots=True)
class IndexTogether:
    """Safe to repeat, to run twice at once, and to be killed anywhere, as ``IndexNode`` is."""

    one: IndexNode

    def __call__(self, claims: Sequence[Claim]) -> Together:
        """Indexes claimed nodes of one table and generation.

        Those that something else is wrong with are left to be taken one by one: so a bad string
        fails alone. Raises RetryLater when the message should come again, for all of them.
        """
        run = NodeRun(claims[0], self.one.clock)
        try:
            done = self._index(run, claims)
        except ContextSearchError as error:
            if is_passing(error):
                self._put_back(run, claims, error)
            done = set()
        except Exception:  # noqa: BLE001 - it is raised again where it is known of which string
            done = set()
        if done:
            with suppress(ContextSearchError):  # the nodes are done; cleanup settles again
                self.one.settle(claims[0].index_id)
        report = replace(run.report("indexed" if done else "nothing_to_do"), nodes=len(done))
        return Together(report, [claim for claim in claims if claim.node_id not in done])

    def _index(self, run: NodeRun, claims: Sequence[Claim]) -> set[int]:
        with run.stage("chunking"):
            begun = self._begin(claims)
        run.chunks = sum(len(chunk_set.chunks) for _, chunk_set in begun if chunk_set.is_new)
        keyed = self._write(run, begun)
        with run.stage("swap"):
            return self._swap(begun, keyed)

    def _begin(self, claims: Sequence[Claim]) -> Begun:
        """Writes the rows of the chunks; of none, when there may be no room for all."""
        planned = {claim: plan(claim) for claim in claims}
        with self.one.store.for_all("carry out an order") as work:
            held = work.nodes.hold_many(claims, lease_s=self.one.limits.lease_s)
            wanted = {claim: planned[claim] for claim in held}
            if not held or no_room(work, wanted, self.one.limits.project) is not None:
                return []
            sets = work.chunks.begin_sets(list(wanted.items()))
        return list(zip(held, sets, strict=True))

    def _write(self, run: NodeRun, begun: Begun) -> list[ChunkTokens]:
        """Has turbopuffer acknowledge every chunk that is not present yet; returns their tokens."""
        missing = [chunk_set.missing for _, chunk_set in begun]
        batch = [chunk for chunks in missing for chunk in chunks]
        if not batch:
            return []
        with run.stage("embedding"):
            vectors, run.embedded = self.one.chunk_vectors(run.claim, batch)
        run.reused = len(batch) - run.embedded
        following, now = iter(vectors), self.one.clock.now()
        documents: list[VectorRow] = []
        tokens: list[ChunkTokens] = []
        for (claim, chunk_set), chunks in zip(begun, missing, strict=True):
            trails = chunk_trails(claim)
            keyed = chunk_tokens(chunks, [trails[chunk.index] for chunk in chunks])
            own = [next(following) for _ in chunks]
            documents += chunk_documents(claim, chunk_set.id, chunks, own, keyed, now)
            tokens += keyed
        with run.stage("upload"):
            self.one.vectors.upsert(run.claim.namespace, documents, config=run.claim.config)
        return tokens

    def _swap(self, begun: Begun, keyed: Sequence[ChunkTokens]) -> set[int]:
        """Returns the ids of the nodes whose new text can be found from now on."""
        sets = dict(begun)
        with self.one.store.for_all("carry out an order") as work:
            held = work.nodes.hold_many(list(sets), lease_s=self.one.limits.lease_s)
            work.chunks.mark_all_present([sets[claim] for claim in held])
            work.keywords.put(keyed)
            return work.chunks.activate([(claim, sets[claim].id) for claim in held])

    def _put_back(self, run: NodeRun, claims: Sequence[Claim], error: ContextSearchError) -> None:
        retry_in_s = pause_s(error, max(claim.attempt for claim in claims))
        record = error_record(error, self.one.clock.now(), retryable=True)
        with self.one.store.for_all("carry out an order") as work:
            held = work.nodes.hold_many(claims, lease_s=self.one.limits.lease_s)
            for claim in held:
                work.nodes.release(claim, retry_in_s=retry_in_s, error=record, progressed=False)
        report = replace(run.report("retried", error), nodes=len(held))
        raise RetryLater(retry_in_s, report) from error
