"""The scheduled run: it restarts what is stuck and deletes what must leave.

Every step is bounded, safe to repeat, and goes on where the last run stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from context_search.access.idempotency import KEPT_S
from context_search.catalog.uploads import ManageUploads
from context_search.catalog.versions import prune_versions
from context_search.core.errors import ContextSearchError, VectorStoreError
from context_search.core.ids import window_ids
from context_search.core.limits import ProjectLimits
from context_search.core.messages import CompareIndex
from context_search.indexing.completion import IndexCompletion, summarise, write_summaries
from context_search.indexing.outbox_delivery import OutboxDelivery, node_messages, send_one_by_one
from context_search.indexing.rebuilds import REBUILDS_AT_ONCE, retire_outdated
from context_search.indexing.vector_rows import tokens_of
from context_search.integrations.ports import Deadline, VectorStore
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.rules.removals import Removal
from context_search.maintenance.rules.sweeps import PAGES_PER_RUN
from context_search.maintenance.sweep import FindUnknownNamespaces, Sweep, SweepRounds
from context_search.searching.admission import UNUSED_S
from context_search.searching.kept_ranking import RANKING_AGE_S
from context_search.store import Store, UnitOfWork

NODES_PER_STEP = 200
CHUNKS_PER_STEP = 500
COMPARISONS_PER_STEP = 200
TOMBSTONES_PER_STEP = 1_000
EXPIRED_PER_STEP = 1_000
REMOVALS_PER_STEP = 200
STEP_RESERVE_S = 20.0
REPEATS_PER_STEP = PAGES_PER_RUN  # a repeat of the sweep is a page
RETRY_S = 3_600.0
CONSOLE_KEY_KEPT_S = 86_400.0
"""Seconds for which a key of the console is listed after its end."""
LEDGER_DAYS = 366
"""Days for which it is kept what was spent for a project."""
SOON_S = 60.0
MOST_WAITS = 3


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a run: ``do`` adds to the report what it did and says whether it has more to do.

    ``due`` names the repositories that say when it has work next. Cleanup idles over the work of a
    step that names none: sweeps, and rows that only take room when they are old.
    """

    name: str
    do: Callable[[CleanupReport], bool]
    due: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cleanup:
    """One run of all steps; a step that fails does not keep the others from running.

    ``further`` are steps of what indexing does not know.
    """

    store: OutboxDelivery
    vectors: VectorStore
    completion: IndexCompletion
    sweep: Sweep
    sweep_rounds: SweepRounds
    limits: CleanupLimits
    further: Sequence[Step] = ()

    def steps(self) -> list[Step]:
        """Returns the steps in their order, each with what says when it is due."""
        return [
            Step("relay", self._relay, due=("outbox",)),
            Step("revive", self._revive, due=("nodes",)),
            Step("compare", self._compare, due=("comparisons",)),
            Step("rebuild", self._rebuild, due=("indexes",)),
            Step("evict", self._evict, due=("indexes",)),
            Step("readmit", self._readmit, due=("nodes",)),
            Step("keep_tokens", self._keep_tokens, due=("chunks",)),
            Step("mark_tables", self._mark_tables, due=("removals",)),
            Step("remove_nodes", self._remove_nodes, due=("removals",)),
            Step("delete_documents", self._delete_documents, due=("removals",)),
            Step("delete_namespaces", self._delete_namespaces, due=("removals",)),
            Step("sweep", self._sweep, due=()),
            *self.further,
            Step("prune_versions", self._prune_versions, due=("versions",)),
            Step("summarise", self._summarise, due=()),
            Step("compact", self._compact, due=("node_counts",)),
            Step("measure", self._measure, due=()),
            Step("find_unknown", self._find_unknown, due=()),
            # The last: it may wait for locks of the database's owner.
            Step("remove_rows", self._remove_rows, due=("removals",)),
        ]

    def run(self, deadline: Deadline) -> CleanupReport:
        """Returns what was done; ``is_complete`` is false when time ran out first."""
        report = CleanupReport()
        for step in self.steps():
            try:
                report.is_complete &= self._is_done(step, report, deadline)
            except ContextSearchError as error:
                report.errors.append(f"{step.name}: {error.code}")
        return report

    def _is_done(self, step: Step, report: CleanupReport, deadline: Deadline) -> bool:
        """Repeats a step while it has more to do, but not for so long that others starve."""
        for _ in range(REPEATS_PER_STEP):
            if not step.do(report):
                return True
            if deadline.left_s() < STEP_RESERVE_S:
                break
        return False

    def _relay(self, report: CleanupReport) -> bool:
        report.messages_relayed += self.store.relay(silent_s=self.limits.silent_s)
        return False

    def _revive(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            nodes = work.nodes.abandoned(silent_s=self.limits.silent_s, limit=NODES_PER_STEP)
            work.send(*node_messages(work, nodes))
        report.nodes_revived += len(nodes)
        return len(nodes) == NODES_PER_STEP

    def _compare(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            behind = work.comparisons.behind(
                silent_s=self.limits.silent_s, limit=COMPARISONS_PER_STEP
            )
        send_one_by_one(self.store, [CompareIndex(*of) for of in behind])
        report.comparisons_ordered += len(behind)
        return len(behind) == COMPARISONS_PER_STEP

    def _rebuild(self, report: CleanupReport) -> bool:
        retire_outdated(self.store, older_than_s=self.limits.keep_previous_s)
        with self.store.for_all("maintenance") as work:
            promoted = work.indexes.promote(at_once=REBUILDS_AT_ONCE)
            indexes = [work.indexes.find(index_id) for index_id in promoted]
            work.send(*(CompareIndex(index.id, index.table_id) for index in indexes if index))
            building = work.indexes.building(limit=NODES_PER_STEP)
        for index_id in building:
            try:
                report.generations_switched += self.completion.complete(index_id)
            except ContextSearchError as error:  # one index must not keep the others waiting
                report.errors.append(f"rebuild: {error.code}")
        return False

    def _evict(self, report: CleanupReport) -> bool:
        evicted = evict_coldest(self.store, self.limits.project, silent_s=self.limits.silent_s)
        report.indexes_evicted += evicted
        return evicted

    def _readmit(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            nodes = work.quotas.readmit(self.limits.project, limit=NODES_PER_STEP)
            work.send(*node_messages(work, nodes))
        report.nodes_readmitted += len(nodes)
        return False

    def _keep_tokens(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            waiting = work.chunks.take_wordless(limit=CHUNKS_PER_STEP)
            keyed = [tokens for one in waiting for tokens in tokens_of(one)]
            work.keywords.put(keyed)
        report.chunks_keyed += len(keyed)
        return bool(keyed)  # of long strings that lack few, one is a step

    def _mark_tables(self, _: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            return (
                work.tables.mark_of_deleted_projects(limit=REMOVALS_PER_STEP) == REMOVALS_PER_STEP
            )

    def _remove_nodes(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            removed = remove_absent_nodes(work, limit=NODES_PER_STEP)
            removed += work.removals.remove_retired_nodes(limit=NODES_PER_STEP)
        report.nodes_removed += removed
        return removed > 0

    def _remove_rows(self, report: CleanupReport) -> bool:
        removed, failed = RemoveDeleted(self.store).run()
        report.rows_removed += removed
        report.errors += failed
        return removed > 0

    def _delete_documents(self, report: CleanupReport) -> bool:
        grace_s = self.limits.grace_s
        with self.store.for_all("maintenance") as work:
            found = work.removals.tombstones(older_than_s=grace_s, limit=TOMBSTONES_PER_STEP)
        for namespace in sorted({tombstone.namespace for tombstone in found}):
            group = [tombstone for tombstone in found if tombstone.namespace == namespace]
            ids = [name for stone in group for name in window_ids(stone.doc_id, stone.window_count)]
            try:
                self.vectors.delete(namespace, ids)
            except VectorStoreError as error:
                report.errors.append(f"delete_documents: {error.code}")
                continue
            with self.store.for_all("maintenance") as work:
                work.removals.note_deleted(group, older_than_s=grace_s)
            report.documents_deleted += len(ids)
        return len(found) == TOMBSTONES_PER_STEP

    def _delete_namespaces(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            retired = work.removals.retired(older_than_s=self.limits.grace_s, limit=1)
        for generation in retired:
            self.vectors.delete_namespace(generation.namespace)
            with self.store.for_all("maintenance") as work:
                work.removals.purge_generation(generation.generation_id)
            report.namespaces_deleted += 1
        return bool(retired)

    def _sweep(self, report: CleanupReport) -> bool:
        found = self.sweep.run(older_than_s=self.sweep_rounds.swept_after_s)
        if found is None:
            return False
        report.add_sweep(found)
        return True

    def _prune_versions(self, report: CleanupReport) -> bool:
        pruned = prune_versions(self.store)
        report.versions_pruned += pruned.versions
        report.pieces_removed += pruned.pieces
        return not pruned.is_done

    def _summarise(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            indexes = work.indexes.with_incomplete_tools(limit=NODES_PER_STEP)
        for index_id in indexes:
            try:
                write_summaries(self.store, index_id, silent_s=self.limits.silent_s)
                report.summaries_written += 1
            except ContextSearchError as error:  # one index must not keep the others waiting
                report.errors.append(f"summarise: {error.code}")
        return False

    def _compact(self, _: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            work.node_counts.compact()
        with self.store.for_all("maintenance") as work:
            return work.node_counts.count_parts()

    def _measure(self, report: CleanupReport) -> bool:
        with self.store.for_all("maintenance") as work:
            report.readings = work.health.readings()
        report.sweep_round = self.sweep_rounds.read()
        if report.sweep_round.is_late:
            report.errors.append("sweep: LATE")
        return False

    def _find_unknown(self, report: CleanupReport) -> bool:
        FindUnknownNamespaces(self.store, self.vectors, self.limits.deletes_unknown).run(report)
        return False


def remove_absent_nodes(work: UnitOfWork, *, limit: int) -> int:
    """Deletes nodes of tables that are not there, at most ``limit``; returns how many.

    A table that comes back is compared again. Retires the indexes of tables that will not.
    """
    tables = work.removals.absent_tables(limit=limit)
    for index_id in work.indexes.of_tables(tables):
        work.tools.mark_incomplete(index_id)  # its counts change when the table comes back
    work.indexes.retire_absent()
    return work.removals.remove_nodes_of(tables, limit=limit)


def evict_coldest(store: Store, limits: ProjectLimits, *, silent_s: float) -> bool:
    """Takes one thing from a project that is over its limit, and returns whether it did.

    A previous generation goes first: it answers nothing. Then the index that was not searched for
    the longest time is evicted: it stays, empty, until somebody searches it.
    """
    with store.for_all("maintenance") as work:
        going = work.indexes.next_to_go(limits)
        if going is None or not work.indexes.lock(going):
            return False
        # Asked again: the index may have been searched, or switched, before it was locked.
        still = work.indexes.next_to_go(limits)
        if still is None or still.generation.id != going.generation.id:
            return False
        if not work.indexes.give_up(going, limits):
            return False
        summarise(work, going.id, silent_s=silent_s)
    return True


def keep_uploads_step(uploads: ManageUploads, *, silent_s: float) -> Step:
    """Returns the step that sends silent imports again and deletes old uploads."""

    def keep(report: CleanupReport) -> bool:
        report.imports_revived += uploads.revive(silent_s)
        deleted = uploads.delete_expired()
        report.uploads_forgotten += deleted
        return deleted > 0

    return Step("keep_uploads", keep, due=("uploads",))


def delete_expired_step(store: Store) -> Step:
    """Returns the step that deletes rows which only take room when they are old."""

    def delete(report: CleanupReport) -> bool:
        most = EXPIRED_PER_STEP
        with store.for_all("maintenance") as work:
            requests = work.idempotency_keys.delete_expired(older_than_s=KEPT_S, limit=most)
            keys = work.keys.delete_expired_console(older_than_s=CONSOLE_KEY_KEPT_S, limit=most)
            days = work.ledger.delete_expired(older_than_days=LEDGER_DAYS, limit=most)
            permits = work.permits.delete_unused(unused_s=UNUSED_S, limit=most)
            work.rankings.delete_expired(older_than_s=RANKING_AGE_S)
        report.requests_forgotten += requests
        report.keys_forgotten += keys
        return most in (requests, keys, days, permits)

    return Step("delete_expired", delete, due=())


@dataclass(frozen=True, slots=True)
class RemoveDeleted:
    """Deletes marked rows one by one.

    One that is still referred to stays and does not stop the others. One that somebody has locked
    is left for the next run.
    """

    store: Store

    def run(self) -> tuple[int, list[str]]:
        """Returns how many rows are gone, and for each row that stays, which one and why.

        Retried after an hour; after a minute if the error is retryable, such as a lock. A run stops
        after three of the latter.
        """
        with self.store.for_all("maintenance") as work:
            due = work.removals.due(limit=REMOVALS_PER_STEP)
        removed, waited, failed = 0, 0, []
        for removal in due:
            name = f"remove_{removal.kind} {removal.row_id}"
            try:
                with self.store.for_all("maintenance") as work:
                    end = work.removals.remove(removal)
            except ContextSearchError as error:
                failed.append(f"{name}: {_reason(error)}")
                self._delay(removal, SOON_S if error.retryable else RETRY_S)
                waited += error.retryable
                if waited == MOST_WAITS:
                    break
            else:
                removed += end == "removed"
                if end == "kept" and self._delay(removal, RETRY_S):
                    failed.append(f"{name}: KEPT (a trigger of the database's owner)")
        return removed, failed

    def _delay(self, removal: Removal, retry_in_s: float) -> bool:
        with suppress(ContextSearchError), self.store.for_all("maintenance") as work:
            return work.removals.delay(removal, retry_in_s=retry_in_s)
        return False


def _reason(error: ContextSearchError) -> str:
    """The code, and the message: names of the schema, never a value of a row."""
    return f"{error.code} ({error.message})"
