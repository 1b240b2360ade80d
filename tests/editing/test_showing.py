"""Pages of matches: computed again from the documents, and refused where those have changed."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from context_search.core.errors import (
    DocumentTooLargeError,
    NotFoundError,
    PlanExpiredError,
    PlanNotReadyError,
    ReplaceStaleError,
)
from context_search.core.json_text import to_json
from context_search_editing.previewing import PreviewLimits
from context_search_editing.showing import PAGE_CHARS, ShowMatches, ShownMatch
from tests.editing.novel import FACTORY, NOVEL, WAREHOUSE, TickingClock
from tests.editing.replacing import Desk, OtherEngine


def pages(
    desk: Desk, plan_id: int, matches: ShowMatches | None = None, **asked: Any
) -> list[list[ShownMatch]]:
    """All pages of the matches of a plan."""
    found, after = [], 0
    while True:
        page = (matches or desk.matches).page(desk.principal, plan_id, after=after, **asked)
        found.append([*page.rows])
        if page.next_after is None:
            return found
        assert page.next_after == page.rows[-1].number
        after = page.next_after


def test_all_matches_are_those_that_the_preview_showed(desk: Desk) -> None:
    desk.make(*NOVEL)
    shown = desk.start(WAREHOUSE, FACTORY)
    assert pages(desk, shown.plan.id) == [[*shown.matches]]
    assert [len(page) for page in pages(desk, shown.plan.id, limit=2)] == [2, 2, 2, 1]
    assert [*chain(*pages(desk, shown.plan.id, limit=2))] == [*shown.matches]


def test_samples_are_the_first_matches(desk: Desk) -> None:
    desk.make(*NOVEL)
    everything = desk.start(WAREHOUSE, FACTORY).matches
    for samples in (0, 1, 3, 7, 200):
        assert [*desk.start(WAREHOUSE, FACTORY, samples=samples).matches] == [*everything[:samples]]


def test_matches_of_one_table(desk: Desk) -> None:
    tables = desk.make(*NOVEL)
    plan = desk.start(WAREHOUSE, FACTORY).plan
    [matches] = pages(desk, plan.id, table_id=tables[1].id)
    assert [match.number for match in matches] == [3, 4, 5]
    assert [match.json_pointer for match in matches] == ["/scenes/0", "/scenes/2", "/scenes/2"]
    assert [len(page) for page in pages(desk, plan.id, table_id=tables[1].id, limit=2)] == [2, 1]
    assert pages(desk, plan.id, table_id=tables[3].id) == [[]]


def test_a_pattern_shows_what_its_groups_become(desk: Desk) -> None:
    desk.make({"t": "2024-05 and 2025-06"})
    plan = desk.start(r"(\d+)-(\d+)", "$2/$1", regex=True).plan
    [matches] = pages(desk, plan.id)
    assert [(match.edit.found, match.edit.becomes) for match in matches] == [
        ("2024-05", "05/2024"),
        ("2025-06", "06/2025"),
    ]


def test_a_changed_string_is_named_and_not_shown(desk: Desk) -> None:
    tables = desk.make(*NOVEL)
    plan = desk.start(WAREHOUSE, FACTORY).plan
    desk.write(tables[1], to_json({"scenes": ["废弃仓库的门", "码头"]}))
    with pytest.raises(ReplaceStaleError) as stale:
        pages(desk, plan.id)
    gone = {"table_id": tables[1].id, "json_pointer": "/scenes/2", "reason": "GONE", "revision": 2}
    assert stale.value.members == {"changed_count": 1, "changed": [gone]}
    desk.write(tables[1], to_json({"scenes": ["废弃仓库之门", "码头", 5]}))
    with pytest.raises(ReplaceStaleError) as stale:
        pages(desk, plan.id)
    changed = {**gone, "json_pointer": "/scenes/0", "reason": "CHANGED", "revision": 3}
    assert stale.value.members["changed"] == [changed, {**gone, "revision": 3}]
    assert stale.value.message == (
        "2 strings or documents are not as they were shown"
        f" (the first: CHANGED, in table {tables[1].id}): preview again"
    )
    assert [len(page) for page in pages(desk, plan.id, table_id=tables[2].id)] == [2]


def test_a_deleted_table_has_no_matches(desk: Desk) -> None:
    tables = desk.make(*NOVEL)
    plan = desk.start(WAREHOUSE, FACTORY).plan
    desk.tables.delete(desk.principal, tables[0].id)
    with pytest.raises(ReplaceStaleError) as stale:
        pages(desk, plan.id)
    assert stale.value.members["changed"] == [
        {"table_id": tables[0].id, "json_pointer": "/text", "reason": "GONE", "revision": None}
    ]


def test_rules_that_find_something_else_are_none_of_the_plan(desk: Desk) -> None:
    [table] = desk.make("xyz")
    plan = desk.start("x", "w", regex=True).plan
    later = ShowMatches(desk.store, OtherEngine("x|y"), desk.clock)
    with pytest.raises(ReplaceStaleError) as stale:
        pages(desk, plan.id, later)
    assert stale.value.members["changed"] == [
        {"table_id": table.id, "json_pointer": "", "reason": "MATCHES_DIFFER", "revision": 1}
    ]


def test_strings_of_large_documents_are_read_one_by_one(desk: Desk) -> None:
    desk.make(*NOVEL)
    shown = desk.start(WAREHOUSE, FACTORY)
    by_string = ShowMatches(desk.store, desk.patterns, desk.clock, document_bytes=65)
    assert pages(desk, shown.plan.id, by_string) == [[*shown.matches]]
    smaller = ShowMatches(desk.store, desk.patterns, desk.clock, document_bytes=20)
    with pytest.raises(DocumentTooLargeError):
        pages(desk, shown.plan.id, smaller)


def test_pages_end_where_the_time_does(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.start(WAREHOUSE, FACTORY).plan
    slow = ShowMatches(desk.store, desk.patterns, TickingClock(60))
    assert [len(page) for page in pages(desk, plan.id, slow)] == [2, 1, 2, 2]


def test_strings_of_large_documents_are_read_while_the_time_lasts(desk: Desk) -> None:
    [table] = desk.make({"a": WAREHOUSE, "b": WAREHOUSE, "long": "…" * 100})
    plan = desk.start(WAREHOUSE, FACTORY).plan
    with desk.store.for_all("test") as work:
        changed = f'{{"a": "{WAREHOUSE}", "b": "changed", "long": "{"…" * 100}"}}'
        work.tables.replace(table.id, changed, expected_revision=None)
    slow = ShowMatches(desk.store, desk.patterns, TickingClock(60), document_bytes=65)
    first = slow.page(desk.principal, plan.id)
    assert [match.json_pointer for match in first.rows] == ["/a"]
    with pytest.raises(ReplaceStaleError):
        slow.page(desk.principal, plan.id, after=first.next_after or 0)


def test_pages_end_where_an_answer_does(desk: Desk) -> None:
    key = "k" * 19_000
    desk.make({key: ["x"] * 30})
    shown = desk.start("x", samples=200)
    most = PAGE_CHARS // 19_000
    assert [len(page) for page in pages(desk, shown.plan.id)] == [most, 30 - most]
    assert len(shown.matches) == most
    desk.make({key: "changed"})
    table = desk.strings(shown.plan.id)[0].table_id
    desk.work.tables.replace(table, "{}", expected_revision=None)
    with pytest.raises(ReplaceStaleError) as stale:
        pages(desk, shown.plan.id)
    assert stale.value.members["changed_count"] == 30
    named = stale.value.members["changed"]
    assert isinstance(named, list)
    assert 20 < len(named) < 30


def test_there_are_no_matches_before_and_after(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    with pytest.raises(PlanNotReadyError):
        desk.matches.page(desk.principal, plan.id)
    desk.previews.cancel(desk.principal, plan.id)
    with pytest.raises(PlanExpiredError):
        desk.matches.page(desk.principal, plan.id)
    with pytest.raises(NotFoundError):
        desk.matches.page(desk.principal, plan.id + 1)
