"""Which strings an agent sees and changes: those that a search with its tools can return."""

from __future__ import annotations

import json

import pytest

from context_search.core.config import SearchConfig
from context_search.core.documents import parse_fielded, strings_at
from context_search.core.filters import parse_filter
from context_search.core.model import Scope, SearchTool
from context_search.reading.rules.visible_strings import VisibleStrings

PUBLIC = {"status": {"eq": "public"}}
DOCUMENT = {
    "status": "public",
    "articles": [
        {"status": "public", "tags": ["long tag", "b"], "text": "twelve chars", "note": {"n": 1}},
        {"status": "draft", "text": "hidden chars", "short": "x"},
        {"author": {"name": "Somebody New", "status": {"was": "a long value"}}},
    ],
}


def tool(
    number: int, where: object = None, *, scope: str = "", threshold: int = 6, table: int = 1
) -> SearchTool:
    return SearchTool(
        id=number,
        project_id=1,
        name="t",
        description=None,
        table_name=None,
        scope=Scope(table, scope),
        search=SearchConfig(where=None if where is None else parse_filter(where)),
        index_id=1,
        created_at=None,
        threshold=threshold,
    )


def places(visible: VisibleStrings, table: int = 1) -> tuple[set[str], set[str]]:
    """What is shown, and what of it may not be changed."""
    document = parse_fielded(json.dumps(DOCUMENT))
    found = visible.in_document(table, document)
    strings = [(each.json_pointer, each.text) for each in strings_at(document, [""])]
    shown = {pointer for pointer, text in strings if found.shows(pointer, text)}
    changed = {pointer for pointer, text in strings if found.may_change(pointer, text)}
    assert changed <= shown
    return shown, shown - changed


FIRST, THIRD = "/articles/0", "/articles/2/author"


@pytest.mark.parametrize(
    ("tools", "shown", "kept"),
    [
        ([], [], []),
        ([tool(1, table=2)], [], []),
        ([tool(1, scope="/articles/1")], ["/articles/1/text"], []),
        ([tool(1, scope="/articles/1", threshold=13)], [], []),
        (
            [tool(1, PUBLIC)],
            ["/status", f"{FIRST}/status", f"{FIRST}/tags/0", f"{FIRST}/text"],
            ["/status", f"{FIRST}/status"],
        ),
        (
            [tool(1, {"tags": {"contains": "b"}}, scope="/articles")],
            [f"{FIRST}/status", f"{FIRST}/tags/0", f"{FIRST}/text"],
            [f"{FIRST}/tags/0"],
        ),
        (
            [tool(1, {"author/name": {"eq": "Somebody New"}}, scope="/articles/2")],
            [f"{THIRD}/name", f"{THIRD}/status/was"],
            [f"{THIRD}/name"],
        ),
        # What another tool shows, too, is a gate all the same.
        (
            [tool(1, PUBLIC, scope="/articles/1"), tool(2, scope="/status")],
            ["/status"],
            ["/status"],
        ),
        (
            [tool(1, PUBLIC, scope="/articles/1"), tool(2, scope=FIRST)],
            [f"{FIRST}/status", f"{FIRST}/tags/0", f"{FIRST}/text"],
            [],
        ),
        ([tool(1, {"status": {"eq": "draft"}}, scope=THIRD)], [], []),
    ],
)
def test_a_string_passes_one_tool_and_is_no_field_that_a_where_reads(
    tools: list[SearchTool], shown: list[str], kept: list[str]
) -> None:
    assert places(VisibleStrings(tools)) == ({*shown}, {*kept})


def test_one_tool_narrows_what_is_shown_and_frees_no_field_of_another() -> None:
    tools = [tool(1, PUBLIC, scope="/articles"), tool(2, scope="/articles/1", threshold=5)]
    shown = {"/articles/1/status", "/articles/1/text"}
    assert places(VisibleStrings(tools, only=2)) == (shown, {"/articles/1/status"})
    assert VisibleStrings(tools, only=2).scopes == (Scope(1, "/articles/1"),)


def test_scopes_are_told_once_and_cover_what_is_below() -> None:
    visible = VisibleStrings([tool(1, scope="/b"), tool(2, scope="/a"), tool(3, scope="/b")])
    assert visible.scopes == (Scope(1, "/a"), Scope(1, "/b"))
    assert [visible.covers(1, place) for place in ("/a", "/a/b", "/ab", "")] == [1, 1, 0, 0]
    assert not visible.covers(2, "/a")
