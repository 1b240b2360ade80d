"""Reading around a cite or a place, and what becomes of cites."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from context_search.agents.list_tools import ListTools
from context_search.catalog.rules.versions import HistoryLimits
from context_search.core.callers import Principal
from context_search.core.cites import Cite
from context_search.core.errors import InvalidInputError, NotFoundError
from context_search.core.model import SearchTool, Table
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.reading.read import ReadTexts
from context_search.reading.rules.texts import SeenText, WantedText
from tests.builders import english
from tests.reading.library import Library

PUBLIC = {"status": {"eq": "public"}}
TEXT = english(3_000)
DOCUMENT = {
    "letters": [
        {"status": "public", "text": TEXT, "short": "too short"},
        {"status": "draft", "text": english(900, seed=3)},
    ]
}
FIRST = "/letters/0/text"
SECRET = "write to anna.example@example.org today"


@pytest.fixture
def reading(library: Library) -> ReadTexts:
    return ReadTexts(library.store, ListTools(library.store), TiktokenCounter())


def cite_of(table: Table, pointer: str, text: str, start: int, end: int, revision: int = 1) -> Cite:
    return Cite.of(table.id, pointer, revision, start, text[start:end], end)


def shown(seen: SeenText) -> tuple[str, int, int]:
    return seen.text or "", seen.start, seen.end


def test_a_cite_is_read_with_what_stands_around_it(library: Library, reading: ReadTexts) -> None:
    table = library.table(DOCUMENT)
    agent = library.agent(library.tool(table))
    cite = cite_of(table, FIRST, TEXT, 1_000, 1_200)
    seen = reading.read(agent, WantedText(cite, before=100, after=50))
    assert shown(seen) == (TEXT[900:1_250], 900, 1_250)
    assert (seen.status, seen.cited, seen.length) == ("current", (1_000, 1_200), len(TEXT))
    assert (seen.json_pointer, seen.revision, seen.is_cut) == (FIRST, table.revision, False)
    again = reading.read(agent, WantedText(seen.cite, before=0, after=0))
    assert shown(again) == shown(seen)


def test_next_and_previous_lead_through_the_whole_string(
    library: Library, reading: ReadTexts
) -> None:
    table = library.table(DOCUMENT)
    agent = library.agent(library.tool(table))
    middle = cite_of(table, FIRST, TEXT, 1_400, 1_900)
    seen = reading.read(agent, WantedText(middle, before=0, after=0))
    behind, before = [seen], [seen]
    while (following := behind[-1].next) is not None:
        behind.append(reading.read(agent, WantedText(following, before=0, after=0)))
    while (previous := before[-1].previous) is not None:
        before.append(reading.read(agent, WantedText(previous, before=0, after=0)))
    parts = [*before[:0:-1], *behind]
    assert "".join(part.text or "" for part in parts) == TEXT
    assert {part.status for part in parts} == {"current"}


def test_a_place_of_a_collection_is_read(library: Library, reading: ReadTexts) -> None:
    tool = library.tool(library.table(DOCUMENT))
    agent = library.agent(tool)
    [named], _ = ListTools(library.store).page(agent)
    wanted = WantedText(collection=named.name, json_pointer=FIRST, start=200, before=10, after=30)
    seen = reading.read(agent, wanted)
    assert shown(seen) == (TEXT[190:230], 190, 230)
    assert seen.collection == named.name
    with pytest.raises(InvalidInputError, match="3000 characters"):
        reading.read(agent, replace(wanted, start=3_001))
    with pytest.raises(InvalidInputError, match=f"known names: {named.name}"):
        reading.read(agent, replace(wanted, collection="another"))


def test_a_text_is_cut_to_its_tokens_with_what_is_cited_in_it(
    library: Library, reading: ReadTexts
) -> None:
    table = library.table(DOCUMENT)
    agent, counter = library.agent(library.tool(table)), TiktokenCounter()
    cite = cite_of(table, FIRST, TEXT, 1_000, 1_100)
    seen = reading.read(agent, WantedText(cite, before=900, after=900, max_tokens=100))
    assert seen.is_cut
    assert seen.start < 1_000
    assert seen.end > 1_100
    assert 90 <= counter.count(seen.text or "") <= 100
    small = reading.read(agent, WantedText(cite, before=900, after=900, max_tokens=5))
    assert small.start == 1_000
    assert 0 < counter.count(small.text or "") <= 5


# ---- What becomes of a cite.


def changed_to(text: str) -> dict[str, object]:
    return {"letters": [{"status": "public", "text": text}]}


def test_text_that_moved_is_found_where_it_stands_now(library: Library, reading: ReadTexts) -> None:
    table = library.table(DOCUMENT)
    tool = library.tool(table)
    cite = cite_of(table, FIRST, TEXT, 1_000, 1_200)
    for tools in ([], [tool]):  # the index follows, or does not yet
        library.change(table, changed_to("Inserted. " + TEXT), *tools)
        seen = reading.read(library.agent(tool), WantedText(cite, before=0, after=0))
        assert (seen.status, *shown(seen)) == ("moved", TEXT[1_000:1_200], 1_010, 1_210)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_text_that_changed_says_so_and_what_it_was(
    library: Library, reading: ReadTexts, *, is_recorded: bool
) -> None:
    table = library.table(DOCUMENT)
    tool = library.tool(table)
    if not is_recorded:
        with library.store.for_all("test") as work:
            work.projects.lock_settings(HistoryLimits, library.project.id)
            work.projects.write_settings(library.project.id, HistoryLimits(keep_count=0))
    cite = cite_of(table, FIRST, TEXT, 1_000, 1_200, table.revision)
    library.write(table, changed_to(TEXT[:1_100] + "Other words. " + TEXT[1_150:]))
    seen = reading.read(library.agent(tool), WantedText(cite, before=0, after=0))
    assert (seen.status, seen.start, seen.end) == ("changed", 1_000, 1_200)
    assert seen.was == (TEXT[1_000:1_200] if is_recorded else None)


def shorter(library: Library, table: Table, tool: SearchTool) -> None:
    library.change(table, changed_to("short"), tool)


def removed(library: Library, table: Table, tool: SearchTool) -> None:
    library.change(table, {"letters": []}, tool)


def removed_just_now(library: Library, table: Table, tool: SearchTool) -> None:
    library.change(table, {"letters": []})


def hidden_by_where(library: Library, table: Table, tool: SearchTool) -> None:
    library.change(table, {"letters": [{"status": "draft", "text": TEXT}]})


Hide = Callable[[Library, Table, SearchTool], None]


@pytest.mark.parametrize("hide", [shorter, removed, removed_just_now, hidden_by_where])
def test_a_string_that_no_search_returns_any_more_is_gone(
    library: Library, reading: ReadTexts, hide: Hide
) -> None:
    table = library.table(DOCUMENT)
    tool = library.tool(table, where=PUBLIC)
    agent = library.agent(tool)
    cite = cite_of(table, FIRST, TEXT, 1_000, 1_200)
    assert reading.read(agent, WantedText(cite)).status == "current"
    hide(library, table, tool)
    assert reading.read(agent, WantedText(cite)) == SeenText("gone", table.id, cite)


# ---- Who sees what.


@pytest.mark.parametrize(
    ("pointer", "where", "scope", "is_seen"),
    [
        (FIRST, None, "", True),
        (FIRST, PUBLIC, "", True),
        (FIRST, PUBLIC, "/letters/0", True),
        (FIRST, None, "/letters/1", False),
        ("/letters/1/text", None, "", True),
        ("/letters/1/text", PUBLIC, "", False),
        ("/letters/0/short", None, "", False),
        ("/letters/0/status", PUBLIC, "", False),
        ("/letters/0", None, "", False),
        ("/letters/9/text", None, "", False),
        ("", None, "", False),
    ],
)
def test_reading_shows_what_a_search_can_return(
    library: Library,
    reading: ReadTexts,
    pointer: str,
    where: object,
    scope: str,
    *,
    is_seen: bool,
) -> None:
    table = library.table(DOCUMENT)
    agent = library.agent(library.tool(table, scope, where=where))
    [named], _ = ListTools(library.store).page(agent)
    by_place = WantedText(collection=named.name, json_pointer=pointer)
    by_cite = WantedText(Cite.of(table.id, pointer, table.revision, 0, None, 10))
    if is_seen:
        assert reading.read(agent, by_place).text
        assert reading.read(agent, by_cite).status == "current"
        return
    with pytest.raises(NotFoundError):
        reading.read(agent, by_place)
    assert reading.read(agent, by_cite).status == "gone"


def test_a_table_without_a_tool_of_the_caller_is_not_there(
    library: Library, reading: ReadTexts
) -> None:
    mine, other = library.table(DOCUMENT), library.table(DOCUMENT)
    tool = library.tool(mine)
    library.tool(other)
    stranger = Library(library.bench)
    callers: list[Principal] = [stranger.owner, stranger.agent(), library.agent()]
    cite = cite_of(mine, FIRST, TEXT, 0, 10)
    for caller in callers:
        with pytest.raises(NotFoundError):
            reading.read(caller, WantedText(cite))
    agent = library.agent(tool)
    with pytest.raises(NotFoundError):
        reading.read(agent, WantedText(cite_of(other, FIRST, TEXT, 0, 10)))
    assert reading.read(library.owner, WantedText(cite)).status == "current"
    with library.store.for_all("test") as work:
        work.mcp_instances.set_status(agent.mcp_id, tool.id, status=False)
    with pytest.raises(NotFoundError):
        reading.read(agent, WantedText(cite))


def test_a_project_key_reads_what_project_search_finds(
    library: Library, reading: ReadTexts
) -> None:
    table = library.table(DOCUMENT)
    cite = cite_of(table, FIRST, TEXT, 0, 10)
    with pytest.raises(NotFoundError):
        reading.read(library.owner, WantedText(cite))
    index = library.bench.project_index(library.project.id, library.config)
    library.bench.compare(index, table)
    seen = reading.read(library.owner, WantedText(cite))
    assert (seen.status, seen.collection) == ("current", None)
    with pytest.raises(NotFoundError):
        reading.read(library.agent(), WantedText(cite))


def test_who_may_not_see_secrets_reads_and_guesses_none(
    library: Library, reading: ReadTexts
) -> None:
    text = f"{TEXT[:500]} {SECRET} {TEXT[500:]}"
    table = library.table({"a": text})
    tool = library.tool(table)
    agent = library.agent(tool, redacts=True)
    at = text.index("anna")
    wanted = WantedText(Cite.of(table.id, "/a", 1, at, None, at + 10), before=50, after=50)
    seen = reading.read(agent, wanted)
    assert "example" not in (seen.text or "")
    assert "[redacted:email]" in (seen.text or "")
    assert seen.cite.is_of(seen.text or "")
    for document, status in (({"a": text, "b": TEXT}, "current"), ({"a": f"x{text}"}, "moved")):
        library.change(table, document, tool)
        assert reading.read(agent, replace(wanted, cite=seen.cite)).status == status
    guesses = [cite_of(table, "/a", each, at, at + 10) for each in (text, text.upper())]
    found = [reading.read(agent, replace(wanted, cite=cite)).status for cite in guesses]
    assert found == ["changed", "changed"]


def test_the_owner_follows_the_cite_of_an_agent_that_does_not_see_secrets(
    library: Library, reading: ReadTexts
) -> None:
    text = f"{TEXT[:500]} {SECRET} {TEXT[500:]}"
    table = library.table({"a": text})
    agent = library.agent(library.tool(table), redacts=True)
    cite = Cite.of(table.id, "/a", 1, 480, None, 580)
    seen = reading.read(agent, WantedText(cite, before=0, after=0))
    assert "[redacted:email]" in (seen.text or "")
    own = reading.read(library.owner, WantedText(seen.cite, before=0, after=0))
    assert (own.status, own.text) == ("current", text[480:580])


# ---- Forged cites.


@pytest.mark.parametrize("hide", ["where", "threshold", "deleted"])
def test_no_forged_cite_reads_a_version_that_the_caller_never_saw(
    library: Library, reading: ReadTexts, hide: str
) -> None:
    hidden = {"where": TEXT, "threshold": TEXT[:9], "deleted": TEXT}[hide]
    status = "draft" if hide == "where" else "public"
    table = library.table({"letters": [{"status": status, "text": hidden}]})
    tool = library.tool(table, where=PUBLIC)
    agent, now = library.agent(tool), english(3_000, seed=8)
    library.write(table, {"letters": [{"status": "public", "text": now}]})
    for at in range(8):
        exact = cite_of(table, FIRST, hidden, at, at + 1)
        for cite in (exact, replace(exact, digest=b"")):
            seen = reading.read(agent, WantedText(cite, before=0, after=0))
            assert seen.was is None
        blind = reading.read(agent, WantedText(replace(exact, digest=b""), before=0, after=0))
        assert blind.status == "changed"
    whole = cite_of(table, FIRST, hidden, 0, len(hidden))
    was = reading.read(agent, WantedText(whole, before=0, after=0)).was
    assert was == (TEXT if hide == "deleted" else None)


def test_a_cite_is_followed_in_a_document_that_no_index_has_yet(
    library: Library, reading: ReadTexts
) -> None:
    table = library.table(DOCUMENT)
    tool = library.tool(table)
    library.change(table, {"new": TEXT})
    agent = library.agent(tool)
    cite = cite_of(table, "/new", TEXT, 5, 50)
    assert reading.read(agent, WantedText(cite)).status == "current"
    missing = cite_of(table, "/newer", TEXT, 5, 50)
    assert reading.read(agent, WantedText(missing)).status == "gone"


def test_a_place_beyond_the_end_is_no_place_of_a_text(library: Library, reading: ReadTexts) -> None:
    table = library.table(DOCUMENT)
    agent = library.agent(library.tool(table))
    for digest in (b"", b"digest"):
        beyond = Cite.of(table.id, FIRST, table.revision, 5_000, None, 5_010)
        seen = reading.read(agent, WantedText(replace(beyond, digest=digest), before=0, after=0))
        assert (seen.status, seen.text) == ("changed", "")


def test_a_pointer_that_is_deeper_than_any_document_is_not_looked_for(
    library: Library, reading: ReadTexts
) -> None:
    tool = library.tool(library.table(DOCUMENT))
    wanted = WantedText(collection=tool.name, json_pointer="/00" * 33_000)
    [named], _ = ListTools(library.store).page(library.owner)
    with pytest.raises(NotFoundError):
        reading.read(library.owner, replace(wanted, collection=named.name))
