"""The pure rules of the page, run in the browser's own engine and held to Python."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from context_search_cli import chapters
from context_search_cli.failures import UsageError
from local.options import ROOT
from tests.texts import TEXTS as FILES

TEXTS = ["", "abc", "🐡", "a🐡b𠮷c", "𠮷𠮷", "é e\u0301 👨‍👩‍👧", "x" * 50 + "🐡" * 50 + "y" * 50]


@pytest.fixture(scope="module")
def rules(browser: Browser) -> Iterator[Page]:
    """A blank page with the rules as ``rules``."""
    [esbuild] = (ROOT / "console").glob("node_modules/@esbuild/*/bin/esbuild")
    entry = 'export * from "./src/rules/offsets"; export * from "./src/rules/segments";'
    entry += 'export * from "./src/rules/windows"; export * from "./src/rules/pointer";'
    entry += 'export * from "./src/rules/chapters"; export * from "./src/rules/judging";'
    entry += 'export * from "./src/rules/agents"; export * from "./src/rules/arguments";'
    command = [str(esbuild), "--bundle", "--format=iife", "--global-name=rules", "--loader=ts"]
    made = subprocess.run(  # noqa: S603 - our own fixed command
        command, cwd=ROOT / "console", input=entry, check=True, capture_output=True, text=True
    )
    page = browser.new_page()
    page.evaluate(f"{made.stdout}; globalThis.rules = rules")
    yield page
    page.close()


def run(page: Page, script: str, *given: Any) -> Any:
    return page.evaluate(f"given => {{ {script} }}", list(given))


@pytest.mark.parametrize("text", TEXTS)
def test_offsets_are_code_points(rules: Page, text: str) -> None:
    script = """
        const points = new rules.CodePoints(given[0]);
        const all = Array.from({length: points.length + 1}, (_, at) => at);
        return [points.length, all.map(at => points.fromUnits(points.toUnits(at))),
                all.flatMap(a => all.filter(b => b >= a).map(b => points.slice(a, b)))];"""
    length, there_and_back, slices = run(rules, script, text)
    places = range(len(text) + 1)
    assert length == len(text)
    assert there_and_back == [*places]
    assert slices == [text[a:b] for a in places for b in places if b >= a]


def test_pieces_put_together_are_the_window(rules: Page) -> None:
    text = "".join(TEXTS)
    script = """
        const window = new rules.CodePoints(given[0]);
        const marked = {chunks: given[1], matches: given[2], hit: given[3]};
        return rules.segments(window, 100, marked);"""
    chunks = [{"index": n, "start": 90 + 20 * n, "end": 115 + 20 * n} for n in range(6)]
    matches = [{"start": 103, "end": 108}, {"start": 150, "end": 170}]
    pieces = run(rules, script, text, chunks, matches, {"start": 110, "end": 135})
    assert "".join(piece["text"] for piece in pieces) == text
    for piece in pieces:
        assert text[piece["start"] - 100 : piece["end"] - 100] == piece["text"]
        middle = piece["start"]
        assert piece["inside"] == [c["index"] for c in chunks if c["start"] <= middle < c["end"]]
        assert piece["match"] == any(m["start"] <= middle < m["end"] for m in matches)


@pytest.mark.parametrize("total", [0, 1, 79_999, 80_000, 80_001, 1_000_000])
def test_windows_cover_a_string_and_fit_a_request(rules: Page, total: int) -> None:
    chunks = [
        {"index": n, "start": n * 7_300, "end": min(total, n * 7_300 + 8_000)}
        for n in range(total // 7_300 + 1)
    ]
    windows = run(rules, "return rules.windowsOf(given[0], given[1])", total, chunks)
    assert windows[0]["start"] == 0
    assert windows[-1]["end"] == total
    for before, after in pairwise(windows):
        assert after["start"] <= before["end"]
        assert after["start"] > before["start"]
    assert max(window["end"] - window["start"] for window in windows) <= 100_000
    places = range(0, total, 999)
    script = "return given[2].map(at => rules.windowOf(at, given[0], given[1]))"
    for place, window in zip(places, run(rules, script, total, chunks, [*places]), strict=True):
        assert window["start"] <= place < window["end"]


def test_pointers_are_rfc_6901(rules: Page) -> None:
    script = (
        "return [rules.child('/a', 'x/y~z'), rules.lastKey('/a/x~1y~0z'), rules.parent('/a/b')]"
    )
    assert run(rules, script) == ["/a/x~1y~0z", "x/y~z", "/a"]
    script = "return given[0].map(text => rules.isPointer(text))"
    assert run(rules, script, ["", "/", "/a~1b", "a", "/~2", "/a/~"]) == [1, 1, 1, 0, 0, 0]


def test_a_passage_is_found_again_in_an_answer_of_other_chunks(rules: Page) -> None:
    """More than half of the shorter is shared; the very same passage goes before any other."""

    def ranks(passage: tuple[int, int], *other: tuple[int, int], pointer: str = "/a") -> list[int]:
        reported = [{"pointer": "/a", "start": start, "end": end} for start, end in other]
        given = {"pointer": pointer, "start": passage[0], "end": passage[1]}
        found: list[int] = run(rules, "return rules.ranksIn([given[0]], given[1])", given, reported)
        return found

    assert ranks((0, 900), (5_000, 9_000), (0, 4_000)) == [2]
    assert ranks((0, 4_000), (3_950, 4_850), (2_500, 3_400)) == [2]
    assert ranks((0, 4_000), (3_950, 4_850)) == [0]
    assert ranks((0, 900), (0, 900), pointer="/b") == [0]
    # The end of a text, most of it shared with the chunk before.
    assert ranks((900, 1_050), (0, 1_000), (900, 1_050)) == [2]
    assert ranks((0, 1_000), (500, 1_500)) == [0]


@pytest.mark.parametrize(("name", "text", "document"), FILES, ids=[name for name, *_ in FILES])
def test_a_text_makes_the_document_that_the_command_line_makes(
    rules: Page, name: str, text: str, document: object
) -> None:
    assert run(rules, "return rules.documentOf(given[0], given[1])", name, text) == document


def test_a_text_is_read_as_the_command_line_reads_it(rules: Page) -> None:
    """UTF-8 with and without its mark, every code of two bytes of GB18030, what is neither."""
    pairs = [bytes([lead, trail]) for lead in range(0x80, 0x100) for trail in range(0x30, 0x100)]
    texts = ["a\r\nb\rc🐡".encode(), b"\xef\xbb\xbfa", "𠮷林小雨".encode("gb18030")]
    contents = [*texts, b"1 \x80", b"\x81\x35\xf4\x37", *(b"x" + pair for pair in pairs)]
    script = """
        return given[0].map(bytes => {
            try { return rules.decoded(new Uint8Array(bytes).buffer); } catch { return null; }
        });"""

    def ours(content: bytes) -> str | None:
        try:
            return chapters.decoded(content, "a.txt")
        except UsageError:
            return None

    found = run(rules, script, [[*content] for content in contents])
    assert found[:4] == ["a\nb\nc🐡", "a", "𠮷林小雨", "1 €"]
    assert found == [ours(content) for content in contents]


def test_about_how_many_tokens_a_text_is(rules: Page) -> None:
    texts = ["", "abcd", "abcde", "é e", "林小雨", "🐡", "abcd林小雨"]
    script = "return given[0].map(text => rules.tokensOf(text))"
    assert run(rules, script, texts) == [0, 1, 2, 1, 3, 1, 4]


def test_citations_of_an_answer_are_each_found_once(rules: Page) -> None:
    hits = [{"cite": "a", "title": "A"}, {"cite": "a"}, {"id": "b"}, {"of": [{"cite": "c"}]}, None]
    script = "return given[1].map(is => rules.citedIn(given[0], is).map(one => one.cite))"
    given = {"results": hits, "cite": 7}
    assert run(rules, script, given, [False, True]) == [["a", "c"], ["a", "b", "c"]]
    assert run(rules, "return rules.citedIn(given[0])[0].title", given) == "A"


def test_a_schema_that_is_no_form_makes_no_argument(rules: Page) -> None:
    script = "return given[0].map(schema => rules.argumentsOf(schema).length)"
    assert run(rules, script, [{}, {"type": "object"}, {"properties": {"a": {}}}]) == [0, 0, 1]
