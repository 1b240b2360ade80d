"""The report says of a run whether it did more than look."""

from __future__ import annotations

from dataclasses import fields

import pytest

from context_search.services.upkeep.cleanup_report import WORK, CleanupReport

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
