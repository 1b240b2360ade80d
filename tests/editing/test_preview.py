"""A preview says what would change, and changes nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from context_search.core.callers import McpKey
from context_search.core.errors import ConflictError, NotFoundError
from context_search.core.json_pointer import contains
from context_search_editing.previewing import PreviewLimits
from context_search_editing.rules.replacing import ReplaceRequest
from tests.editing.brute_force import brute_force
from tests.editing.novel import FACTORY, NOVEL, WAREHOUSE, asked_for, hashed
from tests.editing.replacing import Desk, counts
from tests.text.brute_force import TEXTS


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


def test_places_of_an_instance_are_united(stored: Desk) -> None:
    tables = stored.make(*NOVEL)
    places = ((tables[1].id, "/scenes"), (tables[1].id, "/scenes/0"), (tables[0].id, "/text"))
    shown = stored.start(WAREHOUSE, places=places, mcp_id=stored.agent(*tables).mcp_id)
    assert counts(shown.plan) == (2, 3, 5)
    assert counts(stored.start(WAREHOUSE, places=()).plan) == (0, 0, 0)


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
        ("ab", "a", "x\u200bc", {}, ("HIDDEN_CHARACTERS",)),
        ("ab", "a", "x\ufe01", {}, ("HIDDEN_CHARACTERS",)),
        ("ab", "a", "x\ny \u2764\ufe0f", {}, ()),
        ("ab", "x", "\u200b", {}, ()),
        ("a1", r"\d", "x", {"regex": True}, ()),
        ("林a1", r"\\d|1", "x", {"regex": True}, ()),
        ("林\\d", "\\d", "x", {}, ()),
        ("ab", "a*", "c", {"regex": True}, ("EMPTY_MATCHES",)),
        ("b", "a*", "c", {"regex": True}, ("EMPTY_MATCHES",)),
    ],
)
def test_warnings(
    model: Desk,
    text: str,
    find: str,
    replace_with: str,
    options: dict[str, bool],
    expected: tuple[str, ...],
) -> None:
    model.make({"t": text})
    assert model.start(find, replace_with, **options).plan.counts.warnings == expected


def test_an_agent_has_the_plans_of_its_instance(stored: Desk) -> None:
    stored.make(*NOVEL)
    agent, other = McpKey(stored.principal.project_id, 3), McpKey(stored.principal.project_id, 4)
    places = tuple((table, "") for table in stored.documents())
    plan = stored.previews.start(agent, asked_for(WAREHOUSE, places=places, mcp_id=3)).plan
    assert plan.previewed_by == "mcp:3"
    assert stored.previews.read(agent, plan.id).plan.id == plan.id
    assert stored.read(plan.id).mcp_id == 3
    of_project = stored.start(WAREHOUSE).plan
    for caller, foreign in ((other, plan), (agent, of_project)):
        with pytest.raises(NotFoundError):
            stored.previews.read(caller, foreign.id)
        with pytest.raises(NotFoundError):
            stored.matches.page(caller, foreign.id)
        with pytest.raises(NotFoundError):
            stored.previews.cancel(caller, foreign.id)
    assert [p.id for p in stored.previews.page(agent, below=None).rows] == [plan.id]


def test_a_preview_that_is_cancelled_ends(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    desk.previews.cancel(desk.principal, plan.id)
    assert desk.previews.run(plan.id) == "nothing_to_do"
    assert desk.read(plan.id).state == "cancelled"


def test_a_plan_that_is_executed_cannot_be_cancelled(desk: Desk) -> None:
    plan = desk.start("x").plan
    assert desk.work.plans.begin(replace(plan, state="executing"))
    with pytest.raises(ConflictError):
        desk.previews.cancel(desk.principal, plan.id)
