"""What there is to read: exactly the places with strings that searches of the caller can return."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from context_search.agents.list_tools import ListTools
from context_search.core.callers import McpKey, Principal
from context_search.core.config import SearchConfig
from context_search.core.documents import parse_fielded
from context_search.core.errors import (
    CursorInvalidError,
    DocumentTooLargeError,
    InvalidInputError,
    InvalidPointerError,
    NotFoundError,
)
from context_search.core.filters import parse_filter
from context_search.core.json_pointer import contains
from context_search.core.model import SearchTool, Table
from context_search.integrations.ports import SystemClock
from context_search.mcp.jsonrpc import to_bytes
from context_search.reading.outline import Outlines
from context_search.reading.rules.outlines import seen_in_document
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.reading.tools import outline
from testing.in_memory.clock import ManualClock
from tests.contract.store.bench import PostgresBench

PUBLIC = {"status": {"eq": "public"}}
LONG = "a text of over twenty characters"
ARTICLES = {
    "articles": [
        {"status": "public", "title": "First", "text": LONG, "short": "x", "year": 2020},
        {"status": "draft", "title": "Secret", "text": LONG},
        {"status": "public", "name": "Third", "parts": {"b": LONG, "aa": [LONG, "x", LONG]}},
        {"status": "draft", "title": "Draft", "inner": {"status": "public", "text": LONG}},
    ],
    "other": {"title": "Elsewhere", "text": LONG},
}


def served(
    bench: PostgresBench, document: object, scope: str = "", where: object = None, **more: Any
) -> tuple[SearchTool, Principal]:
    """A tool whose index has compared the document."""
    table = bench.table(document)
    return tool_of(bench, table, scope, where, **more), bench.principal(table)


def tool_of(
    bench: PostgresBench, table: Table, scope: str = "", where: object = None, name: str = "letters"
) -> SearchTool:
    search = SearchConfig(where=None if where is None else parse_filter(where))
    tool, index = bench.tool(table, scope, name=name, search=search)
    if where is not None:
        bench.work.indexes.name_fields(index.id, ["status"])
    bench.enumerate(bench.index(index.id))
    return tool


def outlines(bench: PostgresBench) -> Outlines:
    return Outlines(bench.store, ListTools(bench.store), SystemClock())


def call(bench: PostgresBench, caller: Principal, **arguments: object) -> dict[str, Any]:
    return outline.call(outlines(bench), caller, arguments)


def listed(
    bench: PostgresBench, caller: Principal, pointer: str | None = None, **more: object
) -> list[tuple[object, ...]]:
    """Children as they are shown: key, type, title, length, strings."""
    answer = call(bench, caller, collection="letters", pointer=pointer, **more)
    for child in answer["children"]:
        assert child["pointer"].startswith(answer["place"]["pointer"] + "/")
    return [
        (c["key"], c["type"], c.get("title"), c["length"], c["strings"]) for c in answer["children"]
    ]


def test_children_are_those_with_something_to_read(bench: PostgresBench) -> None:
    tool, caller = served(bench, ARTICLES)
    answer = call(bench, caller, collection="letters")
    assert (answer["collection"], answer["table_id"]) == ("letters", tool.scope.table_id)
    assert answer["place"] == {"pointer": "", "type": "object", "length": 2, "strings": 7}
    assert "cursor" not in answer
    assert "more" not in answer
    assert listed(bench, caller) == [
        ("other", "object", "Elsewhere", 1, 1),
        ("articles", "array", None, 4, 6),
    ]
    assert listed(bench, caller, "/articles") == [
        ("0", "object", "First", 1, 1),
        ("1", "object", "Secret", 1, 1),
        ("2", "object", "Third", 1, 3),
        ("3", "object", "Draft", 1, 1),
    ]
    assert listed(bench, caller, "/articles/2/parts") == [
        ("b", "string", None, len(LONG), 1),
        ("aa", "array", None, 2, 2),
    ]


def test_a_string_is_a_place_without_children(bench: PostgresBench) -> None:
    _, caller = served(bench, ARTICLES)
    answer = call(bench, caller, collection="letters", pointer="/other/text")
    assert answer["children"] == []
    assert answer["place"] == {
        "pointer": "/other/text",
        "type": "string",
        "length": len(LONG),
        "strings": 1,
    }
    _, caller = served(bench, LONG)
    assert call(bench, caller, collection="letters")["place"]["type"] == "string"


@pytest.mark.parametrize("is_known", [True, False])
def test_what_a_where_or_the_threshold_hides_is_not_there(
    bench: PostgresBench, *, is_known: bool
) -> None:
    tool, caller = served(bench, ARTICLES, "/articles", where=PUBLIC)
    if not is_known:
        texts: list[object] = [[], ARTICLES]
        for document in texts:
            text = json.dumps(document)
            bench.work.tables.replace(tool.scope.table_id, text, expected_revision=None)
    assert (bench.work.seen_strings.count(tool) is not None) is is_known
    place = call(bench, caller, collection="letters")["place"]
    assert (place["pointer"], place["length"], place["strings"]) == ("/articles", 3, 5)
    assert listed(bench, caller) == [
        ("0", "object", "First", 1, 1),
        ("2", "object", None, 1, 3),
        ("3", "object", None, 1, 1),
    ]
    assert listed(bench, caller, "/articles/0") == [("text", "string", None, len(LONG), 1)]
    for hidden in ("/articles/1", "/articles/1/text", "/articles/0/short", "/articles/3/title"):
        missing = refusal(bench, caller, hidden)
        assert missing == refusal(bench, caller, "/articles/99")
        assert missing == refusal(bench, caller, "/other")
        assert missing == refusal(bench, caller, "")


def refusal(bench: PostgresBench, caller: Principal, pointer: str) -> str:
    with pytest.raises(NotFoundError) as refused:
        call(bench, caller, collection="letters", pointer=pointer)
    return str(refused.value)


def test_an_index_and_a_document_say_the_same(bench: PostgresBench) -> None:
    rng = random.Random(41)
    for scope, where in [("", None), ("", PUBLIC), ("/k", PUBLIC)]:
        document = {"k": value(rng, 5), "é": value(rng, 4), "status": "public", "": value(rng, 3)}
        tool, _ = served(bench, document, scope, where=where)
        with bench.store.for_project(tool.project_id) as work:
            _, text = work.tables.read(tool.scope.table_id)
            parsed = parse_fielded(text)
            visible = VisibleStrings([tool]).in_document(tool.scope.table_id, parsed)
            pointers = ["", "/k", "/k/0", "/k/b", "/", "/é", "/nowhere", "/k/1", "/k/zz"]
            for pointer in (each for each in pointers if contains(scope, each)):
                for after, limit in [(0, 100), (1, 2), (2, 1), (50, 9)]:
                    known = work.seen_strings.children(tool, pointer, after=after, limit=limit)
                    assert known is not None
                    assert known.is_known
                    wanted = seen_in_document(visible, pointer, after=after, limit=limit)
                    assert known.place == wanted


def value(rng: random.Random, depth: int) -> object:
    kind = rng.choice(["text", "object", "list"]) if depth else "text"
    if kind == "text":
        return rng.choice([LONG, "short", LONG * 2, 7, None])
    if kind == "list":
        return [value(rng, depth - 1) for _ in range(rng.randrange(12))]
    keys = rng.sample(["a/b", "~", "b", "", "zz", "字", "10", "9", "é", "k1", "k~1"], 6)
    status = rng.choice([{}, {"status": "public"}, {"status": "draft"}])
    return {key: value(rng, depth - 1) for key in keys} | status


def test_pages_one_behind_the_other_are_all_children(bench: PostgresBench) -> None:
    rows = [LONG if number % 2 else "short" for number in range(45)]
    _, caller = served(bench, rows)
    found, cursor, sentences = [], None, []
    while True:
        page = call(bench, caller, collection="letters", limit=10, cursor=cursor)
        found += [int(child["key"]) for child in page["children"]]
        sentences.append(page.get("more"))
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert found == [*range(1, 45, 2)]
    assert sentences == [
        "Children 1 to 10 of 22 are here. Call outline with this cursor for more.",
        "Children 11 to 20 of 22 are here. Call outline with this cursor for more.",
        None,
    ]
    for behind in ("100", str(2**63 - 1)):
        assert call(bench, caller, collection="letters", cursor=behind)["children"] == []


def test_an_answer_fits_whatever_the_keys(bench: PostgresBench) -> None:
    document = {f"{n:03}" * 700: LONG for n in range(40)} | {"k" * 12_000: {"inner": LONG}}
    _, caller = served(bench, document)
    found: list[str] = []
    cursor, more = None, ""
    while True:
        page = call(bench, caller, collection="letters", limit=100, cursor=cursor)
        assert len(to_bytes(page)) <= 60_000
        found += [child["key"] for child in page["children"]]
        more += page.get("more", "")
        cursor = page.get("cursor")
        if cursor is None:
            break
    assert len(found) == len(set(found)) == 40
    assert "1 children are left out: their pointers are too long." in more
    with pytest.raises(DocumentTooLargeError):
        call(bench, caller, collection="letters", pointer="/" + "k" * 12_000)


def test_sensitive_titles_are_hidden_from_agents_that_redact(bench: PostgresBench) -> None:
    mail = "mary.keeper@lighthouse.example"
    document = [
        {"title": f"Ask {mail}", "text": LONG},
        {"title": "w" * 110 + f" {mail}", "text": LONG},
        {"title": "ghp_" + "aB3dE5gH7jK9" * 1_000, "text": LONG},
    ]
    tool, _ = served(bench, document)
    with bench.store.for_all("test") as work:
        mcp = work.mcp_instances.add(tool.project_id, "agents")
        work.mcp_instances.bind(mcp.id, tool.id, status=True)
    agent = McpKey(tool.project_id, mcp.id)
    plain = [child[2] for child in listed(bench, agent)]
    assert plain[0] == f"Ask {mail}"
    assert all(isinstance(title, str) and len(title) <= 120 for title in plain)
    titles = [child[2] for child in listed(bench, replace(agent, redacts=True))]
    assert titles[0] == "Ask [redacted:email]"
    assert "mary" not in str(titles[1])
    assert "dE5gH7" not in str(titles[2])


def test_collections_are_the_tools_of_the_caller(bench: PostgresBench) -> None:
    table = bench.table(ARTICLES)
    first = tool_of(bench, table)
    second = tool_of(bench, table, "/articles", where=PUBLIC, name="公开")
    caller = bench.principal(table)
    page = call(bench, caller, limit=1)
    assert page["collections"] == [
        {
            "name": "letters",
            "title": "letters",
            "description": "",
            "table_id": table.id,
            "pointer": "",
            "strings": 7,
        }
    ]
    assert page["more"] == "There are more collections. Call outline with this cursor for more."
    rest = call(bench, caller, cursor=page["cursor"])
    assert [(c["name"], c["title"], c["strings"]) for c in rest["collections"]] == [
        (f"GongKai_{second.id}", "公开", 5)
    ]
    assert "cursor" not in rest
    with bench.store.for_all("test") as work:
        mcp = work.mcp_instances.add(table.project_id, "agents")
        work.mcp_instances.bind(mcp.id, second.id, status=True)
        work.mcp_instances.bind(mcp.id, first.id, status=False)
    agent = McpKey(table.project_id, mcp.id)
    assert [c["pointer"] for c in call(bench, agent)["collections"]] == ["/articles"]
    with pytest.raises(InvalidInputError, match=f"GongKai_{second.id}"):
        call(bench, agent, collection="letters")


def test_nothing_is_counted_when_the_time_is_over_or_the_index_is_behind(
    bench: PostgresBench,
) -> None:
    tool, caller = served(bench, ARTICLES)
    clock = ManualClock()
    late = Outlines(bench.store, ListTools(bench.store), clock)
    assert late.collections(caller, after=0, limit=5).rows[0].strings == 7
    table_id = tool.scope.table_id
    bench.work.tables.replace(table_id, json.dumps([LONG]), expected_revision=None)
    assert late.collections(caller, after=0, limit=5).rows[0].strings is None
    assert [row[0] for row in listed(bench, caller)] == ["0"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"pointer": "/articles"}, InvalidInputError),
        ({"collection": "letters", "pointer": "articles"}, InvalidPointerError),
        ({"collection": "letters", "pointer": "/~2"}, InvalidPointerError),
        ({"collection": "letters", "cursor": "-1"}, CursorInvalidError),
        ({"collection": "letters", "cursor": "٣"}, CursorInvalidError),
        ({"collection": "letters", "cursor": str(2**63)}, CursorInvalidError),
        ({"collection": "letters", "limit": 101}, InvalidInputError),
        ({"collection": "letters", "limit": 0}, InvalidInputError),
        ({"collection": "no such"}, InvalidInputError),
        ({"collection": "letters", "pointer": "/articles/00"}, NotFoundError),
        ({"collection": "letters", "pointer": "/articles/-1"}, NotFoundError),
        ({"collection": "letters", "pointer": "/articles/0/text/x"}, NotFoundError),
        ({"collection": "letters", "pointer": "/artic"}, NotFoundError),
        ({"collection": "letters", "pointer": "/%"}, NotFoundError),
        ({"unknown": 1}, InvalidInputError),
    ],
)
def test_bad_arguments_are_refused(
    bench: PostgresBench, arguments: dict[str, object], error: type[Exception]
) -> None:
    _, caller = served(bench, ARTICLES)
    with pytest.raises(error):
        call(bench, caller, **arguments)
