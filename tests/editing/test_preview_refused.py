"""What a preview refuses, before it is a plan and while it counts."""

from __future__ import annotations

from typing import Any

import pytest

from context_search.core.errors import (
    ContextSearchError,
    DocumentTooLargeError,
    InvalidDocumentError,
    InvalidInputError,
    InvalidPointerError,
    PatternInvalidError,
    ReplaceBusyError,
    ReplacementInvalidError,
    ReplaceTooLargeError,
    TooManyMatchesError,
)
from context_search_editing.previewing import PreviewLimits
from context_search_editing.rules import plans
from context_search_editing.rules.replacing import ReplaceRequest
from tests.editing.novel import NOVEL, WAREHOUSE, asked_for
from tests.editing.replacing import Desk

CANARY = "canary-of-the-document"


@pytest.mark.parametrize(
    ("find", "replace_with", "asked", "error"),
    [
        ("", "", {}, InvalidInputError),
        ("x" * 1_001, "", {}, InvalidInputError),
        ("x", "y" * 10_001, {}, InvalidInputError),
        ("\0", "", {}, InvalidDocumentError),
        ("x", "\ud800", {}, InvalidDocumentError),
        ("x", "", {"lifetime_s": 59}, InvalidInputError),
        ("x", "", {"lifetime_s": 86_401}, InvalidInputError),
        ("x", "", {"samples": 201}, InvalidInputError),
        ("x", "", {"tables": ()}, InvalidInputError),
        ("x", "", {"tables": tuple(range(1, 1_002))}, InvalidInputError),
        ("x", "", {"json_pointer": "a"}, InvalidPointerError),
        ("(", "", {"regex": True}, PatternInvalidError),
        ("x", "$1", {"regex": True}, ReplacementInvalidError),
    ],
)
def test_what_cannot_be_asked_makes_no_plan(
    model: Desk, find: str, replace_with: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as refusal:
        model.start(find, replace_with, **asked)
    assert find == "" or len(find) < 3 or find not in str(refusal.value)
    assert model.previews.page(model.principal, below=None).rows == []


def test_a_third_preview_has_to_wait(desk: Desk) -> None:
    desk.make(*NOVEL)
    slow = desk.having(limits=PreviewLimits(bytes=0)).previews
    for _ in range(plans.MAX_PREVIEWS):
        assert slow.start(desk.principal, asked_for(WAREHOUSE)).plan.state == "previewing"
    with pytest.raises(ReplaceBusyError) as busy:
        desk.start(WAREHOUSE)
    assert busy.value.retry_after_s == 1


def test_a_project_has_so_many_open_plans(desk: Desk) -> None:
    desk.make("x")
    for _ in range(plans.MAX_OPEN_PLANS):
        last = desk.start("x").plan
    with pytest.raises(ReplaceBusyError):
        desk.start("x")
    desk.previews.cancel(desk.principal, last.id)
    assert desk.start("x").plan.state == "ready"


def test_a_plan_with_nothing_to_do_is_not_counted(desk: Desk) -> None:
    desk.make("x")
    for _ in range(plans.MAX_OPEN_PLANS):
        assert desk.start("y").plan.counts.matches == 0
    assert desk.start("x").plan.counts.matches == 1


def test_what_is_too_much_fails_the_plan(stored: Desk) -> None:
    agent = stored.agent(*stored.make("x" * 101, ["x"] * 900))
    with pytest.raises(TooManyMatchesError, match=r"over 1,000 matches"):
        stored.preview_by(agent, ReplaceRequest("x", "×"))
    [failed] = stored.previews.page(stored.principal, below=None).rows
    assert stored.failure(failed)["code"] == "TOO_MANY_MATCHES"
    assert failed.digest is None
    assert stored.start("x").plan.counts.matches == 1_001


@pytest.mark.slow
def test_more_strings_than_a_plan_may_have(model: Desk) -> None:
    model.make(["x"] * plans.MAX_PLANNED_STRINGS)
    assert model.start("x").plan.counts.strings == plans.MAX_PLANNED_STRINGS
    model.make("x")
    with pytest.raises(TooManyMatchesError, match=r"in over 20,000 strings"):
        model.start("x")


def test_replacements_that_are_too_long_in_all_documents_together(model: Desk) -> None:
    model.make("x" * 3_000, "x" * 3_000)
    assert model.start("x", "y" * 8_000).plan.state == "ready"
    with pytest.raises(ReplaceTooLargeError):
        model.start("x", "y" * 10_000)


def test_a_pointer_that_no_answer_holds(model: Desk) -> None:
    model.make({"k" * 20_000: "x", "short": "y"})
    with pytest.raises(ReplaceTooLargeError):
        model.start("x")
    assert model.start("y").plan.state == "ready"


def test_no_error_says_what_was_sought_or_found(desk: Desk) -> None:
    desk.make({CANARY: CANARY * 5_100})
    asked = (
        asked_for(CANARY, CANARY + "y" * 9_900),
        asked_for(f"({CANARY}", regex=True),
        asked_for(CANARY, f"${{{CANARY}}}", regex=True),
        asked_for(CANARY, json_pointer=CANARY),
        asked_for(CANARY * 100),
    )
    for each in asked:
        with pytest.raises(ContextSearchError) as refusal:
            desk.previews.start(desk.principal, each)
        assert CANARY not in str(refusal.value)
        assert CANARY not in repr(refusal.value.members)
    for plan in desk.previews.page(desk.principal, below=None).rows:
        assert CANARY not in str(plan.last_error)


def test_a_document_that_is_deeper_than_python_reads(model: Desk) -> None:
    deep = "[" * 50_000 + "1" + "]" * 50_000
    owner = model.principal
    model.work.tables.add(owner.project_id, "t", None, deep)
    with pytest.raises((InvalidDocumentError, DocumentTooLargeError)):
        model.start("x", case_sensitive=False)
