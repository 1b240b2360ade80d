"""The tables of docs/ are what the models and the template say now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.api_reference import ANSWERS, API, MCP, answers_page, bodies, written

DRIFTED = "make docs"
TABLE = re.compile(r"<!-- (fields [\w ]+|arguments) -->\n(.*?)<!-- end -->", re.DOTALL)


@pytest.mark.parametrize("page", [API, MCP], ids=lambda page: page.name)
def test_the_tables_of_a_page_are_those_of_the_code(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == written(text), DRIFTED


def test_the_page_of_answers_is_that_of_the_code() -> None:
    assert ANSWERS.read_text("utf-8") == answers_page(), DRIFTED


def test_every_body_has_a_table_and_every_field_says_what_it_is_for() -> None:
    tables = TABLE.findall(API.read_text("utf-8")) + TABLE.findall(MCP.read_text("utf-8"))
    named = [name for what, _ in tables for name in what.split()[1:]]
    assert sorted(named) == sorted(bodies())
    rows = [row for _, table in tables for row in table.splitlines()[2:]]
    assert [row for row in rows if row.endswith(("| |", "||"))] == []


def test_what_people_wrote_is_kept_and_the_rest_is_made() -> None:
    page = "<!-- fields RotateKeyBody -->\n| `old_expires_in` | 7 | | a \\| b |\n<!-- end -->\n"
    assert written(page).splitlines()[1:] == [
        "| field | value | default | |",
        "|---|---|---|---|",
        r"| `old_expires_in` | 0 to 2,592,000 | `3600` | a \| b |",
        "<!-- end -->",
    ]


def test_models_that_differ_in_a_field_make_no_table_together() -> None:
    with pytest.raises(ValueError, match="top_k differs"):
        written("<!-- fields SearchBody SearchConfigBody -->\n<!-- end -->\n")


def test_a_body_without_a_table_is_named() -> None:
    with pytest.raises(SystemExit, match="<!-- fields MeasuresBody"):
        written(API.read_text("utf-8").replace("<!-- fields MeasuresBody", "<!-- none"))
