"""How the walk of docs/api.md writes answers into the page: with the same things left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.architecture.project import ROOT
from tests.conformance.shown import (
    WIDTH,
    blocks,
    differences,
    laid_out,
    rewritten,
    shown_again,
    text_differences,
    values,
)

PAGE = (ROOT / "docs/api.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("shown", "given", "again"),
    [
        ({"a": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 3}),
        ({"a": 1, "gone": 2, "…": "…"}, {"a": 2, "b": 3}, {"a": 2, "…": "…"}),
        ({"text": "cs_…"}, {"text": "cs_1234"}, {"text": "cs_…"}),
        ({"text": "cs_…"}, {"text": "other"}, {"text": "other"}),
        ([1, "…"], [5, 6, 7], [5, "…"]),
        ([1], [5, None], [5, None]),
        ({"score": 0.5, "id": 7}, {"score": 0.25, "id": 8}, {"score": 0.5, "id": 8}),
        (["…"], [], ["…"]),
        ("…", {"a": 1}, "…"),
        ([{"a": "x…", "…": "…"}, "…"], [{"a": "xy", "b": 1}], [{"a": "x…", "…": "…"}, "…"]),
    ],
)
def test_what_was_left_out_stays_left_out(shown: Any, given: Any, again: Any) -> None:
    assert shown_again(shown, given) == again


def test_each_block_gets_what_it_printed() -> None:
    page = '```sh\nask 1\n```\n```json\n{"a": "…"}\n```\n```sh\nask 2\n```\nprose\n'
    again = rewritten(page, ['{"a": "long", "b": 2}', "not shown"])
    assert again == page.replace('{"a": "…"}', '{"a": "…", "b": 2}')


def test_a_block_that_would_be_found_equal_stays_as_it_is_laid_out() -> None:
    at = "2026-11-2%dT10:00:00+00:00"
    page = f'```sh\nask\n```\n```json\n{{"at":\n  "{at % 6}", "b": 1}}\n```\n'
    assert rewritten(page, [f'{{"at": "{at % 7}", "b": 1}}']) == page
    assert rewritten(page, [f'{{"at": "{at % 7}", "b": 2}}']) == page.replace("1}", "2}").replace(
        '"at":\n  ', '"at": '
    )
    lines = f"```sh\nask\n```\n```text\n1 done {at % 6}\n```\n"
    assert rewritten(lines, [f"2 done {at % 7}\n"]) == lines


def test_an_empty_block_is_filled() -> None:
    page = "```sh\nask\n```\n```json\n```\n"
    assert blocks(rewritten(page, ['{"a": 1} [2]'])) == [("ask\n", "json", '{"a": 1}\n[2]\n')]


def test_an_answer_that_is_shown_in_lines_is_the_same_answer() -> None:
    shown = [value for block in blocks(PAGE) for value in values(block.shown)]
    assert len(shown) > 20
    for value in shown:
        lines = laid_out(value).splitlines()
        assert json.loads("\n".join(lines)) == value
        assert all(len(line) <= WIDTH + 20 or "text" in line for line in lines)


def test_what_is_written_is_what_would_be_compared() -> None:
    for block in blocks(PAGE):
        for value in values(block.shown):
            assert list(differences(shown_again(value, value), value)) == []


@pytest.mark.parametrize(
    ("shown", "given", "is_true"),
    [
        ("table 1 imported: 25 bytes\n", "table 7 imported: 1,025 bytes\n", True),
        ("table 1 imported\n", "table 1 replaced\n", False),
        (
            "id\tat\n1\t2026-11-23T10:00:00.5+00:00\n",
            "id\tat\n2\t2027-01-01T09:09:09+00:00\n",
            True,
        ),
        ("one\n", "one\ntwo\n", False),
        ("one\n…\n", "one\ntwo\nthree\n", True),
        ("one\ntwo\n…\n", "one\n", False),
        ("cs_…\n", "cs_abc\n", True),
        ("1.000\n", "yes\n", False),
    ],
)
def test_lines_agree_but_for_figures(shown: str, given: str, *, is_true: bool) -> None:
    assert (not list(text_differences(shown, given))) is is_true


def test_lines_that_were_left_out_stay_left_out() -> None:
    page = "```sh\nask\n```\n```text\nkey cs_…\n…\n```\n"
    assert rewritten(page, ["\nkey cs_abc\nmore\nand more\n"]) == page
    assert rewritten(page, ["\nother\nmore\n"]) == page.replace("key cs_…", "other")
