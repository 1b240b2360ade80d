"""Which lines a chunk stands under, and that keyword search knows their words."""

from __future__ import annotations

import regex
from hypothesis import example, given
from hypothesis import strategies as st

from context_search.text.analysis import tokens
from context_search.text.keywords import (
    MAX_ENCLOSING_LINES,
    MAX_LINE_CHARACTERS,
    keys,
    keyword_tokens,
    trails,
)

CODE = """class Engine:
    name = "old"

    def start(self, key):
        if key.fits:
            self.spin()
}
        return self
"""
LINES = st.text("ab#= \t\n\r}:", max_size=200)


def trail_at(text: str, passage: str) -> list[str]:
    return trails(text, [text.index(passage)])[0].split("\n")


def test_a_line_of_code_stands_under_what_encloses_it() -> None:
    assert trail_at(CODE, "self.spin") == ["class Engine:", "def start(self, key):", "if key.fits:"]
    assert trail_at(CODE, "        if key") == ["class Engine:", "def start(self, key):"]


def test_a_bracket_alone_closes_nothing() -> None:
    assert trail_at(CODE, "return") == ["class Engine:", "def start(self, key):"]


def test_a_passage_stands_under_the_last_heading_of_each_level() -> None:
    text = "# Guide\n\n## Install\n\nRun it.\n\n## Use\n\n### Daily\n\nAsk it.\n\n# Annex\n\nEnd.\n"
    assert trail_at(text, "Run") == ["Guide", "Install"]
    assert trail_at(text, "Ask") == ["Guide", "Use", "Daily"]
    assert trail_at(text, "End") == ["Annex"]


def test_a_heading_does_not_stand_under_itself() -> None:
    assert trail_at("# Guide\n\n## Install\n\nRun it.", "## Install") == ["Guide"]


def test_headings_of_wikis_are_headings() -> None:
    text = " = Harbour = \n\nOld.\n\n = = History of it = = \n\nBuilt.\n\n== Trade ==\n\nSold.\n"
    assert trail_at(text, "Built") == ["Harbour", "History of it"]
    assert trail_at(text, "Sold") == ["Harbour", "Trade"]


def test_what_only_looks_like_a_heading_is_none() -> None:
    text = "#include <a>\n#!/bin/sh\n= 5\n# " + "long " * 40 + "\nx == y\nEnd"
    assert trail_at(text, "End") == [""]


def test_plain_prose_stands_under_nothing() -> None:
    text = "One line of prose.\nAnother line of it.\n\nA paragraph.\n"
    assert trails(text, [0, 19, len(text) - 3]) == ["", "", ""]


def test_trails_are_short_whatever_the_text() -> None:
    deep = "".join(" " * depth + "word" * 100 + "\n" for depth in range(30))
    lines = trail_at(deep, "\n" + " " * 29 + "w")
    assert len(lines) == MAX_ENCLOSING_LINES
    assert {len(line) for line in lines} == {MAX_LINE_CHARACTERS}


@example("# :", [1])
@given(LINES, st.lists(st.integers(0, 200), max_size=9).map(sorted))
def test_every_start_has_a_trail_of_lines_above_it(text: str, places: list[int]) -> None:
    starts = [place for place in places if place <= len(text)]
    found = trails(text, starts)
    assert len(found) == len(starts)
    for start, trail in zip(starts, found, strict=True):
        ends = (text + "\n").find("\n", start)  # who starts inside a heading has it, too
        assert all(line in text[:ends] for line in trail.split("\n"))


@given(LINES, st.lists(st.integers(0, 200), max_size=9).map(sorted))
def test_a_trail_does_not_depend_on_other_starts(text: str, places: list[int]) -> None:
    starts = [place for place in places if place <= len(text)]
    assert trails(text, starts) == [trails(text, [start])[0] for start in starts]


def test_keywords_of_a_chunk_are_those_of_its_text_then_of_its_trail() -> None:
    assert keyword_tokens("it spins", "class Engine") == tokens("it spins class Engine")
    assert keyword_tokens("北京", "") == tokens("北京")


HAN = regex.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")


@given(st.lists(st.text("ab北京𠀀𪚥あ한é.1", min_size=1, max_size=4) | st.text(min_size=1)))
@example(["北京", "北", "𠀀𪚥", "a北", "ab", "北京 ", "北京"])
def test_the_keys_are_all_tokens_but_pairs_of_han(found: list[str]) -> None:
    pairs = {token for token in found if len(token) == 2 and len(HAN.findall(token)) == 2}
    assert keys(found) == [token for token in dict.fromkeys(found) if token not in pairs]
