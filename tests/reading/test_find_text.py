"""Finding exact text and patterns in what a caller sees."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from context_search.agents.list_tools import ListTools
from context_search.core.callers import McpKey, Principal, ProjectKey
from context_search.core.cites import Cite
from context_search.core.errors import (
    CursorInvalidError,
    InvalidInputError,
    PatternInvalidError,
    PatternTooComplexError,
)
from context_search.integrations.patterns.re2_patterns import Re2Patterns
from context_search.reading.document import MAX_DOCUMENT_BYTES
from context_search.reading.find_text import CALL_S
from context_search.reading.listing import BATCH_CHARS
from context_search.reading.routes.find_text import FindTextAnswer
from context_search.reading.rules.found_text import FindCursor, FoundText, WantedMatches
from context_search.text.chunking import chunk_spans
from testing.in_memory.clock import ManualClock
from testing.in_memory.patterns import RePattern, RePatterns
from tests.builders import chinese, english
from tests.contract.store.bench import PostgresBench
from tests.reading.finding import Finder, places, redacting
from tests.reading.library import Library

PUBLIC = {"status": {"eq": "public"}}
CAT = WantedMatches(pattern="cat", whole_word=True)
NO_CATS = "concatenate " * 2_000
LONG = "dog " * 9_000
SECRET = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
ODD = [
    "kitchen", "Kitchen", "\u212aitchen", "KITCHEN", "İstanbul", "istanbul", "ΣΑΣ", "σας", "café",
    "cafe\u0301", "CAFÉ", "Straße", "废弃仓库", "仓库", "仓", "x", "X", "👩‍👩‍👧", "e\u0301",
]  # fmt: skip


@pytest.fixture
def finder(library: Library) -> Finder:
    return Finder(library)


def odd_text(chance: random.Random, words: int) -> str:
    between = ("", " ", " ", ". ", "\n", "，")
    return "".join(chance.choice(ODD) + chance.choice(between) for _ in range(words))


def odd_document(seed: int) -> dict[str, object]:
    """Strings of none to a dozen chunks of 100 characters, some in fields that filters read."""
    chance = random.Random(seed)
    rows = [
        {"status": chance.choice(["public", "draft"]), "text": odd_text(chance, length)}
        for length in (1, 5, 15, 40, 120, 200, 30, 3, 17, 60, 11)
    ]
    return {"rows": rows, "a longer key": odd_text(chance, 80), "z": odd_text(chance, 50)}


WANTED = [
    WantedMatches(text, case_sensitive=sensitive, whole_word=whole, limit=limit)
    for text in ("kitchen", "İ", "i", "σας", "café", "é", "废弃仓库", "仓", "x", "k", "n Kit", ". ")
    for sensitive, whole, limit in ((False, False, 100), (True, False, 7), (False, True, 3))
]
PATTERNS = [
    WantedMatches(pattern=pattern, limit=9, whole_word=whole)
    for pattern in ("k[a-z]+n", "^x", "仓库?", "x*", r"n\s+\w")
    for whole in (False, True)
]


@pytest.mark.stack
@pytest.mark.parametrize("batch_chars", [BATCH_CHARS, 200])
@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("where", [None, PUBLIC])
def test_what_is_found_is_what_a_walk_through_the_documents_finds(
    library: Library, where: object, *, is_behind: bool, batch_chars: int
) -> None:
    finder = Finder(library, batch_chars=batch_chars)
    tables = [library.table(odd_document(seed)) for seed in (1, 2)]
    tools = [library.tool(table, scope, where=where) for table in tables for scope in ("/rows", "")]
    agent = library.agent(*tools)
    if is_behind:
        for seed, table in enumerate(tables, 3):
            library.bench.change(table, odd_document(seed))
    found = 0
    for wanted in [*WANTED, *PATTERNS]:
        pages = finder.all(agent, wanted)
        assert places(*pages) == finder.walked(agent, tables, wanted), wanted
        assert pages[-1].counted == len(places(*pages))
        assert all(page.is_all for page in pages)
        found += pages[-1].counted
    assert found > 500


@pytest.mark.stack
def test_a_match_across_the_borders_of_chunks_is_found(finder: Finder) -> None:
    text = english(2_000)
    table = finder.library.table({"a": text})
    agent = finder.library.agent(finder.library.tool(table))
    for start in range(0, 1_960, 7):
        for length in (2, 40, 350):
            sought = text[start : start + length]
            page = finder.find(agent, sought, case_sensitive=True, limit=100)
            assert (table.id, "/a", start, start + len(sought)) in places(page)


@pytest.mark.stack
@pytest.mark.parametrize(("size", "overlap"), [(100, 10), (100, 0), (100, 30), (12, 0), (12, 5)])
@pytest.mark.parametrize("language", [english, chinese])
def test_no_piece_is_lost_between_chunks(
    finder: Finder, language: Callable[[int], str], size: int, overlap: int
) -> None:
    library, text = finder.library, language(350)
    library.config = replace(library.config, chunk_size=size, chunk_overlap=overlap)
    agent = library.agent(library.tool(library.table({"a": text})))
    for chunk, later in pairwise(chunk_spans(text, size=size, overlap=overlap)):
        for start in (max(0, later.start - 2), later.start - 1, later.start):
            for end in (chunk.end + 1, chunk.end + 2, later.end + 1):
                page = finder.find(agent, text[start:end], case_sensitive=True, limit=100)
                assert start in [match.start for match in page.matches]


@pytest.mark.stack
def test_a_match_has_what_stands_around_it_and_a_cite(finder: Finder) -> None:
    table = finder.library.table({"a": "One comet, two comets and no planet.", "b": "x" * 600})
    agent = finder.library.agent(finder.library.tool(table))
    [first, second] = finder.find(agent, "COMET", context_chars=4).matches
    assert (first.before, first.match, first.after) == ("One ", "comet", ", tw")
    assert (second.before, second.match, second.after) == ("two ", "comet", "s an")
    assert first.cite == Cite.of(table.id, "/a", table.revision, 4, "comet", 9)
    [named], _ = ListTools(finder.library.store).page(agent)
    assert first.collection == named.name
    [long] = finder.find(agent, pattern="x+", context_chars=0).matches
    assert (long.end - long.start, len(long.match), long.before, long.after) == (600, 500, "", "")
    assert long.cite.is_of("x" * 600)


@pytest.mark.stack
def test_words_stand_alone_in_chinese_too(finder: Finder) -> None:
    table = finder.library.table({"a": "废弃仓库的门开着 cat concatenate Cat。猫cat猫"})
    agent = finder.library.agent(finder.library.tool(table))
    assert len(finder.find(agent, "仓库", whole_word=True).matches) == 1
    found = finder.find(agent, "cat", whole_word=True)
    assert [match.start for match in found.matches] == [9, 25, 30]
    assert len(finder.find(agent, pattern="[c]at", whole_word=True).matches) == 3


# ---- Who sees what.


@pytest.mark.stack
def test_only_what_a_search_can_return_is_found(finder: Finder) -> None:
    library = finder.library
    article = {"status": "public", "text": "the harbour is open"}
    draft = {"status": "draft", "text": "the harbour is closed", "short": "harbour"}
    table = library.table({"articles": [article, draft]})
    hidden, whole = library.tool(table, where=PUBLIC), library.tool(table, "/articles/1")
    agent = library.agent(hidden)
    assert places(finder.find(agent, "harbour")) == [(table.id, "/articles/0/text", 4, 11)]
    assert finder.find(agent, "draft").counted == finder.find(agent, "closed").counted == 0
    both = library.agent(hidden, whole)
    assert [place[1] for place in places(finder.find(both, "harbour"))] == [
        "/articles/0/text",
        "/articles/1/text",
    ]


@pytest.mark.stack
def test_a_string_of_two_collections_is_found_once_in_the_older(finder: Finder) -> None:
    library = finder.library
    table = library.table({"a": {"b": "the harbour is open"}})
    inner, outer = library.tool(table, "/a/b"), library.tool(table)
    agent = library.agent(inner, outer)
    names = [each.name for each in ListTools(library.store).page(agent)[0]]
    [match] = finder.find(agent, "harbour").matches
    assert match.collection == names[0]
    [match] = finder.find(agent, "harbour", collection=names[1]).matches
    assert match.collection == names[1]
    with pytest.raises(InvalidInputError, match="known names"):
        finder.find(agent, "harbour", collection="another")


@pytest.mark.stack
def test_a_disabled_tool_and_another_project_show_nothing(
    finder: Finder, bench: PostgresBench
) -> None:
    library = finder.library
    tool = library.tool(library.table({"a": "the harbour is open"}))
    agent = library.agent(tool)
    [page] = finder.all(agent, WantedMatches("harbour"))
    assert page.counted == 1
    with library.store.for_all("test") as work:
        work.mcp_instances.set_status(agent.mcp_id, tool.id, status=False)
    other = ProjectKey(bench.project().id)
    for caller in (agent, other):
        page = finder.find(caller, "harbour")
        assert (page.counted, page.is_all, page.cursor) == (0, True, None)


@pytest.mark.stack
def test_a_key_of_the_project_finds_what_project_search_returns(finder: Finder) -> None:
    library, bench = finder.library, finder.library.bench
    table, other = (
        library.table({"a": "the harbour is open"}),
        library.table({"b": "a harbour, too"}),
    )
    agent = library.agent(library.tool(table))
    assert len(finder.find(library.owner, "harbour").matches) == 1
    bench.project_index(library.project.id, library.config)
    found = finder.find(library.owner, "harbour")
    assert [place[0] for place in places(found)] == [table.id, other.id]
    assert [match.collection is None for match in found.matches] == [False, True]
    assert len(finder.find(agent, "harbour").matches) == 1
    assert len(places(*finder.all(library.owner, WantedMatches("harbour", limit=1)))) == 2


# ---- Nothing sensitive, and no oracle for it.


@pytest.mark.stack
@pytest.mark.parametrize("is_behind", [False, True])
def test_a_match_that_touches_a_secret_is_not_there(finder: Finder, *, is_behind: bool) -> None:
    library = finder.library
    text = f"The harbour key: {SECRET} and the harbour master."
    table = library.table({"a": "not yet written" if is_behind else text})
    agent = library.agent(library.tool(table))
    if is_behind:
        library.bench.change(table, {"a": text})
    hidden = redacting(agent)
    assert len(finder.find(agent, SECRET[:8]).matches) == 1
    for sought in (
        SECRET,
        SECRET[:8],
        SECRET[8:12],
        SECRET[-1:] + " and",
        f" {SECRET[0]}",
        "key: ",
    ):
        assert finder.find(hidden, sought).counted == 0
    first, second = finder.find(hidden, "harbour", context_chars=500).matches
    assert SECRET not in first.before + first.after + second.before + second.after
    assert "[redacted:key]" in first.after
    assert first.cite.is_of("harbour")


@pytest.mark.stack
def test_a_pattern_tells_nothing_of_a_secret(finder: Finder) -> None:
    """What it matches is the same whatever the secret is."""
    library = finder.library
    other = SECRET[:8] + SECRET[8:].swapcase()
    agents = [
        redacting(library.agent(library.tool(library.table({"a": f"harbour key: {secret}!é"}))))
        for secret in (SECRET, other)
    ]
    patterns = ["harbour.{0,20}4e", "harbour(.{6,30}4e)?", "Key|4eC", ".", r"\w+", "a|.*C39"]
    for pattern in patterns:
        pages = [finder.find(agent, pattern=pattern, limit=100) for agent in agents]
        found = [[place[2:] for place in places(page)] for page in pages]
        assert found[0] == found[1], pattern


@pytest.mark.stack
def test_no_refusal_of_a_pattern_tells_of_a_secret(library: Library) -> None:
    """A match that ends with half a character is refused: where it begins must not decide."""
    finder = Finder(library, patterns=Re2Patterns())
    text = f"harbour key: {SECRET} and the harbour master, é"
    agent = redacting(library.agent(library.tool(library.table({"a": text}))))
    for guess in (SECRET[:8], SECRET[:8].swapcase()):
        page = finder.find(agent, pattern=rf"{guess}[\x00-\x7f]*\C")
        assert (page.counted, page.is_all) == (0, True)


@pytest.mark.stack
def test_tools_that_show_the_same_are_listed_once(finder: Finder) -> None:
    table = finder.library.table({"a": {"b": "the harbour is open"}, "c": "a harbour, too"})
    whole, *others = [finder.library.tool(table, scope) for scope in ("", "/a", "", "/c")]
    found = finder.find(finder.library.agent(whole, *others), "harbour")
    assert len(found.matches) == 2
    assert len({match.collection for match in found.matches}) == 1


# ---- Cursors.


@pytest.mark.stack
def test_pages_lead_to_the_end_and_are_together_one_large_page(finder: Finder) -> None:
    tables = [finder.library.table(odd_document(seed)) for seed in (1, 2, 3)]
    agent = finder.library.agent(*map(finder.library.tool, tables))
    for wanted in (WantedMatches("仓"), WantedMatches(pattern="[xk]"), WantedMatches("xx")):
        whole = places(*finder.all(agent, replace(wanted, limit=100)))
        for limit in (1, 2, 5):
            pages = finder.all(agent, replace(wanted, limit=limit))
            assert places(*pages) == whole
            assert {page.counted for page in pages} == {len(whole)}
            assert all(len(page.matches) == limit for page in pages[:-1])


@pytest.mark.stack
def test_a_cursor_is_good_for_its_question_and_while_its_string_is_there(finder: Finder) -> None:
    library = finder.library
    table = library.table({"a": "harbour and harbour", "b": "harbour again"})
    tool = library.tool(table)
    agent = library.agent(tool)
    cursor = str(finder.find(agent, "harbour", limit=1).cursor)
    assert len(cursor) <= 40
    for other in ({"case_sensitive": True}, {"whole_word": True}):
        with pytest.raises(CursorInvalidError):
            finder.find(agent, "harbour", cursor=cursor, **other)
    with pytest.raises(CursorInvalidError):
        finder.find(agent, "Harbour", cursor=cursor)
    beyond = FindCursor.at(2**63, None, 0, 0, WantedMatches("harbour").digest)
    with pytest.raises(CursorInvalidError):
        finder.find(library.owner, "harbour", cursor=str(beyond))
    assert len(finder.find(agent, "harbour", cursor=cursor, limit=9).matches) == 2
    library.change(table, {"b": "harbour again", "c": "harbour and harbour"}, tool)
    with pytest.raises(CursorInvalidError, match="begin again"):
        finder.find(agent, "harbour", cursor=cursor)
    with pytest.raises(CursorInvalidError):
        finder.find(library.agent(), "harbour", cursor=cursor)


@pytest.mark.parametrize(
    "cursor", ["", "x", "é", "A" * 39, "A" * 64, "=", "AAAA\n", "ﬀ", "-" * 39, "\0"]
)
def test_a_text_that_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(CursorInvalidError):
        FindCursor.parse(cursor, b"1234")


def test_a_cursor_is_read_back() -> None:
    cursor = FindCursor.at(2**63 - 1, "/a", 2**31, 2**40, b"1234")
    assert FindCursor.parse(str(cursor), b"1234") == cursor
    assert cursor.before == 2**32 - 1
    with pytest.raises(CursorInvalidError):
        FindCursor.parse(str(cursor), b"1235")


# ---- Time.


@dataclass
class SlowPatterns(RePatterns):
    """Patterns that take so many seconds for each text."""

    clock: ManualClock
    text_s: float = 1.0

    @contextmanager
    def compiled(
        self, pattern: str, *, case_sensitive: bool, timeout_s: float
    ) -> Iterator[RePattern]:
        with super().compiled(
            pattern, case_sensitive=case_sensitive, timeout_s=timeout_s
        ) as compiled:
            clock, text_s = self.clock, self.text_s

            class Slow(RePattern):
                def _matches_in(self, text, groups):  # type: ignore[no-untyped-def]
                    clock.advance(text_s)
                    return super()._matches_in(text, groups)

            yield Slow(compiled.compiled)


@pytest.mark.stack
@pytest.mark.parametrize("batch_chars", [BATCH_CHARS, 1])
def test_a_call_of_five_seconds_returns_what_it_has_and_goes_on(
    library: Library, batch_chars: int
) -> None:
    clock = ManualClock()
    finder = Finder(library, clock, SlowPatterns(clock), batch_chars)
    tables = [library.table({"rows": [f"harbour number {n}" for n in range(8)]}) for _ in range(3)]
    agent = library.agent(*map(library.tool, tables))
    wanted = WantedMatches(pattern="harbour", limit=100)
    pages = finder.all(agent, wanted)
    assert [len(page.matches) for page in pages] == [5, 5, 5, 5, 4]
    assert [page.is_all for page in pages] == [False] * 4 + [True]
    assert [page.counted for page in pages] == [5, 10, 15, 20, 24]
    assert places(*pages) == finder.walked(agent, tables, wanted)


@pytest.mark.stack
def test_a_full_page_counts_for_one_second_more(library: Library) -> None:
    clock = ManualClock()
    finder = Finder(library, clock, SlowPatterns(clock))
    table = library.table({"rows": [f"harbour and harbour {n}" for n in range(8)]})
    agent = library.agent(library.tool(table))
    page = finder.find(agent, pattern="harbour", limit=1)
    assert (len(page.matches), page.counted, page.is_all) == (1, 4, False)
    following = finder.find(agent, pattern="harbour", limit=1, cursor=str(page.cursor))
    assert places(following) == [(table.id, "/rows/0", 12, 19)]


@pytest.mark.stack
def test_a_string_with_too_many_places_that_are_no_matches_is_left_out(library: Library) -> None:
    """Unless a match in it fills the page: the next page goes on behind that."""
    clock = ManualClock()
    finder = Finder(library, clock, SlowPatterns(clock, text_s=CALL_S))
    table = library.table({"a": f"cat {NO_CATS}cat", "b": f"{NO_CATS}cat", "c": "the cat sits"})
    agent = library.agent(library.tool(table))
    pages = finder.all(agent, replace(CAT, limit=1))
    assert [places(page) for page in pages] == [
        [(table.id, "/a", 0, 3)],
        [],
        [],
        [(table.id, "/c", 4, 7)],
    ]
    assert [page.left_out for page in pages] == [0, 1, 1, 0]
    assert not any(page.is_all for page in pages[:3])
    assert FindTextAnswer.of(pages[1]).more == (
        "No match yet; not all texts were looked at. The same call with this cursor goes on."
        " Strings that took too long: 1; they were not looked through."
    )


@pytest.mark.stack
def test_a_string_that_takes_too_long_behind_a_full_page_is_on_the_next(library: Library) -> None:
    clock = ManualClock()
    finder = Finder(library, clock, SlowPatterns(clock))
    table = library.table({"a": f"{LONG}cat", "b": f"{NO_CATS}cat", "c": "the cat sits"})
    agent = library.agent(library.tool(table))
    pages = finder.all(agent, replace(CAT, limit=1))
    assert (pages[0].counted, pages[0].is_all) == (1, False)
    assert [len(page.matches) for page in pages] == [1, 1, 1]
    assert places(*pages) == finder.walked(agent, [table], CAT)


@pytest.mark.slow
@pytest.mark.stack
def test_a_document_too_large_to_read_while_it_is_indexed_is_told_of(library: Library) -> None:
    large, small = library.table({"a": "the harbour"}), library.table({"a": "the harbour"})
    agent = library.agent(library.tool(large), library.tool(small))
    library.bench.change(large, {"a": "the harbour" + "x" * MAX_DOCUMENT_BYTES})
    page = Finder(library).find(agent, "harbour")
    assert [place[0] for place in places(page)] == [small.id]
    answer = FindTextAnswer.of(page)
    assert (answer.total, answer.at_least, answer.cursor) == (None, 1, None)
    assert answer.more == "Large documents that are being indexed: 1; they were not looked at."


# ---- What is refused, and what is cut.


@pytest.mark.stack
@pytest.mark.parametrize(
    ("pattern", "error"),
    [
        ("(", PatternInvalidError),
        (r"(a)\1", PatternInvalidError),
        ("(?=a)", PatternInvalidError),
        ("(abcdefghij{90}){9}|" * 9, PatternTooComplexError),
        ("x{1001}", PatternInvalidError),
        (r"\C", PatternInvalidError),
    ],
)
def test_a_hostile_pattern_is_refused(
    library: Library, pattern: str, error: type[Exception]
) -> None:
    agent = library.agent(library.tool(library.table({"a": "废弃仓库 " * 10})))
    finder = Finder(library, patterns=Re2Patterns())
    with pytest.raises(error):
        finder.find(agent, pattern=pattern)
    assert finder.find(agent, pattern="(.*)*仓库").counted == 1
    assert finder.find(agent, pattern="z*").counted == 0


@pytest.mark.stack
@pytest.mark.parametrize("text", ["", "x" * 1_001, "\0", "\ud800"])
def test_a_text_that_no_document_holds_is_refused(library: Library, text: str) -> None:
    with pytest.raises(InvalidInputError):
        Finder(library).find(library.owner, text)


@pytest.mark.stack
def test_what_does_not_fit_into_an_answer_is_on_the_next_page(finder: Finder) -> None:
    table = finder.library.table({"a": "仓库 harbour 仓库 " * 200, "b" * 6_000: "the last harbour"})
    agent = finder.library.agent(finder.library.tool(table))

    def pages(caller: Principal) -> Iterator[tuple[FoundText, FindTextAnswer]]:
        cursor = None
        while True:
            found = finder.find(caller, "harbour", cursor=cursor, limit=100, context_chars=500)
            answer = FindTextAnswer.of(found, max_bytes=60_000)
            yield found, answer
            if (cursor := answer.cursor) is None:
                return

    assert isinstance(agent, McpKey)
    shown = [answer for _, answer in pages(agent)]
    assert all(len(answer.model_dump_json()) <= 60_000 for answer in shown)
    assert sum(len(answer.matches) for answer in shown) == 201
    assert {answer.total for answer in shown} == {201}
    assert shown[0].more == (
        f"Matches 1 to {len(shown[0].matches)} of 201. The same call with this cursor goes on."
    )
    assert (shown[-1].more, shown[-1].matches[-1].pointer) == (None, None)
