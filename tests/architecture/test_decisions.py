"""Decisions read alike, and are not edited once they are final (decision 0011)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import final_decisions
from scripts.final_decisions import DECISIONS, LIST, edited, final_hash, listed, written
from tests.architecture.project import relative

PAGES = sorted(DECISIONS.glob(final_decisions.PAGES))
INDEX = DECISIONS / "README.md"
ROW = re.compile(
    r"^\| \[(\d{4} [^\]]+)\]\((\d{4}-[\w-]+\.md)\) \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE
)
LINES = 40
TEXT = "# 0001 A title\n\n**Context.** One.\n\n**Choice.** Two.\n"
SUPERSEDED = TEXT.replace("\n\n", "\n\nSuperseded by 0002 in all.\n\n", 1)


def test_no_final_decision_is_edited_and_every_decision_is_final() -> None:
    assert edited(written(), listed()) == []
    assert written().keys() == listed().keys(), "make decisions"


def test_the_list_has_a_line_for_each_decision_in_order() -> None:
    names = [line.split()[1] for line in LIST.read_text().splitlines()]
    assert names == sorted(set(names))


def test_numbers_have_no_holes() -> None:
    assert [int(path.name[:4]) for path in PAGES] == list(range(1, len(PAGES) + 1))


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_a_decision_fits_on_a_page_and_reads_like_the_others(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= LINES
    assert re.fullmatch(rf"# {path.name[:4]} \S.*", lines[0])
    assert [line for line in lines[1:] if line.startswith("#")] == []
    body = lines[4:] if lines[2].startswith("Superseded by ") else lines[2:]
    assert body[0].startswith("**Context.** ")
    assert any(line.startswith("**Choice") for line in body)


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_what_supersedes_a_decision_exists(path: Path) -> None:
    line = path.read_text().splitlines()[2]
    later = re.findall(r"\b\d{4}\b", line) if line.startswith("Superseded by ") else []
    assert bool(later) is line.startswith("Superseded by ")
    assert all(list(DECISIONS.glob(f"{number}-*.md")) for number in later)
    assert all(number > path.name[:4] for number in later)


def test_the_index_lists_every_decision_with_its_title_and_what_it_is_about() -> None:
    rows = ROW.findall(INDEX.read_text("utf-8"))
    titles = [path.read_text("utf-8").splitlines()[0].removeprefix("# ") for path in PAGES]
    assert [(title, name) for title, name, _, _ in rows] == [
        (title, path.name) for title, path in zip(titles, PAGES, strict=True)
    ]


def test_the_index_says_what_later_decisions_changed() -> None:
    for title, name, _, today in ROW.findall(INDEX.read_text("utf-8")):
        page = (DECISIONS / name).read_text("utf-8")
        line = page.splitlines()[2]
        superseded = set(re.findall(r"\b\d{4}\b", line)) if line.startswith("Superseded") else set()
        later = set(re.findall(r"\b0\d{3}\b", today))
        assert superseded <= later, title
        assert all(title[:4] < number <= PAGES[-1].name[:4] for number in later), title


def test_a_line_that_says_superseded_is_no_edit_and_anything_else_is() -> None:
    assert final_hash(SUPERSEDED) == final_hash(TEXT)
    assert final_hash(TEXT.replace("Two", "Three")) != final_hash(TEXT)
    final = {"0001-a.md": final_hash(TEXT)}
    assert edited({"0001-a.md": final_hash(SUPERSEDED), "0002-b.md": "new"}, final) == []
    assert edited({"0001-a.md": final_hash(TEXT + "More.\n")}, final) == ["0001-a.md"]
    assert edited({}, final) == ["0001-a.md"]
