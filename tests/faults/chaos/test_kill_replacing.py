"""SIGKILL between all outside calls of previews, executions, undos, restores and forgetting."""

from __future__ import annotations

from collections.abc import Callable

from context_search.catalog.rules.versions import HistoryLimits
from context_search.integrations.ports import MessageBody
from tests.builders import until
from tests.catalog.history import text_at
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.gate import Point
from tests.faults.chaos.killing import EDITED, Kills, Order, Place
from tests.faults.chaos.replacing import BECOMES, FIND, Case, Writers
from tests.faults.chaos.worker_processes import WorkerProcesses

GOES_ON_WITHIN_S = 60.0
"""A third of it is promised; a worker lives for 120."""
OVER = "now() - interval '1 second'"


def message_of(deployment: Deployment) -> MessageBody:
    """The message of the plan that was just left to a worker."""
    [message] = [each for each in deployment.orders() if each["kind"] == "plan"]
    return message


def everywhere(
    kills: Kills,
    writers: Writers,
    prepare: Callable[[], Case],
    order: Callable[[Case], Order],
) -> list[str]:
    """Kills an order at every point of it, each time in a project of its own."""

    def place() -> Place:
        return prepare().place

    return kills.everywhere(place, lambda _: order(writers.cases[-1]))


def test_a_preview_may_die_anywhere(deployment: Deployment, kills: Kills, writers: Writers) -> None:
    def order(case: Case) -> Order:
        return "preview", case.owner.project_id, FIND, BECOMES, 10**6

    calls = everywhere(kills, writers, writers.case, order)
    assert any("plans.add_tables" in call for call in calls)
    deployment.settle()
    for case in writers.cases:
        shows_the_same(deployment, writers, case)
    kills.check()


def shows_the_same(deployment: Deployment, writers: Writers, case: Case) -> None:
    """What was begun shows what a preview shows that nobody disturbed; nothing is changed."""
    plans = deployment.parts.use_cases.editing.preview.page(case.owner, below=None).rows
    case.plan_id = deployment.parts.preview(case.owner.project_id, FIND, BECOMES, 10**6)
    writers.shown(case)
    whole = writers.plan(case)
    for plan in plans:
        assert (plan.state, plan.digest) == ("ready", whole.digest)
        assert plan.counts == whole.counts
        assert writers.rows(plan.id) == writers.rows(whole.id)
    assert writers.texts(case) == case.before


def test_a_preview_by_a_worker_may_die_anywhere(
    deployment: Deployment, kills: Kills, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        deployment.orders()
        deployment.parts.preview(case.owner.project_id, FIND, BECOMES, 0)
        return "handle", message_of(deployment)

    everywhere(kills, writers, writers.case, order)
    deployment.settle()
    for case in writers.cases:
        shows_the_same(deployment, writers, case)
    kills.check()


def test_an_execution_may_die_anywhere(
    deployment: Deployment, kills: Kills, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        return "execute", case.owner.project_id, case.plan_id, case.digest

    calls = everywhere(kills, writers, writers.previewed, order)
    assert any("tables.replace" in call for call in calls)
    ends = set()
    for case in writers.cases:
        written = writers.is_written(case, case.plan_id, case.before)
        state = writers.plan(case).state
        ends.add((state, *written))
        assert writers.execute(case) == "done"  # once, whatever became of it
        assert writers.is_written(case, case.plan_id, case.before) == [True, True]
        assert writers.are_replaced(case)
    assert ends == {("ready", False, False), ("done", True, True)}
    kills.check()


def test_an_execution_by_a_worker_may_die_anywhere(
    deployment: Deployment, kills: Kills, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        deployment.orders()
        assert writers.execute(case) == "executing"
        return "handle", message_of(deployment)

    everywhere(kills, writers, lambda: writers.previewed(as_large=True), order)
    ends = set()
    for case in writers.cases:
        written = writers.is_written(case, case.plan_id, case.before)
        ends.add(tuple(written))
        assert (writers.plan(case).state == "executing") or all(written)
    assert ends == {(False, False), (True, False), (True, True)}
    deployment.settle()
    for case in writers.cases:
        assert writers.execute(case) == "done"
        assert writers.is_written(case, case.plan_id, case.before) == [True, True]
        assert writers.are_replaced(case)
    kills.check()


def test_a_plan_goes_on_within_seconds_when_its_worker_is_killed(
    deployment: Deployment, workers: WorkerProcesses, writers: Writers
) -> None:
    """Its second message does it: ``cleanup`` does not run, and the first message is not back."""

    def ordered() -> tuple[Case, MessageBody]:
        case = writers.previewed(as_large=True)
        with deployment.parts.database.transaction() as tx:
            tx.run("UPDATE replace_table SET bytes = 1000 WHERE plan_id = :id", id=case.plan_id)
        deployment.orders()
        assert writers.execute(case) == "executing"
        return case, message_of(deployment)

    calls = workers.do("handle", ordered()[1]).calls
    first_write = next(call for call in calls if "tables.replace" in call)
    case, message = ordered()
    killed = workers.do("handle", message, at=Point(first_write, 0, "after"))
    assert killed.killed
    assert writers.is_written(case, case.plan_id, case.before) == [True, False]
    deployment.receive(killed.sent)

    def is_done() -> bool:
        deployment.work()
        return writers.plan(case).state == "done"

    until(is_done, GOES_ON_WITHIN_S, every_s=0.2)
    assert writers.is_written(case, case.plan_id, case.before) == [True, True]
    assert writers.are_replaced(case)


def test_an_undo_may_die_anywhere(deployment: Deployment, kills: Kills, writers: Writers) -> None:
    def order(case: Case) -> Order:
        return "undo", case.owner.project_id, case.plan_id

    everywhere(kills, writers, writers.executed, order)
    ends = set()
    for case in writers.cases:
        undone_by = writers.plan(case).undone_by
        ends.add(undone_by is not None)
        if undone_by is None:
            assert writers.are_replaced(case)
            undone_by = deployment.parts.undo(case.owner.project_id, case.plan_id).plan.id
        writers.is_taken_back(case, undone_by)
    assert ends == {True, False}
    kills.check()


def test_an_undo_by_a_worker_may_die_anywhere(
    deployment: Deployment, kills: Kills, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        writers.make_large(case)
        deployment.orders()
        assert deployment.parts.undo(case.owner.project_id, case.plan_id).plan.state == "executing"
        return "handle", message_of(deployment)

    everywhere(kills, writers, writers.executed, order)
    after = [[text.replace(FIND, BECOMES) for text in case.before] for case in writers.cases]
    undos = [writers.plan(case).undone_by or 0 for case in writers.cases]
    ends = {
        tuple(writers.is_written(case, undo, texts))
        for case, undo, texts in zip(writers.cases, undos, after, strict=True)
    }
    assert ends == {(False, False), (True, False), (True, True)}
    deployment.settle()
    for case, undo in zip(writers.cases, undos, strict=True):
        writers.is_taken_back(case, undo)
    kills.check()


def test_a_restore_may_die_anywhere(deployment: Deployment, kills: Kills, writers: Writers) -> None:
    def prepare() -> Case:
        case = writers.case()
        deployment.replace(case.place[0], {"a": EDITED})
        deployment.work()
        return case

    def order(case: Case) -> Order:
        return "restore", case.owner.project_id, case.place[0].id, 1

    everywhere(kills, writers, prepare, order)
    ends = set()
    for case in writers.cases:
        table = case.place[0]
        live, *past = writers.versions(table)
        ends.add((live.revision, live.cause))
        assert all(version.gap is None for version in past)
        store = deployment.parts.store
        texts = {each.revision: text_at(store, table, each.revision) for each in past}
        texts[live.revision] = writers.texts(case)[0]
        assert texts[1] == case.before[0] == texts.get(3, texts[1])
        assert EDITED in texts[2]
    assert ends == {(2, "put"), (3, "restore")}
    kills.check()


def test_forgetting_may_die_anywhere(
    deployment: Deployment, kills: Kills, writers: Writers
) -> None:
    in_vain: list[int] = []
    parts = deployment.parts

    def prepare() -> Case:
        """A plan that can be undone, one whose time is over, and more versions than are kept."""
        case = writers.executed()
        project_id, table = case.owner.project_id, case.place[0]
        for text in (EDITED, f"{EDITED} again", f"{EDITED} and again"):
            deployment.replace(table, {"a": text})
        in_vain.append(parts.preview(project_id, FIND, BECOMES, 10**6))
        parts.use_cases.history_settings.change(case.owner, lambda _: HistoryLimits(keep_count=1))
        with parts.database.transaction() as tx:
            tx.run(
                f"UPDATE replace_plan SET expires_at = {OVER}, texts_until = {OVER} WHERE id = :id",
                id=in_vain[-1],
            )
            tx.run(f"UPDATE table_history SET due_at = {OVER} WHERE table_id = :id", id=table.id)
        deployment.orders()
        return case

    calls = everywhere(kills, writers, prepare, lambda _: ("forget",))
    for name in ("plans.purge_texts", "versions.prune"):
        assert any(name in call for call in calls)
    parts.forget()
    for case, forgotten in zip(writers.cases, in_vain, strict=True):
        plan = writers.plan(case, forgotten)
        assert (plan.state, plan.request) == ("expired", None)
        assert writers.plan(case).request is not None
        for table, text in zip(case.tables, case.before, strict=True):
            [row] = [row for row in writers.rows(case.plan_id) if row.table_id == table.id]
            assert text_at(parts.store, table, row.revision_before or 0) == text
        past = [each for each in writers.versions(case.place[0]) if each.sha256]
        assert len(past) == 2  # what an undo needs, and one more
    kills.check()
