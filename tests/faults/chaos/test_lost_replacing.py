"""Connections that Postgres ends, and replies to COMMIT that are lost, while plans are executed."""

from __future__ import annotations

from collections.abc import Callable

from tests.faults.chaos.broken import Breakage
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import Order, Place, check
from tests.faults.chaos.replacing import BECOMES, FIND, Case, Writers


def everywhere(
    breakage: Breakage,
    writers: Writers,
    prepare: Callable[[], Case],
    order: Callable[[Case], Order],
) -> list[tuple[Case, bool]]:
    """Returns the projects, and whether their callers were told that all went well."""

    def place() -> Place:
        return prepare().place

    breakage.everywhere(place, lambda _: order(writers.cases[-1]))
    reported = [outcome.error is None for outcome in breakage.outcomes]
    return list(zip(writers.cases[1:], reported, strict=True))  # the first one was not disturbed


def test_a_preview_fails_and_ends_all_the_same(
    deployment: Deployment, breakage: Breakage, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        return "preview", case.owner.project_id, FIND, BECOMES, 10**6

    everywhere(breakage, writers, writers.case, order)
    deployment.settle()
    for case in writers.cases:
        plans = deployment.parts.use_cases.editing.preview.page(case.owner, below=None).rows
        assert {plan.state for plan in plans} <= {"ready", "failed"}
        assert writers.texts(case) == case.before
    check(deployment, [case.place for case in writers.cases])


def test_an_execution_is_told_of_as_it_was(
    deployment: Deployment, breakage: Breakage, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        return "execute", case.owner.project_id, case.plan_id, case.digest

    for case, is_told in everywhere(breakage, writers, writers.previewed, order):
        written = writers.is_written(case, case.plan_id, case.before)
        assert written in ([True, True], [False, False])
        assert writers.plan(case).state == ("done" if all(written) else "ready")
        if is_told:
            assert all(written)
        assert writers.execute(case) == "done"
        assert writers.are_replaced(case)
    if breakage.only_commits:  # who does not hear of a COMMIT looks
        assert not any("tables.replace" in call for call in breakage.failed())
    check(deployment, [case.place for case in writers.cases])


def test_an_undo_is_told_of_as_it_was(
    deployment: Deployment, breakage: Breakage, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        return "undo", case.owner.project_id, case.plan_id

    for case, is_told in everywhere(breakage, writers, writers.executed, order):
        undone_by = writers.plan(case).undone_by
        assert writers.texts(case) == case.before if undone_by else writers.are_replaced(case)
        if is_told:
            assert undone_by
        undo = undone_by or deployment.parts.undo(case.owner.project_id, case.plan_id).plan.id
        writers.is_taken_back(case, undo)
    if breakage.only_commits:
        assert not any("tables.replace" in call for call in breakage.failed())
    check(deployment, [case.place for case in writers.cases])


def test_a_worker_goes_on_or_another_one_does(
    deployment: Deployment, severed: Breakage, writers: Writers
) -> None:
    def order(case: Case) -> Order:
        deployment.orders()
        assert writers.execute(case) == "executing"
        [message] = [each for each in deployment.orders() if each["kind"] == "plan"]
        return "handle", message

    cases = everywhere(severed, writers, lambda: writers.previewed(as_large=True), order)
    for case, _ in cases:
        writers.is_written(case, case.plan_id, case.before)
    deployment.settle()
    for case, _ in cases:
        assert writers.execute(case) == "done"
        assert writers.is_written(case, case.plan_id, case.before) == [True, True]
        assert writers.are_replaced(case)
    check(deployment, [case.place for case in writers.cases])


def test_a_restore_is_whole_or_nothing(
    deployment: Deployment, breakage: Breakage, writers: Writers
) -> None:
    def prepare() -> Case:
        case = writers.case()
        deployment.replace(case.place[0], {"a": "another"})
        return case

    def order(case: Case) -> Order:
        return "restore", case.owner.project_id, case.place[0].id, 1

    for case, is_told in everywhere(breakage, writers, prepare, order):
        live, *past = writers.versions(case.place[0])
        assert (live.revision, live.cause) in ((2, "put"), (3, "restore"))
        assert all(version.gap is None for version in past)
        assert (writers.texts(case)[0] == case.before[0]) == (live.cause == "restore")
        if is_told:
            assert live.cause == "restore"
    check(deployment, [case.place for case in writers.cases])
