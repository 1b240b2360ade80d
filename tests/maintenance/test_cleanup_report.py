"""The report says of a run whether it did more than look."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest

from context_search.maintenance.cleanup_report import WORK, CleanupReport

LOOKED = ("documents_checked", "unknown_namespaces")


def test_every_count_is_of_work_or_of_a_look() -> None:
    counts = {each.name for each in fields(CleanupReport) if each.type in ("int", "int | None")}
    assert counts == {*WORK, *LOOKED}


@pytest.mark.parametrize("name", WORK)
def test_a_run_that_did_something_has_worked(name: str) -> None:
    report = CleanupReport()
    setattr(report, name, 1)
    assert report.has_worked


def test_a_run_that_only_looked_has_not() -> None:
    looked = CleanupReport(documents_checked=1, unknown_namespaces=1, is_resting=True)
    assert not looked.has_worked


def test_what_projects_may_know_of_a_run_has_codes_and_no_ids() -> None:
    errors = ["remove_tool 17: FOREIGN_KEY_VIOLATION (of notes 4)", "sweep: LATE", "relay: LATE"]
    errors += ["remove_table 3: KEPT (a trigger of the database's owner)"]
    report = CleanupReport(errors=errors, rests_s=90.0, rows_removed=5)
    at = datetime(2026, 11, 22, tzinfo=UTC)
    run = report.as_run(at, 2.5)
    assert run.errors == ["FOREIGN_KEY_VIOLATION", "KEPT", "LATE"]
    assert (run.finished_at, run.rests_until) == (at, at + timedelta(seconds=90))
    assert CleanupReport().as_run(at, 0).rests_until is None
