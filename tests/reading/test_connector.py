"""Search and fetch as connectors call them: what they find, whole texts, windows of long ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.agents.list_tools import ListTools
from context_search.core.callers import Principal
from context_search.core.cites import Cite
from context_search.core.errors import ContextSearchError, InvalidInputError, NotFoundError
from context_search.core.model import SearchTool, Table
from context_search.integrations.models.tiktoken_counter import TiktokenCounter
from context_search.reading.connector import Connector
from context_search.reading.passages import DescribePassages
from context_search.reading.read import ReadTexts
from context_search.reading.rules.tiles import MAX_WINDOW, TILE, window_around, windows_beside
from context_search.reading.search_all import SearchAll
from context_search.reading.tools import connector
from context_search.searching.retrieve import RedactHits
from context_search.searching.targets import Searches
from testing.in_memory.clock import ManualClock
from tests.builders import english
from tests.contract.store.bench import PostgresBench
from tests.reading.library import Library
from tests.system import System, prose

PUBLIC = {"status": {"eq": "public"}}
LONG, SHORT = english(120_000), english(2_000, seed=2)
FIRST, SECOND = "/letters/0/text", "/letters/1/text"
DOCUMENT = {
    "letters": [
        {"status": "public", "title": "Comets", "text": SHORT},
        {"status": "public", "text": LONG},
        {"status": "draft", "title": "Secret", "text": english(900, seed=3)},
    ]
}
PUBLIC_URL = "https://search.example/"


def connector_of(bench: PostgresBench, searches: Searches) -> Connector:
    store, clock, counter = bench.store, ManualClock(), TiktokenCounter()
    tools, describe = ListTools(store), DescribePassages(store, clock, RedactHits(store))
    describe = replace(describe, public_url=PUBLIC_URL)
    search = SearchAll(tools, searches, describe, counter, clock)
    texts = ReadTexts(store, tools, counter, PUBLIC_URL)
    return Connector(store, tools, search, texts, clock)


@dataclass(frozen=True)
class Reader:
    """A caller of ``fetch``."""

    use: Connector
    caller: Principal

    def fetch(self, cite: object) -> dict[str, Any]:
        return connector.fetch(self.use, self.caller, {"id": str(cite)})

    def refusal(self, cite: object) -> str:
        with pytest.raises(ContextSearchError) as refused:
            self.fetch(cite)
        return f"{refused.value.code} {refused.value}"


@pytest.fixture
def use(bench: PostgresBench) -> Connector:
    return connector_of(bench, System().searches)


def cite_of(table: Table, pointer: str, text: str, start: int, end: int) -> Cite:
    return Cite.of(table.id, pointer, 1, start, text[start:end], end)


def made(library: Library, **more: Any) -> tuple[Table, SearchTool]:
    table = library.table(DOCUMENT)
    return table, library.tool(table, **more)


def test_a_search_finds_what_fetch_returns(bench: PostgresBench) -> None:
    system = System(store=bench.store)
    assert bench.project().id == system.principal.project_id
    texts = [prose(2_000, number) for number in range(3)]
    for number, text in enumerate(texts):
        system.tool(system.table({"title": f"No {number}", "text": text}))
    system.work()
    use = connector_of(bench, system.searches)
    found = connector.search(use, system.principal, {"query": "harbour winter garden"})
    assert found.keys() == {"results"}
    assert 3 <= len(found["results"]) <= 10
    assert len(json.dumps(found)) < 5_000
    for result in found["results"]:
        assert result.keys() == {"id", "title", "url"}
        assert result["url"] == f"{PUBLIC_URL}console#/cite/{result['id']}"
        fetched = connector.fetch(use, system.principal, {"id": result["id"]})
        assert (fetched["id"], fetched["title"]) == (result["id"], result["title"])
        assert fetched["text"] == texts[int(result["title"].removeprefix("No "))]


def test_a_string_is_fetched_whole(library: Library, use: Connector) -> None:
    table, tool = made(library)
    cite = cite_of(table, FIRST, SHORT, 500, 700)
    fetched = Reader(use, library.agent(tool)).fetch(cite)
    assert fetched == {
        "id": str(cite),
        "title": "Comets",
        "url": f"{PUBLIC_URL}console#/cite/{cite}",
        "text": SHORT,
        "metadata": {
            "table_id": str(table.id),
            "pointer": FIRST,
            "status": "current",
            "revision": "1",
        },
    }


def test_a_title_is_the_name_of_the_table_or_the_pointer(
    bench: PostgresBench, library: Library, use: Connector
) -> None:
    table, tool = made(library)
    reader, cite = Reader(use, library.agent(tool)), cite_of(table, SECOND, LONG, 0, 9)
    assert reader.fetch(cite)["title"] == "t"
    with bench.database.transaction() as tx:
        tx.run("UPDATE context_table SET name = NULL WHERE id = :id", id=table.id)
    assert reader.fetch(cite)["title"] == SECOND


def test_a_text_that_moved_or_changed_is_fetched_with_its_status(
    library: Library, use: Connector
) -> None:
    table, tool = made(library)
    reader = Reader(use, library.agent(tool))
    cite = cite_of(table, FIRST, SHORT, 500, 700)
    moved = {"letters": [{"text": f"Before it. {SHORT}"}]}
    library.change(table, moved, tool)
    fetched = reader.fetch(cite)
    assert fetched["metadata"]["status"] == "moved"
    assert fetched["text"] == f"Before it. {SHORT}"
    library.change(table, {"letters": [{"text": english(3_000, seed=9)}]}, tool)
    assert reader.fetch(cite)["metadata"]["status"] == "changed"
    library.change(table, {"letters": []}, tool)
    assert reader.refusal(cite).startswith("NOT_FOUND")


def test_what_a_search_cannot_return_is_not_fetched(library: Library, use: Connector) -> None:
    table, tool = made(library, where=PUBLIC)
    reader = Reader(use, library.agent(tool))
    hidden = cite_of(table, "/letters/2/text", english(900, seed=3), 0, 50)
    missing = cite_of(table, "/letters/7/text", SHORT, 0, 50)
    assert reader.refusal(hidden) == reader.refusal(missing)
    assert reader.fetch(cite_of(table, FIRST, SHORT, 0, 50))["text"] == SHORT
    nobody = Reader(use, library.agent())
    assert nobody.refusal(cite_of(table, FIRST, SHORT, 0, 50)).startswith("NOT_FOUND")


def test_secrets_are_hidden_from_agents_that_redact(library: Library, use: Connector) -> None:
    mail = "mary.keeper@lighthouse.example"
    table = library.table({"title": f"Ask {mail}", "text": f"{SHORT} {mail} {SHORT}"})
    tool = library.tool(table)
    cite = Cite.of(table.id, "/text", 1, 0, None, 100)
    plain = Reader(use, library.agent(tool)).fetch(cite)
    assert mail in plain["text"]
    assert plain["title"] == f"Ask {mail}"
    hidden = Reader(use, library.agent(tool, redacts=True)).fetch(cite)
    assert mail not in json.dumps(hidden)
    assert hidden["title"] == "Ask [redacted:email]"
    assert hidden["text"] == f"{SHORT} [redacted:email] {SHORT}"


@pytest.mark.parametrize(
    "arguments", [{}, {"id": "nothing"}, {"id": ""}, {"id": 5}, {"id": "x" * 65}, {"more": "x"}]
)
def test_bad_ids_are_refused(
    library: Library, use: Connector, arguments: dict[str, object]
) -> None:
    with pytest.raises(InvalidInputError):
        connector.fetch(use, library.owner, arguments)


@pytest.mark.parametrize("arguments", [{}, {"query": ""}, {"query": "a\x00"}, {"top_k": 5}])
def test_bad_queries_are_refused(
    library: Library, use: Connector, arguments: dict[str, object]
) -> None:
    with pytest.raises(InvalidInputError):
        connector.search(use, library.owner, arguments)


def test_a_foreign_id_looks_like_a_missing_one(library: Library, use: Connector) -> None:
    table, _ = made(library)
    other = Library(library.bench)
    made(other)
    with pytest.raises(NotFoundError):
        use.fetch(other.owner, cite_of(table, FIRST, SHORT, 0, 50))


@given(st.integers(1, 400_000), st.data())
def test_windows_tile_a_string(length: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, min(length, start + 4_000)))
    window = window_around(start, end, length)
    assert window[0] <= start < end <= window[1]
    assert window[1] - window[0] <= MAX_WINDOW
    if length > MAX_WINDOW:
        assert window[0] == 0 or start - window[0] >= TILE // 2 - 2_000
        assert window[1] == length or window[1] - end >= TILE // 2 - 2_000
    first = window
    while (before := windows_beside(*window, length)[0]) is not None:
        assert before[1] == window[0]
        assert window_around(*before, length) == before
        window = before
    assert window[0] == 0
    while (behind := windows_beside(*first, length)[1]) is not None:
        assert behind[0] == first[1]
        assert window_around(*behind, length) == behind
        first = behind
    assert first[1] == length
