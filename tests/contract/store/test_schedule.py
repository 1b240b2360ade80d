"""Contract of ``Health``: when cleanup has something to do next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from context_search.core.limits import ProjectLimits
from context_search.core.messages import CompareIndex
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.rules.removals import Removal
from context_search_editing.rules.plans import (
    PLAN_KEPT_S,
    TEXTS_OUTLIVE_S,
    NewPlan,
    Plan,
    ReplaceScope,
)
from tests.builders import present
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL
from tests.system import System

SILENT_S, GRACE_S, KEEP_S = 100.0, 1_000.0, 10_000.0
FULL = ProjectLimits(max_chunks=1)
STEPS = System().scheduled(CleanupLimits()).steps()
SCHEDULED = {name for step in STEPS for name in step.due}


def due(bench: Bench, project: ProjectLimits | None = None) -> float | None:
    """In how many seconds something is due, rounded to ten; less than none is 0."""
    limits = CleanupLimits(SILENT_S, GRACE_S, KEEP_S, project or ProjectLimits())
    with bench.store.for_all("test") as work:
        found = work.health.due_in_s([getattr(work, name) for name in SCHEDULED], limits)
    return found if found is None else max(0.0, round(found, -1))


def test_nothing_is_due_where_all_is_indexed(bench: Bench) -> None:
    assert due(bench) is None
    bench.indexed({"a": TEXT, "b": OTHER})
    assert due(bench) is None
    assert due(bench, FULL) == 0  # over its limit: an index may grow cold at any time


def test_an_order_is_due_until_it_is_done(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    project = index.project_id
    bench.work.outbox.add([CompareIndex(index.id, index.table_id or 0).to_json()])
    assert due(bench) == 0
    [(message_id, _)] = bench.work.outbox.take(project, window=1)
    assert due(bench) == 60  # its sender may die
    bench.work.outbox.note_sent([message_id])
    assert due(bench) == SILENT_S
    bench.pass_time(40)
    assert due(bench) == SILENT_S - 40
    bench.work.outbox.begin(message_id)
    bench.work.outbox.delay(message_id, after_s=5_000, window=0)
    assert due(bench) == 5_000
    bench.work.outbox.finish(message_id)
    assert due(bench) is None


def words_lost(bench: Bench) -> None:
    index, node_id = bench.node()
    chunk_set = bench.finish(node_id)
    bench.work.keywords.put([ChunkTokens(one.id, ["word"]) for one in chunk_set.chunks])
    bench.delete_words_by_hand(index.generation.id)


def put_away(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
    bench.finish_all(index)
    bench.put_away(table)


def deleted_by_hand(bench: Bench) -> None:
    _, node_id = bench.node()
    bench.finish(node_id)
    bench.delete_by_hand(node_id)


HAPPENED: dict[str, Callable[[Bench], object]] = {
    "queued": lambda bench: bench.node(),
    "claimed": lambda bench: bench.claim(bench.node()[1]),
    "quarantined": lambda bench: bench.work.nodes.quarantine(
        bench.claim(bench.node()[1]), {"code": "EMBEDDING_REJECTED"}
    ),
    "without room": lambda bench: bench.work.nodes.skip(
        bench.claim(bench.node()[1]), {"code": "PROJECT_FULL", "chunks": 1, "vector_bytes": 1}
    ),
    "rebuilding": lambda bench: bench.work.indexes.start_rebuild(
        bench.indexed({"a": TEXT})[1], replace(SMALL, chunk_size=200), at_once=2
    ),
    "never compared": lambda bench: bench.project_index(bench.table({"a": TEXT}).project_id),
    "words lost": words_lost,
    "put away": put_away,
    "deleted by hand": deleted_by_hand,
}


@pytest.mark.parametrize("happened", HAPPENED)
def test_what_waits_or_is_under_way_is_due_at_once(bench: Bench, happened: str) -> None:
    assert due(bench) is None
    HAPPENED[happened](bench)
    assert due(bench) == 0


def test_a_string_that_is_skipped_for_its_size_waits_for_nothing(bench: Bench) -> None:
    _, node_id = bench.node()
    bench.work.nodes.skip(bench.claim(node_id), {"code": "NODE_TOO_LARGE"})
    assert due(bench) is None


def test_a_vector_row_is_due_for_its_first_delete_and_after_the_grace(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT})
    bench.finish_all(index)
    bench.change(table, {})
    bench.compare(index, table)
    bench.lose_messages()
    assert due(bench) == 0
    stones = bench.tombstones(older_than_s=GRACE_S)
    bench.work.removals.note_deleted(stones, older_than_s=GRACE_S)
    assert due(bench) == GRACE_S
    bench.pass_time(GRACE_S + 10)
    assert due(bench) == 0


def test_generations_are_due_when_their_time_is_over(bench: Bench) -> None:
    _, index = bench.indexed({})
    with bench.store.for_all("test") as work:
        assert work.indexes.lock(index)
        building = work.indexes.start_rebuild(index, SMALL, at_once=2)
        work.comparisons.note_compared(building, index.table_id or 0, 1, [""], [0])
        work.indexes.switch(building)
    assert due(bench) == KEEP_S
    bench.pass_time(KEEP_S + 10)
    assert bench.work.indexes.retire_previous(index.id, older_than_s=KEEP_S)
    assert due(bench) == GRACE_S


def test_a_row_that_could_not_be_removed_is_due_when_it_is_tried_again(bench: Bench) -> None:
    table = bench.table({})
    bench.delete(table)
    assert due(bench) == 0
    bench.work.removals.delay(Removal("table", table.id), retry_in_s=3_600)
    assert due(bench) == 3_600


def test_a_history_is_due_when_something_of_it_may_have_to_leave(bench: Bench) -> None:
    table = bench.table({"a": 1})
    assert due(bench) is None
    bench.work.versions.erase(table)
    assert due(bench) == 0
    for history in bench.work.versions.due(limit=9):
        assert bench.work.versions.prune(history, limit=9).is_done
    assert due(bench) is None
    bench.work.versions.look_at_all(table.project_id)
    assert due(bench) == 0


def test_a_deleted_project_is_due_until_it_is_gone(bench: Bench) -> None:
    project = bench.project()
    bench.work.projects.mark_deleted(project.id)
    assert due(bench) == 0
    bench.work.removals.delay(Removal("project", project.id), retry_in_s=600)
    assert due(bench) == 600


def test_a_plan_is_due_when_it_expires_falls_silent_or_outlives_its_texts(bench: Bench) -> None:
    def save(plan: Plan, **changes: object) -> None:
        bench.work.plans.save(replace(plan, **changes))  # type: ignore[arg-type]

    new = NewPlan(bench.project().id, None, ReplaceScope(), b"", "", lifetime_s=600, actor=None)
    plan = present(bench.work.plans.add(new))
    assert due(bench) == SILENT_S
    save(plan, state="ready")
    assert due(bench) == 600
    save(plan, state="executing")
    bench.pass_time(70)
    assert due(bench) == SILENT_S - 70
    save(plan, state="expired")
    assert due(bench) == 530 + TEXTS_OUTLIVE_S
    now = present(bench.work.plans.lock(plan.id))
    save(plan, state="done", undo_until=now.created_at + timedelta(days=30))
    assert due(bench) == 30 * 86_400 - 70
    bench.work.plans.purge_texts(plan.id)
    assert due(bench) == PLAN_KEPT_S - 70
    bench.pass_time(PLAN_KEPT_S)
    undo = present(bench.work.plans.add(replace(new, undoes=plan.id)))
    bench.work.plans.save(replace(undo, state="done"))
    bench.work.plans.purge_texts(undo.id)
    assert due(bench) == PLAN_KEPT_S  # until then the plan that it undid stays
