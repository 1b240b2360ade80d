"""A preview says what would change, and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from context_search.adapters.re2_patterns import Re2Patterns
from context_search.domain.access import McpKey
from context_search.domain.editing import plans
from context_search.domain.editing.plans import Plan
from context_search.domain.editing.replacing import ReplaceRequest
from context_search.domain.errors import (
    ConflictError,
    ContextSearchError,
    DatabaseUnavailableError,
    DocumentTooLargeError,
    InvalidDocumentError,
    InvalidInputError,
    InvalidPointerError,
    NotFoundError,
    PatternInvalidError,
    PatternTooSlowError,
    ReplaceBusyError,
    ReplacementInvalidError,
    ReplaceTooLargeError,
    TooManyMatchesError,
)
from context_search.domain.json_pointer import contains
from context_search.services.editing.preview import PreviewLimits
from testing.in_memory.clock import ManualClock
from tests.contract.store.bench import MemoryBench
from tests.domain.editing.brute_force import TEXTS, brute_force
from tests.services.editing.novel import FACTORY, NOVEL, WAREHOUSE, TickingClock, asked_for, hashed
from tests.services.editing.replacing import BusyStore, Desk, StoppedError

CANARY = "canary-of-the-document"


@pytest.fixture
def memory() -> Desk:
    """Over the model store."""
    return Desk(MemoryBench().store, ManualClock())


def counts(plan: Plan) -> tuple[int, int, int]:
    return plan.counts.tables, plan.counts.strings, plan.counts.matches


def test_three_documents_and_seven_places(desk: Desk) -> None:
    tables = desk.make(*NOVEL)
    shown = desk.start(WAREHOUSE, FACTORY)
    plan = shown.plan
    assert plan.state == "ready"
    assert counts(plan) == (3, 4, 7)
    assert (plan.counts.scanned_tables, plan.counts.is_atomic) == (4, True)
    assert len(plan.digest or b"") == 16
    assert [(row.table_id, row.matches, row.revision_seen) for row in shown.tables.rows] == [
        (tables[0].id, 2, 1),
        (tables[1].id, 3, 1),
        (tables[2].id, 2, 1),
    ]
    assert [match.number for match in shown.matches] == [1, 2, 3, 4, 5, 6, 7]
    first = shown.matches[0]
    assert (first.table_id, first.json_pointer) == (tables[0].id, "/text")
    edit = first.edit
    assert (edit.before, edit.found, edit.becomes, edit.after) == (
        "他走进了",
        WAREHOUSE,
        FACTORY,
        "，满地灰尘。废弃仓库很大。",
    )
    assert (edit.start, edit.end) == (4, 8)


def test_a_plan_says_who_asked_for_what(desk: Desk) -> None:
    desk.make(*NOVEL)
    request = ReplaceRequest(WAREHOUSE, FACTORY, whole_word=True)
    asked = replace(asked_for(""), request=request, lifetime_s=600)
    plan = desk.previews.start(desk.principal, asked, request_id="r-1").plan
    assert (plan.request, plan.previewed_by, plan.request_id) == (request, "key:7", "r-1")
    assert plan.request_hmac.hex() == hashed(WAREHOUSE) + hashed(FACTORY)
    assert (plan.expires_at - plan.created_at).total_seconds() == pytest.approx(600, abs=5)


def some_text(random: Random) -> str:
    return "".join(random.choices(TEXTS, k=random.randrange(12)))


def some_document(random: Random) -> object:
    return random.choice(
        [
            some_text(random),
            [some_text(random) for _ in range(random.randrange(4))],
            {"a": some_text(random), "ab": [some_text(random), {"a": some_text(random)}], "n": 1},
        ]
    )


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_every_string_by_itself(desk: Desk, seed: int) -> None:
    random = Random(seed)
    tables = desk.make(*(some_document(random) for _ in range(12)))
    for _ in range(12):
        request = ReplaceRequest(
            "".join(random.choices(TEXTS, k=random.choice([1, 1, 2]))),
            random.choice(["", "x", *TEXTS]),
            case_sensitive=random.random() < 0.5,
            whole_word=random.random() < 0.3,
            whole_characters=random.random() < 0.8,
        )
        pointer = random.choice(["", "", "/a", "/ab/1", "/0"])
        named = tuple(table.id for table in random.sample(tables, 8)) if seed % 2 else None
        asked = replace(asked_for("", tables=named, json_pointer=pointer), request=request)
        plan = desk.previews.start(desk.principal, asked).plan
        naive = [
            (table, at, brute_force(string, request))
            for table, at, string in desk.texts()
            if contains(pointer, at) and (named is None or table in named)
        ]
        edited = [(table, at, found) for table, at, found in naive if found.edits]
        assert counts(plan) == (
            len({table for table, _, _ in edited}),
            len(edited),
            sum(len(found.edits) for _, _, found in edited),
        )
        left_out = plan.counts.left_out
        assert left_out.inside_character == sum(f.left_out.inside_character for _, _, f in naive)
        assert left_out.already_equal == sum(f.left_out.already_equal for _, _, f in naive)
        assert [(row.table_id, row.json_pointer, row.matches) for row in desk.strings(plan.id)] == [
            (table, at, len(found.edits)) for table, at, found in edited
        ]
        desk.previews.cancel(desk.principal, plan.id)


def test_nothing_that_a_preview_does_changes_a_document(desk: Desk) -> None:
    desk.make(*NOVEL)
    before = desk.documents()
    plan = desk.start(WAREHOUSE, FACTORY).plan
    desk.matches.page(desk.principal, plan.id)
    for refused in (("", "x", {}), ("(", "x", {"regex": True}), ("废", "$1", {"regex": True})):
        with pytest.raises(InvalidInputError):
            desk.start(refused[0], refused[1], **refused[2])
    desk.previews.cancel(desk.principal, plan.id)
    assert desk.documents() == before


# ---- Scopes


def test_a_scope_narrows_to_tables_and_a_pointer(desk: Desk) -> None:
    tables = desk.make(*NOVEL)
    both = (tables[1].id, tables[2].id)
    assert counts(desk.start(WAREHOUSE, tables=both).plan) == (2, 3, 5)
    assert counts(desk.start(WAREHOUSE, tables=both, json_pointer="/scenes").plan) == (1, 2, 3)
    assert counts(desk.start(WAREHOUSE, json_pointer="/text").plan) == (1, 1, 2)


def test_a_scope_never_reaches_a_longer_name(desk: Desk) -> None:
    desk.make({"a": "x", "ab": "x", "a/b": "x"})
    assert counts(desk.start("x", json_pointer="/a").plan) == (1, 1, 1)


def test_a_tool_is_a_scope(desk: Desk) -> None:
    tables = desk.make(*NOVEL)
    tool, _ = desk.tool(tables[1], "/scenes/2")
    assert counts(desk.start(WAREHOUSE, tool_id=tool.id).plan) == (1, 1, 2)
    wide, _ = desk.tool(tables[1], "/scenes")
    narrowed: list[tuple[dict[str, Any], int]] = [
        ({"tables": (tables[1].id, tables[0].id)}, 3),
        ({"tables": (tables[0].id,)}, 0),
        ({"json_pointer": "/scenes/0"}, 1),
        ({"json_pointer": "/scenes"}, 3),
        ({"json_pointer": ""}, 3),
        ({"json_pointer": "/scene"}, 0),
        ({"json_pointer": "/text"}, 0),
    ]
    for also, matches in narrowed:
        assert desk.start(WAREHOUSE, tool_id=wide.id, **also).plan.counts.matches == matches


def test_places_of_an_instance_are_united(desk: Desk) -> None:
    tables = desk.make(*NOVEL)
    places = ((tables[1].id, "/scenes"), (tables[1].id, "/scenes/0"), (tables[0].id, "/text"))
    shown = desk.start(WAREHOUSE, places=places, mcp_id=3)
    assert counts(shown.plan) == (2, 3, 5)
    assert counts(desk.start(WAREHOUSE, places=()).plan) == (0, 0, 0)


def test_what_is_not_the_callers_is_not_there(desk: Desk) -> None:
    [mine] = desk.make("x")
    [theirs] = Desk(desk.store, desk.clock).make("x")
    tool, _ = desk.tool(theirs)
    for scope in ({"tables": (mine.id, theirs.id)}, {"tool_id": tool.id}):
        with pytest.raises(NotFoundError):
            desk.start("x", **scope)
    desk.tables.delete(desk.principal, mine.id)
    with pytest.raises(NotFoundError):
        desk.start("x", tables=(mine.id,))
    assert counts(desk.start("x").plan) == (0, 0, 0)


# ---- Refusals


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
    memory: Desk, find: str, replace_with: str, asked: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as refusal:
        memory.start(find, replace_with, **asked)
    assert find == "" or len(find) < 3 or find not in str(refusal.value)
    assert memory.previews.page(memory.principal, below=None).rows == []


def test_a_third_preview_has_to_wait(desk: Desk) -> None:
    desk.make(*NOVEL)
    slow = desk.having(limits=PreviewLimits(bytes=0)).previews
    for _ in range(plans.MAX_PREVIEWS):
        assert slow.start(desk.principal, asked_for(WAREHOUSE)).plan.state == "previewing"
    with pytest.raises(ReplaceBusyError) as busy:
        desk.start(WAREHOUSE)
    assert busy.value.retry_after_s == 1


def test_a_project_has_so_many_open_plans(desk: Desk) -> None:
    for _ in range(plans.MAX_OPEN_PLANS):
        last = desk.start("x").plan
    with pytest.raises(ReplaceBusyError):
        desk.start("x")
    desk.previews.cancel(desk.principal, last.id)
    assert desk.start("x").plan.state == "ready"


def test_what_is_too_much_fails_the_plan(desk: Desk) -> None:
    desk.make("x" * 101, ["x"] * 900)
    agents: dict[str, Any] = {
        "mcp_id": 3,
        "places": tuple((table, "") for table in desk.documents()),
    }
    with pytest.raises(TooManyMatchesError):
        desk.start("x", **agents)
    [failed] = desk.previews.page(desk.principal, below=None).rows
    assert (failed.state, failed.digest) == ("failed", None)
    assert failed.last_error is not None
    assert failed.last_error["code"] == "TOO_MANY_MATCHES"
    assert desk.start("x").plan.counts.matches == 1_001


def test_more_strings_than_a_plan_may_have(memory: Desk) -> None:
    memory.make(["x"] * plans.MAX_PLANNED_STRINGS)
    assert memory.start("x").plan.counts.strings == plans.MAX_PLANNED_STRINGS
    memory.make("x")
    with pytest.raises(TooManyMatchesError):
        memory.start("x")


def test_a_replacement_that_is_too_long(memory: Desk) -> None:
    memory.make("x" * 5_001)
    with pytest.raises(ReplaceTooLargeError):
        memory.start("x", "y" * 10_000)


def test_replacements_that_are_too_long_in_all_documents_together(memory: Desk) -> None:
    memory.make("x" * 3_000, "x" * 3_000)
    assert memory.start("x", "y" * 8_000).plan.state == "ready"
    with pytest.raises(ReplaceTooLargeError):
        memory.start("x", "y" * 10_000)


def test_a_pointer_that_no_answer_holds(memory: Desk) -> None:
    memory.make({"k" * 20_000: "x", "short": "y"})
    with pytest.raises(ReplaceTooLargeError):
        memory.start("x")
    assert memory.start("y").plan.state == "ready"


# ---- In the queue


def finished(desk: Desk, plan: Plan) -> Plan:
    """Runs workers until a plan is ready; each is sent by the one before."""
    for _ in range(100):
        if desk.orders() != [plan.id]:
            break
        desk.previews.run(plan.id)
    return desk.read(plan.id)


def same(one: Plan, other: Plan) -> bool:
    """Whether two plans show the same."""
    return (one.digest, one.counts, one.state) == (other.digest, other.counts, other.state)


def test_what_takes_too_long_goes_on_in_the_queue(desk: Desk) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    late = desk.having(limits=PreviewLimits(request_s=1.5), clock=TickingClock(1)).previews
    shown = late.start(desk.principal, asked_for(WAREHOUSE, FACTORY))
    assert (shown.plan.state, shown.matches) == ("previewing", ())
    assert (shown.plan.counts.scanned_tables, shown.tables_in_scope) == (1, 4)
    assert same(finished(desk, shown.plan), whole)
    assert desk.strings(shown.plan.id) == desk.strings(whole.id)


def test_each_worker_goes_on_where_the_last_one_ended(desk: Desk) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    slow = desk.having(
        limits=PreviewLimits(request_s=1.5, queue_s=1.5), clock=TickingClock(1)
    ).previews
    plan = slow.start(desk.principal, asked_for(WAREHOUSE, FACTORY)).plan
    desk = desk.having(limits=PreviewLimits(queue_s=2.5), clock=TickingClock(1))
    done = finished(desk, plan)
    assert same(done, whole)
    assert done.runs == 0


@pytest.mark.parametrize("last", range(1, 12))
def test_a_killed_preview_goes_on_and_shows_the_same(desk: Desk, last: int) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    killed = desk.with_fault("before", last).previews
    with pytest.raises(StoppedError):
        killed.start(desk.principal, asked_for(WAREHOUSE, FACTORY))
    begun = [p for p in desk.previews.page(desk.principal, below=None).rows if p.id != whole.id]
    assert len(begun) == (last > 1)
    for plan in begun:
        if plan.state == "previewing":
            assert desk.previews.run(plan.id) == "ready"
        assert same(desk.read(plan.id), whole)
        assert desk.strings(plan.id) == desk.strings(whole.id)
        assert desk.previews.run(plan.id) == "nothing_to_do"


@pytest.mark.parametrize("last", range(1, 11))
def test_a_killed_worker_leaves_nothing_twice(desk: Desk, last: int) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE, FACTORY).plan
    with pytest.raises(StoppedError):
        desk.with_fault("before", last).previews.run(plan.id)
    desk.previews.run(plan.id)
    assert same(desk.read(plan.id), whole)
    assert desk.strings(plan.id) == desk.strings(whole.id)


def test_three_silent_ends_are_the_last(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    for _ in range(3):
        with pytest.raises(StoppedError):
            desk.with_fault("before", 3).previews.run(plan.id)
    assert desk.previews.run(plan.id) == "failed"
    failed = desk.read(plan.id)
    assert failed.state == "failed"
    assert failed.last_error is not None
    assert failed.last_error["code"] == "ATTEMPTS_EXHAUSTED"


def test_a_document_that_does_not_fit_into_the_memory_ends_the_plan(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    assert desk.having(limits=PreviewLimits(document_bytes=10)).previews.run(plan.id) == "failed"
    failed = desk.read(plan.id)
    assert failed.last_error is not None
    assert failed.last_error["code"] == "DOCUMENT_TOO_LARGE"


def test_a_preview_that_comes_further_each_time_is_not_given_up(memory: Desk) -> None:
    memory.make(*["x"] * 8)
    plan = memory.having(limits=PreviewLimits(bytes=0)).start("x").plan
    for _ in range(6):  # begins, lists, reads one and stores it, reads the next one
        with pytest.raises(StoppedError):
            memory.with_fault("before", 5).previews.run(plan.id)
    assert memory.previews.run(plan.id) == "ready"


def test_a_run_that_could_not_is_no_silent_end(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    for _ in range(5):
        with pytest.raises(DatabaseUnavailableError):
            desk.with_fault("away", 3).previews.run(plan.id)
    assert desk.previews.run(plan.id) == "ready"


def test_a_request_that_fails_leaves_no_preview_behind(desk: Desk) -> None:
    desk.make(*NOVEL)
    with pytest.raises(DatabaseUnavailableError):
        desk.with_fault("away", 3).start(WAREHOUSE)
    [plan] = desk.previews.page(desk.principal, below=None).rows
    assert plan.state == "failed"


def test_a_worker_that_fails_for_good_says_why(desk: Desk) -> None:
    desk.make("x" * 5_001)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start("x", "y" * 10_000).plan
    assert desk.previews.run(plan.id) == "failed"
    error = desk.read(plan.id).last_error
    assert error is not None
    assert error["code"] == "REPLACE_TOO_LARGE"


def test_a_large_document_is_left_to_the_queue(memory: Desk) -> None:
    memory.make("x", "x" * 100, "x")
    small = memory.having(limits=PreviewLimits(bytes=50)).previews
    plan = small.start(memory.principal, asked_for("x", "y")).plan
    assert (plan.state, plan.counts.scanned_tables) == ("previewing", 1)
    assert finished(memory, plan).counts.matches == 102


@pytest.mark.parametrize("case_sensitive", [True, False])
def test_documents_without_a_match_are_counted_and_bounded_as_others(
    desk: Desk, *, case_sensitive: bool
) -> None:
    desk.make("y" * 90, "x", "y" * 70, "y")
    small = desk.having(limits=PreviewLimits(bytes=150)).previews
    asked = asked_for("x", "z", case_sensitive=case_sensitive)
    plan = small.start(desk.principal, asked).plan
    assert (plan.state, plan.counts.scanned_tables) == ("previewing", 2)
    done = finished(desk, plan).counts
    assert (done.scanned_tables, done.tables, done.matches) == (4, 1, 1)
    with desk.store.for_all("test") as work:
        ids = work.tables.ids(desk.principal.project_id, after=0, limit=10)
        sizes = [len(work.tables.read(table_id)[1].encode()) for table_id in ids]
    assert done.scanned_bytes == sum(sizes)


def test_tables_that_go_and_come_during_a_preview(desk: Desk) -> None:
    first, second = desk.make("x", "x")
    plan = desk.having(limits=PreviewLimits(bytes=0)).start("x").plan
    desk.tables.delete(desk.principal, first.id)
    third, *_ = desk.make("x")
    shown = desk.previews.read(desk.principal, finished(desk, plan).id)
    assert [row.table_id for row in shown.tables.rows] == [second.id, third.id]
    assert shown.plan.counts.scanned_tables == 2


def test_named_tables_are_looked_through_once_and_while_they_are_there(desk: Desk) -> None:
    tables = desk.make("x", "x", "x", "x")
    named = tuple(table.id for table in reversed(tables[:3]))
    late = desk.having(limits=PreviewLimits(request_s=1.5), clock=TickingClock(1)).previews
    plan = late.start(desk.principal, asked_for("x", tables=named)).plan
    assert (plan.state, counts(plan)) == ("previewing", (1, 1, 1))
    desk.tables.delete(desk.principal, tables[1].id)
    shown = desk.previews.read(desk.principal, finished(desk, plan).id)
    assert [row.table_id for row in shown.tables.rows] == [tables[0].id, tables[2].id]
    assert (shown.plan.counts.scanned_tables, shown.tables_in_scope) == (2, 3)


def test_a_table_that_is_gone_costs_one_transaction(desk: Desk) -> None:
    used = []
    for count in (20, 40):
        *tables, there = desk.make(*["x"] * count, "x")
        named = tuple(table.id for table in (*tables, there))
        small = desk.having(limits=PreviewLimits(bytes=0)).previews
        plan = small.start(desk.principal, asked_for("x", tables=named)).plan
        for table in tables:
            desk.tables.delete(desk.principal, table.id)
        store = BusyStore(desk.store, 0, lambda: None)
        assert desk.having(store=store).previews.run(plan.id) == "ready"
        used.append(store.begun)
    assert used[1] - used[0] == 20


def test_a_worker_advances_by_a_document_however_late_it_began(desk: Desk) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE, FACTORY).plan
    late = desk.having(limits=PreviewLimits(queue_s=0)).previews
    assert [late.run(plan.id) for _ in range(4)] == [*["previewing"] * 3, "ready"]
    assert same(desk.read(plan.id), whole)


@pytest.mark.parametrize("queue_s", [2.5, 60])
def test_two_workers_on_one_plan_do_not_both_write(desk: Desk, queue_s: float) -> None:
    desk.make(*NOVEL)
    other = desk.having(limits=PreviewLimits(queue_s=queue_s), clock=TickingClock(1)).previews
    whole = desk.start(WAREHOUSE, FACTORY).plan
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE, FACTORY).plan

    def overtake() -> None:
        """Another worker does some of it in between, or all."""
        assert other.run(plan.id) in ("previewing", "ready")

    late = desk.having(store=BusyStore(desk.store, 4, overtake)).previews
    assert late.run(plan.id) == "nothing_to_do"
    desk.previews.run(plan.id)
    assert same(desk.read(plan.id), whole)
    assert desk.strings(plan.id) == desk.strings(whole.id)


def test_a_document_that_takes_too_long_is_left_to_the_queue(desk: Desk) -> None:
    desk.make("x", ["x"] * 9, "x")
    whole = desk.start("x+", "y", regex=True).plan
    timely = PreviewLimits(request_s=5.5)
    late = desk.having(limits=timely, clock=TickingClock(1)).previews
    plan = late.start(desk.principal, asked_for("x+", "y", regex=True)).plan
    assert (plan.state, counts(plan)) == ("previewing", (1, 1, 1))
    desk = desk.having(
        limits=PreviewLimits(queue_s=6.5, queue_document_s=40), clock=TickingClock(1)
    )
    assert same(finished(desk, plan), whole)


def test_a_document_that_takes_all_the_time_of_a_worker_ends_the_plan(desk: Desk) -> None:
    desk.make("x", ["x"] * 9)
    late = desk.having(limits=PreviewLimits(bytes=0)).previews
    plan = late.start(desk.principal, asked_for("x+", "y", regex=True)).plan
    desk = desk.having(
        limits=PreviewLimits(queue_s=6.5, queue_document_s=6.5), clock=TickingClock(1)
    )
    failed = finished(desk, plan)
    assert (failed.state, counts(failed)) == ("failed", (1, 1, 1))
    assert failed.last_error is not None
    assert failed.last_error["code"] == "PATTERN_TOO_SLOW"


# ---- Warnings


@pytest.mark.parametrize(
    ("text", "find", "replace_with", "options", "expected"),
    [
        ("ab", "a", "c", {}, ()),
        ("ab", "a", "", {}, ("DELETES_TEXT",)),
        ("ab", "(a)(x)?", "$2", {"regex": True}, ("DELETES_TEXT",)),
        ("ab", "a", "xax", {}, ("MATCHES_AGAIN",)),
        ("ab", "a", "a" * 10_000, {}, ("MATCHES_AGAIN",)),
        ("ab", "a", "XAX", {}, ()),
        ("ab", "a", "XAX", {"case_sensitive": False}, ("MATCHES_AGAIN",)),
        ("cat", "cat", "concat", {"whole_word": True}, ()),
        ("ab", "[a-c]", "<$0>", {"regex": True}, ("MATCHES_AGAIN",)),
        ('{"k": 1}', '"', "", {}, ("DELETES_TEXT", "BREAKS_JSON")),
        ('{"k": "v"}', "v", "w", {}, ()),
        (" [1, 2]", "]", ")", {}, ("BREAKS_JSON",)),
        ("{no json}", "}", ")", {}, ()),
        ("write to jane.doe@example.com", "jane.doe@example.com", "x", {}, ("LOOKS_SENSITIVE",)),
        ("林a1", r"\d", "x", {"regex": True}, ("ASCII_CLASSES",)),
        ("a1", r"\d", "x", {"regex": True}, ()),
        ("林a1", r"\\d|1", "x", {"regex": True}, ()),
        ("林\\d", "\\d", "x", {}, ()),
        ("ab", "a*", "c", {"regex": True}, ("EMPTY_MATCHES",)),
        ("b", "a*", "c", {"regex": True}, ("EMPTY_MATCHES",)),
    ],
)
def test_warnings(
    memory: Desk,
    text: str,
    find: str,
    replace_with: str,
    options: dict[str, bool],
    expected: tuple[str, ...],
) -> None:
    memory.make({"t": text})
    assert memory.start(find, replace_with, **options).plan.counts.warnings == expected


def test_warnings_are_kept_from_run_to_run(desk: Desk) -> None:
    desk.make("[1]", "x]", "x]")
    late = desk.having(limits=PreviewLimits(request_s=1.5), clock=TickingClock(1)).previews
    plan = late.start(desk.principal, asked_for("]", ")")).plan
    assert (plan.state, plan.counts.warnings) == ("previewing", ("BREAKS_JSON",))
    assert finished(desk, plan).counts.warnings == ("BREAKS_JSON",)


# ---- Plans


def test_an_agent_has_the_plans_of_its_instance(desk: Desk) -> None:
    desk.make(*NOVEL)
    agent, other = McpKey(desk.principal.project_id, 3), McpKey(desk.principal.project_id, 4)
    places = tuple((table, "") for table in desk.documents())
    plan = desk.previews.start(agent, asked_for(WAREHOUSE, places=places, mcp_id=3)).plan
    assert plan.previewed_by == "mcp:3"
    assert desk.previews.read(agent, plan.id).plan.id == plan.id
    assert desk.read(plan.id).mcp_id == 3
    of_project = desk.start(WAREHOUSE).plan
    for caller, foreign in ((other, plan), (agent, of_project)):
        with pytest.raises(NotFoundError):
            desk.previews.read(caller, foreign.id)
        with pytest.raises(NotFoundError):
            desk.matches.page(caller, foreign.id)
        with pytest.raises(NotFoundError):
            desk.previews.cancel(caller, foreign.id)
    assert [p.id for p in desk.previews.page(agent, below=None).rows] == [plan.id]


def test_a_foreign_plan_is_not_there(desk: Desk) -> None:
    plan = desk.start("x").plan
    stranger = Desk(desk.store, desk.clock).principal
    for ask in (desk.previews.read, desk.matches.page, desk.previews.cancel):
        with pytest.raises(NotFoundError):
            ask(stranger, plan.id)
    assert desk.previews.page(stranger, below=None).rows == []


def test_a_cancelled_plan_keeps_no_text(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.start(WAREHOUSE, FACTORY).plan
    desk.previews.cancel(desk.principal, plan.id)
    desk.previews.cancel(desk.principal, plan.id)
    cancelled = desk.read(plan.id)
    assert (cancelled.state, cancelled.request) == ("cancelled", None)
    assert (cancelled.counts, cancelled.request_hmac) == (plan.counts, plan.request_hmac)
    assert desk.strings(plan.id) == []


def test_a_preview_that_is_cancelled_ends(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    desk.previews.cancel(desk.principal, plan.id)
    assert desk.previews.run(plan.id) == "nothing_to_do"
    assert desk.read(plan.id).state == "cancelled"


def test_a_plan_that_is_executed_cannot_be_cancelled(desk: Desk) -> None:
    plan = desk.start("x").plan
    with desk.store.for_all("test") as work:
        assert work.plans.begin(plan)
    with pytest.raises(ConflictError):
        desk.previews.cancel(desk.principal, plan.id)


def test_plans_come_in_pages(desk: Desk) -> None:
    made = [desk.start("x").plan.id for _ in range(3)]
    page = desk.previews.page(desk.principal, below=made[2])
    assert [plan.id for plan in page.rows] == [made[1], made[0]]


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


def test_a_document_that_is_deeper_than_python_reads(memory: Desk) -> None:
    deep = "[" * 50_000 + "1" + "]" * 50_000
    owner = memory.principal
    with memory.store.for_all("test") as work:
        work.tables.add(owner.project_id, "t", None, deep)
    with pytest.raises((InvalidDocumentError, DocumentTooLargeError)):
        memory.start("x", case_sensitive=False)


# ---- With RE2


QUADRATIC = "a.*?z|a"
"""Looks for a z from every a on."""


@pytest.mark.slow
def test_a_text_that_takes_too_long_is_left_out(memory: Desk) -> None:
    desk = memory.having(patterns=Re2Patterns())
    desk.make(["aaz", "a" * 1_000_000, "bab"])
    desk = desk.having(limits=PreviewLimits(text_s=0.5))
    plan = desk.start(QUADRATIC, "x", regex=True).plan
    assert (plan.state, plan.engine.partition(" ")[0]) == ("ready", "re2")
    assert counts(plan) == (1, 2, 2)
    assert plan.counts.left_out.too_slow == 1
    [matches] = [desk.matches.page(desk.principal, plan.id).rows]
    assert [match.json_pointer for match in matches] == ["/0", "/2"]


@pytest.mark.slow
def test_a_pattern_that_is_too_slow_everywhere_ends_the_plan(memory: Desk) -> None:
    desk = memory.having(patterns=Re2Patterns())
    desk.make(*["a" * 1_000_000] * 3)
    desk = desk.having(limits=PreviewLimits(text_s=0.2, queue_text_s=0.2))
    with pytest.raises(PatternTooSlowError):
        desk.start(QUADRATIC, "x", regex=True)
    [failed] = desk.previews.page(desk.principal, below=None).rows
    assert failed.last_error is not None
    assert (failed.state, failed.last_error["code"]) == ("failed", "PATTERN_TOO_SLOW")
    queued = desk.having(limits=PreviewLimits(bytes=0)).start(QUADRATIC, "x", regex=True)
    assert desk.previews.run(queued.plan.id) == "failed"
    error = desk.read(queued.plan.id).last_error
    assert error is not None
    assert error["code"] == "PATTERN_TOO_SLOW"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("find", "replace_with", "options", "texts", "matches"),
    [
        ("[cbh]at", "dog", {"regex": True, "whole_word": True}, ["cat bat hat scatter"], 3),
        ("$3.50", "$4", {}, ["it is $3.50", "3x50"], 1),
        ("warehouse", "depot", {}, ["warehouse hero warehouse", "old warehouse in the rain"], 3),
        ("林小雨", "林小溪", {"whole_word": True}, ["林小雨走了，林小雨。"], 2),
        ("林", "李", {"whole_word": True}, ["林小雨"], 1),
        (r"^第(.)章", "第 $1 章", {"regex": True}, ["第一章\n第二章", "见第三章"], 2),
    ],
)
def test_what_users_ask_for(
    memory: Desk,
    find: str,
    replace_with: str,
    options: dict[str, bool],
    texts: list[str],
    matches: int,
) -> None:
    desk = memory.having(patterns=Re2Patterns())
    desk.make(*texts)
    plan = desk.start(find, replace_with, **options).plan
    assert plan.counts.matches == matches
